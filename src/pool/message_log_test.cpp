// SPDX-License-Identifier: BSD-3-Clause
#include "pool/message_log.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace glean::pool {
namespace {

struct Messages : testing::Test {
  std::string pool = "/glean.test." + std::to_string(getpid()) + ".messages";
  ~Messages() override { remove_messages(pool); }
};

TEST_F(Messages, ComeOnceToEachReaderInTheirOrder) {
  MessageReader one(pool), other(pool);
  EXPECT_TRUE(one.poll().empty());

  EXPECT_TRUE(tell(pool, {"NaN", "plt_1.nc", 3}));
  EXPECT_TRUE(tell(pool, {"", "plt_2.nc", 4}));

  EXPECT_EQ(one.poll(), (std::vector<Message>{{"NaN", "plt_1.nc", 3}, {"", "plt_2.nc", 4}}));
  EXPECT_TRUE(one.poll().empty());
  EXPECT_TRUE(tell(pool, {"late", "plt_2.nc", 5}));
  EXPECT_EQ(one.poll(), (std::vector<Message>{{"late", "plt_2.nc", 5}}));
  EXPECT_EQ(other.poll().size(), 3U);
}

TEST_F(Messages, AreNeverMoreThanThereIsRoomFor) {
  EXPECT_FALSE(tell(pool, {std::string(100'000, 'x'), "a", 0}));
  int told = 0;
  while (told < 1000 && tell(pool, {std::string(10'000, 'x'), "a", 0})) ++told;
  EXPECT_EQ(told, (1 << 20) / 10'033);
  EXPECT_EQ(MessageReader(pool).poll().size(), static_cast<std::size_t>(told));
}

TEST_F(Messages, AreGoneWithThePool) {
  EXPECT_TRUE(tell(pool, {"NaN", "a", 0}));
  remove_messages(pool);
  EXPECT_TRUE(MessageReader(pool).poll().empty());
}

}  // namespace
}  // namespace glean::pool
