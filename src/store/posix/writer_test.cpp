// SPDX-License-Identifier: BSD-3-Clause
//
// The contract of Writer, for every writer.
#include "store/posix/writer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <ostream>
#include <random>
#include <set>

#include "store/posix/fault_plan.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::store {

namespace {

using base::KiB;

struct Maker {
  const char* name;
  std::unique_ptr<Writer> (*make)(SystemCalls&, int depth);
  friend void PrintTo(const Maker& maker, std::ostream* out) { *out << maker.name; }
};

// Memory whose address is 0 modulo every alignment that file systems ask for.
class AlignedMemory {
 public:
  explicit AlignedMemory(std::size_t size)
      : data_(static_cast<std::byte*>(std::aligned_alloc(64 * KiB, base::align_up(size, 64 * KiB)))) {
    std::mt19937 random(static_cast<unsigned>(size));
    std::generate_n(data_.get(), size, [&] { return static_cast<std::byte>(random() | 1); });
  }
  [[nodiscard]] std::byte* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

class WriterContract : public testing::TestWithParam<Maker> {
 protected:
  static constexpr Bytes file_bytes = 512 * KiB;

  void SetUp() override {
    write_text(path_, std::string(file_bytes, '\0'));
    file_ = std::make_unique<File>(calls_, FileNames{path_, path_}, base::DirectIo::automatic);
    calls_.log.clear();
    writer_ = GetParam().make(calls_, depth);
    if (writer_ == nullptr) GTEST_SKIP() << "not on this kernel or not in this build";
  }

  // Bytes [begin, end) of the file's image, which lies in memory aligned like the file.
  void submit(Bytes begin, Bytes end, std::uint64_t tag = 0) {
    while (!writer_->has_room()) reap();
    writer_->submit({.file = file_.get(), .segments = {{image_.data() + begin, end - begin}}, .offset = begin, .tag = tag});
  }
  void reap(Writer::Reap how = Writer::Reap::block) {
    writer_->reap(how, [&](const WriteCompletion& completion) {
      EXPECT_FALSE(errors_.contains(completion.tag)) << "completed twice: " << completion.tag;
      errors_[completion.tag] = completion.error;
    });
  }
  void reap_all() {
    while (writer_->in_flight() > 0) reap();
  }
  // What the file holds equals the image in [begin, end).
  void expect_image(Bytes begin, Bytes end) {
    const std::string content = read_text(path_);
    ASSERT_GE(content.size(), end);
    EXPECT_EQ(std::memcmp(content.data() + begin, image_.data() + begin, end - begin), 0) << begin << ".." << end;
  }
  void expect_zeros(Bytes begin, Bytes end) {
    const std::string content = read_text(path_).substr(begin, end - begin);
    EXPECT_TRUE(std::ranges::all_of(content, [](char c) { return c == 0; })) << begin << ".." << end;
  }

