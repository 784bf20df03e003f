// SPDX-License-Identifier: BSD-3-Clause
#include "store/input/prefetcher.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <vector>

#include "store/posix/temporary_directory.hpp"

namespace glean::store {
namespace {

// Remembers what it is asked for; with `gate` closed the first request waits until it opens.
class NotedCalls : public SystemCalls {
 public:
  int will_need(int /*descriptor*/, off_t offset, off_t size) override {
    std::unique_lock lock(mutex_);
    needed_.push_back({static_cast<Bytes>(offset), static_cast<Bytes>(offset + size)});
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
    return 0;
  }
  void set_open(bool open) {
    const std::lock_guard lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }
  // Waits until there are so many.
  std::vector<base::Extent> needed(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(30), [&] { return needed_.size() >= count; }));
    return needed_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  std::vector<base::Extent> needed_;
};

class Prefetching : public testing::Test {
 protected:
  // Rows of 8-byte elements of an array that begins at byte 1000.
  static RowRuns rows(const mesh::Box& box, const mesh::Shape& shape) { return {mesh::Rows(box, shape), 1000, 8}; }

  static std::string made(const std::string& path) {
    std::ofstream(path) << "there";
    return path;
  }

  TemporaryDirectory directory_;
  std::string path_ = made(directory_ / "a");
  NotedCalls calls_;
  InputFile file_{calls_, path_};
};

TEST_F(Prefetching, AsksForRowsThatAreCloseTogetherAtOnceAndForNothingBetweenOthers) {
  Prefetcher prefetcher(file_);

  prefetcher.add(rows({{0, 2}, {2, 3}}, {4, 10}));
  prefetcher.add(rows({{0, 0}, {2, 10}}, {2, 100000}));

  EXPECT_EQ(calls_.needed(3), (std::vector<base::Extent>{{1016, 1120}, {1000, 1080}, {801000, 801080}}));
}

TEST_F(Prefetching, AsksForLongRowsInPiecesAndAgainForWhatTheSystemMayHaveLeft) {
  Prefetcher prefetcher(file_);

  prefetcher.add(rows({{0}, {32768}}, {32768}));

  EXPECT_EQ(calls_.needed(2), (std::vector<base::Extent>{{1000, 1000 + 262144}, {1000 + 131072, 1000 + 262144}}));
}

TEST_F(Prefetching, EndsWithWhatItHasAskedForAndTakesNoMoreThanItCanHold) {
  calls_.set_open(false);
  {
    Prefetcher prefetcher(file_);
    for (std::size_t i = 0; i < 2 * Prefetcher::waiting_most; ++i) prefetcher.add(rows({{0}, {1}}, {1}));
    static_cast<void>(calls_.needed(1));
    calls_.set_open(true);
  }

  EXPECT_LE(calls_.needed(1).size(), Prefetcher::waiting_most + 1);
}

}  // namespace
}  // namespace glean::store
