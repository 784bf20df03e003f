// SPDX-License-Identifier: BSD-3-Clause
#include "staging/address_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "staging/test_service.hpp"

namespace glean::staging {
namespace {

TEST(AddressFile, SaysWhatWasWritten) {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/stage.json";
  const std::vector<Stager> stagers = {this_stager({"10.0.0.1:4711", "[2001:db8::1]:4711"}), this_stager({"unix:/tmp/x"})};
  EXPECT_NE(stagers[0].identity, stagers[1].identity);
  EXPECT_EQ(stagers[0].pid, getpid());
  write_address_file(path, {this_stager({"127.0.0.1:1"})});
  write_address_file(path, stagers);
  EXPECT_EQ(read_address_file(path), stagers);
  EXPECT_EQ(std::filesystem::status(path).permissions() & std::filesystem::perms::all,
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST(AddressFile, IsRefusedWithAReason) {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/stage.json";
  const auto missing = error_of([&] { return read_address_file(path); });
  EXPECT_EQ(missing.code(), base::Errc::not_found);
  EXPECT_NE(missing.hint().find("start"), std::string::npos);
  const auto problem = [&](const std::string& text) {
    std::ofstream(path) << text;
    chmod(path.c_str(), 0600);
    return error_of([&] { return read_address_file(path); });
  };
  const std::string identity(32, 'a');
  const std::string good = R"({"glean_staging": 1, "stagers": [{"identity": ")" + identity +
                           R"(", "host": "h", "pid": 1, "started": 2, "addresses": ["127.0.0.1:1"]}]})";
  EXPECT_STREQ(problem(good).what(), "no error");
  for (const std::string& text : {std::string(), std::string("[]"), good.substr(0, good.size() / 2),
                                  std::string(R"({"glean_staging": 1, "stagers": []})"), std::string(R"({"stagers": []})"),
                                  std::string(good).replace(good.find("aaaa"), 1, "x"),
                                  std::string(good).replace(good.find("\"pid\": 1"), 8, "\"pid\": []"),
                                  std::string(good).replace(good.find("[\"127"), 15, "[]")}) {
    EXPECT_EQ(problem(text).code(), base::Errc::invalid_argument) << text;
  }
  const auto other = problem(R"({"glean_staging": 9, "stagers": {}})");
  EXPECT_EQ(other.code(), base::Errc::unsupported);
  EXPECT_EQ(other.what(), "the address file '" + path + "' has version 9, this program reads 1");
}

TEST(AddressFile, IsRemovedByItsServiceOnly) {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/stage.json";
  const Stager mine = this_stager({"127.0.0.1:1"}), later = this_stager({"127.0.0.1:2"});
  EXPECT_FALSE(remove_address_file(path, mine.identity));
  write_address_file(path, {mine});
  write_address_file(path, {later});
  EXPECT_FALSE(remove_address_file(path, mine.identity));
  EXPECT_EQ(read_address_file(path), std::vector<Stager>{later});
  EXPECT_TRUE(remove_address_file(path, later.identity));
  EXPECT_TRUE(std::filesystem::is_empty(directory.path));
}

}  // namespace
}  // namespace glean::staging
