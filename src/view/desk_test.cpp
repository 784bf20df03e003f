// SPDX-License-Identifier: BSD-3-Clause
#include "view/desk.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

namespace glean::view {
namespace {

// Answers with its version, and so many bytes.
class CountingSource : public Source {
 public:
  std::uint64_t look() override { return version; }
  Answer answer(const nlohmann::json&) override { return {{{"seen", version.load()}}, std::vector<std::byte>(bytes)}; }
  std::atomic<std::uint64_t> version{1};
  std::size_t bytes = 16;
};

// What a desk has delivered, by viewer.
class Delivered {
 public:
  void take(std::uint64_t viewer, const std::vector<std::byte>& message) {
    const std::lock_guard lock(mutex_);
    const std::string text(reinterpret_cast<const char*>(message.data()) + 4, static_cast<std::size_t>(message[0]));
    answers_[viewer].push_back(nlohmann::json::parse(text));
    came_.notify_all();
  }
  nlohmann::json wait(std::uint64_t viewer, std::size_t which) {
    std::unique_lock lock(mutex_);
    came_.wait_for(lock, std::chrono::seconds(20), [&] { return answers_[viewer].size() > which; });
    return answers_[viewer].size() > which ? answers_[viewer][which] : nlohmann::json();
  }
  std::size_t count(std::uint64_t viewer) {
    const std::lock_guard lock(mutex_);
    return answers_[viewer].size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::map<std::uint64_t, std::vector<nlohmann::json>> answers_;
};

Desk::Deliver into(Delivered& delivered) {
  return [&](std::uint64_t viewer, std::vector<std::byte> message) { delivered.take(viewer, message); };
}

TEST(Desk, RefusesWhatIsNoRequest) {
  CountingSource source;
  Delivered delivered;
  Desk desk(source, {.slots_max = 2}, into(delivered));

  for (const char* wrong : {"", "{", "[]", "7", "{}", R"({"slot":7})", R"({"slot":"a name that is much longer than a name has to be"})"}) {
    EXPECT_FALSE(desk.ask(1, wrong)) << wrong;
  }
  EXPECT_TRUE(desk.ask(1, R"({"slot":"a","newer_than":100})"));
  EXPECT_TRUE(desk.ask(1, R"({"slot":"b","newer_than":100})"));
  EXPECT_TRUE(desk.ask(1, R"({"slot":"b","newer_than":200})"));
  EXPECT_FALSE(desk.ask(1, R"({"slot":"c","newer_than":100})"));
}

TEST(Desk, AnswersAtOnceOrWhenThereIsSomethingNewer) {
  CountingSource source;
  Delivered delivered;
  Desk desk(source, {.look_seconds = 0.01}, into(delivered));

  ASSERT_TRUE(desk.ask(1, R"({"slot":"a"})"));
  EXPECT_EQ(delivered.wait(1, 0)["version"], 1);
  desk.taken(1);
  ASSERT_TRUE(desk.ask(1, R"({"slot":"a","newer_than":1})"));
  source.version = 5;
  desk.wake();

  EXPECT_EQ(delivered.wait(1, 1)["seen"], 5);
}

TEST(Desk, GivesAViewerThatIsSlowTheNewestAndTheOthersTheirOwn) {
  CountingSource source;
  Delivered delivered;
  Desk desk(source, {.look_seconds = 0.01}, into(delivered));
  ASSERT_TRUE(desk.ask(1, R"({"slot":"a"})"));
  static_cast<void>(delivered.wait(1, 0));   // and does not take it

  for (int version = 2; version < 6; ++version) {
    ASSERT_TRUE(desk.ask(1, R"({"slot":"a"})"));
    source.version = version;
    desk.wake();
    ASSERT_TRUE(desk.ask(2, R"({"slot":"a","newer_than":)" + std::to_string(version - 1) + "}"));
    EXPECT_EQ(delivered.wait(2, version - 2)["seen"], version);
    desk.taken(2);
  }
  EXPECT_EQ(delivered.count(1), 1u);
  desk.taken(1);

  EXPECT_EQ(delivered.wait(1, 1)["seen"], 5);
}

TEST(Desk, MakesNoMoreAnswersThanFitItsBudget) {
  CountingSource source;
  source.bytes = 1000;
  Delivered delivered;
  Desk desk(source, {.answers_bytes_max = 2000, .look_seconds = 0.01}, into(delivered));

  for (std::uint64_t viewer = 1; viewer <= 4; ++viewer) ASSERT_TRUE(desk.ask(viewer, R"({"slot":"a"})"));
  static_cast<void>(delivered.wait(1, 0));
  static_cast<void>(delivered.wait(2, 0));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));

  EXPECT_LT(desk.answers_bytes(), 3200u);
  EXPECT_EQ(delivered.count(3) + delivered.count(4), 0u);
  desk.taken(1);
  desk.leave(2);
  EXPECT_FALSE(delivered.wait(3, 0).is_null());
}

}  // namespace
}  // namespace glean::view
