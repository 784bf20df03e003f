// SPDX-License-Identifier: BSD-3-Clause
#include "view/door.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "base/test_error.hpp"

namespace glean::view {
namespace {

TEST(Token, IsAnotherEachTimeAndTooLongToGuess) {
  const std::string one = make_token(), other = make_token();

  EXPECT_EQ(one.size(), 48u);
  EXPECT_NE(one, other);
  EXPECT_TRUE(same_token(one, one));
  EXPECT_FALSE(same_token(one, other));
  EXPECT_FALSE(same_token(one.substr(1), one));
  EXPECT_FALSE(same_token("", one));
  EXPECT_FALSE(same_token("", ""));
}

TEST(QueryValue, IsTakenOnceAndByItsWholeName) {
  EXPECT_EQ(query_value("/?token=ab", "token"), "ab");
  EXPECT_EQ(query_value("/view.js?a=1&token=cd", "token"), "cd");
  EXPECT_FALSE(query_value("/", "token"));
  EXPECT_FALSE(query_value("/?xtoken=ab", "token"));
  EXPECT_FALSE(query_value("/?token=ab&token=cd", "token"));
  EXPECT_FALSE(query_value("/?token", "token"));
  EXPECT_EQ(path_of("/view.js?token=1"), "/view.js");
}

TEST(Host, IsAnAddressLocalhostOrThisMachine) {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);

  for (const std::string host : {"127.0.0.1", "127.0.0.1:80", "[::1]:80", "LOCALHOST:1", "10.0.0.7:9"}) {
    EXPECT_TRUE(is_own_host(host, "")) << host;
  }
  EXPECT_TRUE(is_own_host(std::string(name.data()) + ":80", ""));
  EXPECT_TRUE(is_own_host("login.site:80", "login.site"));
  for (const std::string host : {"", "evil.example", "evil.example:80", "127.0.0.1.evil.example", "[::1", "localhost.evil"}) {
    EXPECT_FALSE(is_own_host(host, "")) << host;
  }
}

TEST(Origin, IsThePageOfTheSameServer) {
  EXPECT_TRUE(is_own_origin("", "127.0.0.1:80"));
  EXPECT_TRUE(is_own_origin("http://127.0.0.1:80", "127.0.0.1:80"));
  EXPECT_FALSE(is_own_origin("http://127.0.0.1:81", "127.0.0.1:80"));
  EXPECT_FALSE(is_own_origin("http://evil.example", "127.0.0.1:80"));
  EXPECT_FALSE(is_own_origin("https://127.0.0.1:80", "127.0.0.1:80"));
  EXPECT_FALSE(is_own_origin("null", "127.0.0.1:80"));
}

TEST(ListenAddress, SaysWhatIsWrong) {
  EXPECT_EQ(parse_listen_address("127.0.0.1:8080").port, 8080);
  EXPECT_EQ(parse_listen_address("[::1]:0").host, "::1");
  EXPECT_EQ(parse_listen_address("localhost:1").host, "127.0.0.1");
  for (const char* wrong : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", "somewhere:1", ":1"}) {
    EXPECT_THROW(static_cast<void>(parse_listen_address(wrong)), base::Error) << wrong;
  }
}

}  // namespace
}  // namespace glean::view