  static constexpr int depth = 4;
  TemporaryDirectory directory_;
  std::string path_ = directory_ / "file";
  FaultyCalls calls_;
  AlignedMemory image_{file_bytes};
  std::unique_ptr<File> file_;
  std::unique_ptr<Writer> writer_;
  std::map<std::uint64_t, int> errors_;   // by tag of completed requests
};

TEST_P(WriterContract, WritesEveryByteOfARequestAndNoOther) {
  const Bytes block = file_->block_bytes();
  const Bytes begins[] = {0, 1, block - 1, block, block + 1, 3 * block + 17};
  const Bytes sizes[] = {1, 2, block - 1, block, block + 1, 2 * block, 2 * block - 1, 5 * block + 3};
  for (const Bytes begin : begins) {
    for (const Bytes size : sizes) {
      write_text(path_, std::string(file_bytes, '\0'));
      errors_.clear();

      submit(begin, begin + size, 7);
      reap_all();

      EXPECT_EQ(errors_, (std::map<std::uint64_t, int>{{7, 0}}));
      expect_image(begin, begin + size);
      expect_zeros(0, begin);
      expect_zeros(begin + size, file_bytes);
    }
  }
}

TEST_P(WriterContract, WritesNeighboursInAnyOrderWhoseEndsShareBlocks) {
  std::mt19937 random(2);
  std::vector<Bytes> cuts = {0, file_bytes};
  for (int i = 0; i < 60; ++i) cuts.push_back(random() % file_bytes);
  std::ranges::sort(cuts);
  std::vector<std::size_t> order(cuts.size() - 1);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::shuffle(order, random);

  for (const std::size_t i : order) submit(cuts[i], cuts[i + 1], i);
  reap_all();

  EXPECT_EQ(errors_.size(), order.size());
  EXPECT_TRUE(std::ranges::all_of(errors_, [](const auto& entry) { return entry.second == 0; }));
  expect_image(0, file_bytes);
}

TEST_P(WriterContract, FillsAFileThatIsLongButEmpty) {
  ASSERT_EQ(truncate(path_.c_str(), 0), 0);
  ASSERT_EQ(truncate(path_.c_str(), file_bytes), 0);

  submit(100 * KiB, 200 * KiB + 5, 1);
  submit(300 * KiB - 7, file_bytes, 2);
  reap_all();

  expect_image(100 * KiB, 200 * KiB + 5);
  expect_image(300 * KiB - 7, file_bytes);
  expect_zeros(0, 100 * KiB);
}

TEST_P(WriterContract, GivesRoomBackWithEveryCompletion) {
  int submitted = 0;
  while (writer_->has_room() && submitted < 100) submit(0, 4 * KiB, static_cast<std::uint64_t>(submitted++));
  EXPECT_EQ(writer_->in_flight(), static_cast<std::size_t>(submitted));
  EXPECT_LE(submitted, depth);
  EXPECT_GE(submitted, 1);

  reap();

  EXPECT_GE(errors_.size(), 1U);
  EXPECT_TRUE(writer_->has_room());
  reap_all();
  EXPECT_EQ(errors_.size(), static_cast<std::size_t>(submitted));
}

TEST_P(WriterContract, LetsTheNextRequestBeSubmittedFromACompletion) {
  std::uint64_t next = 0;
  const auto submit_next = [&] {
    const Bytes begin = next * 10000;
    writer_->submit({.file = file_.get(), .segments = {{image_.data() + begin, 10000}}, .offset = begin, .tag = next});
    ++next;
  };
  submit_next();
  while (writer_->in_flight() > 0) {
    writer_->reap(Writer::Reap::block, [&](const WriteCompletion& completion) {
      EXPECT_EQ(completion.error, 0);
      if (next < 20) submit_next();
    });
  }
  EXPECT_EQ(next, 20U);
  expect_image(0, 200000);
}

TEST_P(WriterContract, PollingDoesNotWaitAndEndsWithTheCompletion) {
  reap(Writer::Reap::poll);
  EXPECT_TRUE(errors_.empty());
  reap();   // nothing in flight: returns too
  submit(5, 300 * KiB, 3);
  while (errors_.empty()) reap(Writer::Reap::poll);
  EXPECT_EQ(errors_.at(3), 0);
}

TEST_P(WriterContract, CompletesAnEmptyRequest) {
  submit(17, 17, 9);
  reap_all();
  EXPECT_EQ(errors_, (std::map<std::uint64_t, int>{{9, 0}}));
  EXPECT_EQ(calls_.count("write"), 0U);
}

TEST_P(WriterContract, ReportsTheRequestWhoseWriteFailedForEveryWrite) {
  constexpr Bytes size = 40 * KiB + 10;   // a head, a middle and a tail each
  for (const int error : {EIO, ENOSPC}) {
    for (std::size_t k = 0;; ++k) {
      errors_.clear();
      calls_.follow({on("write").number(k).fails(error)});
      for (std::uint64_t tag = 0; tag < 6; ++tag) submit(100 + tag * size, 100 + (tag + 1) * size, tag);
      reap_all();

      ASSERT_EQ(errors_.size(), 6U);
      std::multiset<int> found;
      for (const auto& [tag, e] : errors_) {
        found.insert(e);
        if (e == 0) expect_image(100 + tag * size, 100 + (tag + 1) * size);
      }
      if (calls_.count("write") <= k) {
        EXPECT_EQ(found.count(0), 6U);
        break;
      }
      EXPECT_EQ(found.count(error), 1U) << "write " << k;
      EXPECT_EQ(found.count(0), 5U) << "write " << k;
    }
    EXPECT_GE(calls_.count("write"), 6U);
  }
}

TEST_P(WriterContract, ContinuesEveryShortWrite) {
  for (const std::size_t missing : {std::size_t{1}, std::size_t{4096}, std::size_t{9000}, std::size_t{1} << 30}) {
    for (std::size_t k = 0;; ++k) {
      write_text(path_, std::string(file_bytes, '\0'));
      errors_.clear();
      calls_.follow({on("write").number(k).gives([&](std::size_t, std::size_t size, ssize_t result) {
        return result > 0 ? static_cast<ssize_t>(size - std::min(size, missing)) : result;
      })});
      submit(50, 90 * KiB, 1);
      submit(90 * KiB, 200 * KiB + 1, 2);
      reap_all();

      EXPECT_EQ(errors_, (std::map<std::uint64_t, int>{{1, 0}, {2, 0}})) << "write " << k;
      expect_image(50, 200 * KiB + 1);
      if (calls_.count("write") <= k) break;
    }
  }
}

TEST_P(WriterContract, TriesAgainAfterAnInterruption) {
  for (const int error : {EINTR, EAGAIN}) {
    errors_.clear();
    calls_.follow({on("write").gives([&](std::size_t k, std::size_t, ssize_t result) { return k % 3 != 2 ? -error : result; })});
    submit(1, 100 * KiB + 1, 1);
    submit(150 * KiB, 200 * KiB, 2);
    reap_all();

    EXPECT_EQ(errors_, (std::map<std::uint64_t, int>{{1, 0}, {2, 0}}));
    expect_image(1, 100 * KiB + 1);
    expect_image(150 * KiB, 200 * KiB);
  }
}

TEST_P(WriterContract, GivesUpWhenNothingGetsThrough) {
  calls_.follow({on("write").fails(EINTR)});
  submit(0, 64 * KiB, 1);
  reap_all();
  EXPECT_EQ(errors_.at(1), EINTR);

  calls_.follow({on("write").returns(0)});
  submit(0, 64 * KiB, 2);
  reap_all();
  EXPECT_EQ(errors_.at(2), EIO);
}

TEST_P(WriterContract, WritesWholeBlocksDirectAndPartialOnesThroughThePageCache) {
  if (file_->direct_descriptor() < 0) GTEST_SKIP() << "no direct I/O here";
  const Bytes block = file_->block_bytes();

  submit(block - 10, 9 * block + 20);
  reap_all();

  const WriteCounters counters = writer_->counters();
  EXPECT_EQ(counters.direct_requests, 1U);
  EXPECT_EQ(counters.direct_bytes, 8 * block);
  EXPECT_EQ(counters.buffered_requests, 2U);
  EXPECT_EQ(counters.buffered_bytes, 30U);
}

TEST_P(WriterContract, WritesThroughThePageCacheWhatTheFileSystemRefusesDirect) {
  if (file_->direct_descriptor() < 0) GTEST_SKIP() << "no direct I/O here";
  const Bytes block = file_->block_bytes();
  bool refused = false;
  calls_.follow({on("write").gives([&](std::size_t, std::size_t size, ssize_t result) {
    return !refused && size == 4 * block ? refused = true, -EINVAL : result;
  })});

  submit(block, 5 * block, 1);
  reap_all();

  EXPECT_TRUE(refused);
  EXPECT_EQ(errors_.at(1), 0);
  EXPECT_EQ(writer_->counters().direct_bytes, 0U);
  EXPECT_EQ(writer_->counters().buffered_bytes, 4 * block);
  expect_image(block, 5 * block);
}

TEST_P(WriterContract, WritesMemoryOfAnyAlignment) {
  const std::vector<std::byte> data(3 * file_->block_bytes() + 1, std::byte{'x'});

  writer_->submit({.file = file_.get(), .segments = {std::span(data).subspan(1)}, .offset = 0, .tag = 4});
  reap_all();

  EXPECT_EQ(errors_.at(4), 0);
  EXPECT_EQ(read_text(path_).substr(0, data.size() - 1), std::string(data.size() - 1, 'x'));
}

TEST_P(WriterContract, WritesARangeFromWhereItsSegmentsLie) {
  const Bytes block = file_->block_bytes(), begin = block - 100, end = 60 * block + 7;
  const AlignedMemory copy(file_bytes);
  std::memcpy(copy.data(), image_.data(), file_bytes);
  for (const Bytes unit : {block, Bytes{1}}) {   // where segments meet
    std::mt19937 random(3);
    std::vector<std::span<const std::byte>> segments;
    for (Bytes at = begin; at < end;) {
      const Bytes next = std::min(end, base::align_up(at + 1 + random() % (6 * block), unit));
      segments.emplace_back((segments.size() % 2 == 0 ? image_ : copy).data() + at, next - at);
      at = next;
    }
    ASSERT_GT(segments.size(), 5U);
    const Bytes direct_before = writer_->counters().direct_bytes;
    for (std::size_t k = 0;; ++k) {   // which write falls short
      write_text(path_, std::string(file_bytes, '\0'));
      errors_.clear();
      calls_.follow({on("write").number(k).gives(
          [&](std::size_t, std::size_t size, ssize_t result) { return std::min(result, static_cast<ssize_t>(size * 2 / 3)); })});
      writer_->submit({.file = file_.get(), .segments = segments, .offset = begin, .tag = 5});
      reap_all();

      EXPECT_EQ(errors_, (std::map<std::uint64_t, int>{{5, 0}})) << "write " << k;
      expect_image(begin, end);
      expect_zeros(0, begin);
      expect_zeros(end, file_bytes);
      if (calls_.count("write") <= k) break;
    }
    const bool goes_direct = file_->direct_descriptor() >= 0 && unit == block;
    EXPECT_EQ(writer_->counters().direct_bytes != direct_before, goes_direct);
  }
}

TEST_P(WriterContract, WritesMoreSegmentsThanTheSystemTakesAtOnce) {
  std::vector<std::span<const std::byte>> segments;
  for (Bytes at = 0; at < 3000; ++at) segments.emplace_back(image_.data() + at, 1);

  writer_->submit({.file = file_.get(), .segments = segments, .offset = 0, .tag = 1});
  reap_all();

  EXPECT_EQ(errors_.at(1), 0);
  expect_image(0, 3000);
  expect_zeros(3000, file_bytes);
}

TEST_P(WriterContract, EndsOnlyWhenTheKernelHasLetGoOfTheBuffers) {
  submit(0, 256 * KiB);
  writer_.reset();
  expect_image(0, 256 * KiB);
}

TEST_P(WriterContract, ReportsAFullDevice) {
  File full(calls_, {"/dev/full", "/dev/full"}, base::DirectIo::automatic);

  writer_->submit({.file = &full, .segments = {{image_.data(), 10 * KiB}}, .offset = 0, .tag = 1});
  reap_all();

  EXPECT_EQ(errors_.at(1), ENOSPC);
}

TEST_P(WriterContract, WritesToSeveralFilesAtOnce) {
  write_text(directory_ / "other", "");
  File other(calls_, {directory_ / "other", directory_ / "other"}, base::DirectIo::off);

  submit(0, 10 * KiB, 1);
  while (!writer_->has_room()) reap();
  writer_->submit({.file = &other, .segments = {{image_.data(), 10 * KiB}}, .offset = 0, .tag = 2});
  reap_all();

  EXPECT_EQ(errors_, (std::map<std::uint64_t, int>{{1, 0}, {2, 0}}));
  EXPECT_EQ(read_text(directory_ / "other"), read_text(path_).substr(0, 10 * KiB));
}

INSTANTIATE_TEST_SUITE_P(
    Writers, WriterContract,
    testing::Values(Maker{"Pwrite", [](SystemCalls& calls, int) { return make_pwrite_writer(calls); }},
                    Maker{"Uring", make_uring_writer}),
    [](const auto& instance) { return instance.param.name; });

}  // namespace

}  // namespace glean::store
