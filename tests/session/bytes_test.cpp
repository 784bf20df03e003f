// SPDX-License-Identifier: BSD-3-Clause
//
// Raw outputs, as front ends for unmodified programs use them.
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "ranks.hpp"
#include "session/byte_opening.hpp"
#include "session/byte_output.hpp"
#include "session/core.hpp"
#include "session/place_writer.hpp"
#include "store/posix/file.hpp"

namespace glean::test {
namespace {

using session::ByteOutput;
using session::Core;

class BytesOfRanks : public Ranks {
 protected:
  static std::shared_ptr<Core> make_core(Settings more = {}) {
    more.insert({"pool.budget", "4MiB"});
    more.insert({"pool.deadline", "60s"});
    more.insert({"report.table", "false"});
    return std::make_shared<Core>(MPI_COMM_WORLD, more, Core::Program::unmodified);
  }
  static void write(ByteOutput& output, const mesh::Pattern& place, char value) {
    const auto collective_count = output.keep_pace(place.bytes(), 1);
    output.write(collective_count, place, 0,
                 [&](base::Bytes, std::span<std::byte> target) { std::fill(target.begin(), target.end(), std::byte(value)); });
  }
  static void apply(std::string& model, const mesh::Pattern& place, char value) {
    if (model.size() < place.end()) model.resize(place.end());
    place.for_each_run(0, place.bytes(), {0, place.end()},
                       [&](mesh::Pattern::Run run) { model.replace(run.file_offset, run.bytes, run.bytes, value); });
  }
  static mesh::Pattern random_place(std::mt19937& random) {
    const auto upto = [&](base::Bytes n) { return std::uniform_int_distribution<base::Bytes>(1, n)(random); };
    mesh::Pattern place{.offset = upto(200'000), .block_bytes = upto(40'000), .levels = {}};
    if (upto(2) == 1) place.levels.push_back({upto(9), place.block_bytes + upto(1'000)});
    return place.canonical();
  }
};

TEST_F(BytesOfRanks, ManySmallPlacesOfACallBecomeFewWrites) {
  constexpr base::Bytes places = 5'000;
  const auto width = static_cast<base::Bytes>(size_) * 8;
  for (const auto full : {base::WhenFull::block, base::WhenFull::spill}) {
    auto core = make_core();
    auto output = ByteOutput::open(core, MPI_COMM_WORLD, path("file"), ByteOutput::Existing::replace);
    output->set_when_full(full);
    const auto puts = core->figures().puts;
    const auto count = output->keep_pace(places * 8, places);
    const ByteOutput::CopyOut copy_out = [](base::Bytes first, std::span<std::byte> target) {
      for (std::byte& byte : target) byte = static_cast<std::byte>('a' + first++ / 8 % 26);
    };
    session::PlaceWriter writer(*output, count, copy_out, places);
    for (base::Bytes i = 0; i < places; ++i) {
      writer.add({.offset = i * width + static_cast<base::Bytes>(rank_) * 8, .block_bytes = 8, .levels = {}});
    }
    writer.finish();
    const auto records = core->figures().puts - puts;
    EXPECT_TRUE(full == base::WhenFull::block ? records < places / 100 : records == places) << records;
    output->close();
    core->close();
    std::string wanted;
    for (base::Bytes i = 0; i < places; ++i) wanted.append(width, static_cast<char>('a' + i % 26));
    EXPECT_TRUE(content("file") == wanted);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

// All know all writes; they take turns, so that the order is known too.
TEST_F(BytesOfRanks, LaterWritesWin) {
  auto core = make_core();
  for (const auto existing : {ByteOutput::Existing::replace, ByteOutput::Existing::keep}) {
    auto output = ByteOutput::open(core, MPI_COMM_WORLD, path("file"), existing);
    std::string model = existing == ByteOutput::Existing::keep ? content("file") : "";
    EXPECT_EQ(exists("file"), existing == ByteOutput::Existing::keep);
    std::mt19937 random{7};
    for (int turn = 0; turn < 60; ++turn) {
      const auto place = random_place(random);
      const char value = static_cast<char>('a' + turn % 26);
      if (turn % size_ == rank_) write(*output, place, value);
      apply(model, place, value);
      MPI_Barrier(MPI_COMM_WORLD);
      EXPECT_EQ(output->size(0), model.size());
      MPI_Barrier(MPI_COMM_WORLD);
      if (turn % 20 == 19) {
        output->flush(0);
        MPI_Barrier(MPI_COMM_WORLD);
        std::ifstream file(output->working_path(), std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        EXPECT_TRUE(text == model);
        MPI_Barrier(MPI_COMM_WORLD);
      }
    }
    output->close();
    MPI_Barrier(MPI_COMM_WORLD);
    ByteOutput::finish(*core, path("file"));
    EXPECT_TRUE(content("file") == model);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  core->close();
  EXPECT_EQ(others({"file"}), std::vector<std::string>{});
}

TEST_F(BytesOfRanks, ManyFilesOfManyCommunicators) {
  auto core = make_core();
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank_ % 2, -rank_, &half);
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) {
    const std::string name = (i % 3 == 0 ? "self" + std::to_string(rank_) : "half" + std::to_string(rank_ % 2)) + "." + std::to_string(i);
    auto output = ByteOutput::open(core, i % 3 == 0 ? MPI_COMM_SELF : half, path(name), ByteOutput::Existing::replace);
    write(*output, {.offset = 1000 * static_cast<base::Bytes>(rank_), .block_bytes = 1000, .levels = {}}, 'x');
    output->close();
    names.push_back(name);
  }
  core->close();
  for (const auto& name : names) {
    EXPECT_TRUE(exists(name)) << name;
    EXPECT_EQ(content(name).substr(static_cast<std::size_t>(rank_) * 1000, 1000), std::string(1000, 'x')) << name;
  }
  MPI_Comm_free(&half);
}

TEST_F(BytesOfRanks, OneNameIsOpenOnce) {
  auto core = make_core();
  auto output = ByteOutput::open(core, MPI_COMM_WORLD, path("one"), ByteOutput::Existing::replace);
  EXPECT_EQ(ByteOutput::find_open(*core, path("one")), output->working_path());
  EXPECT_EQ(ByteOutput::find_open(*core, path("other")), std::nullopt);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_ == 0) {
    try {
      static_cast<void>(ByteOutput::open(core, MPI_COMM_SELF, path("one"), ByteOutput::Existing::replace));
      ADD_FAILURE() << "it is open";
    } catch (const base::Error& error) {
      EXPECT_EQ(error.code(), base::Errc::invalid_state);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  output->close();
  output = ByteOutput::open(core, MPI_COMM_WORLD, path("one"), ByteOutput::Existing::replace);   // waits for the one before
  EXPECT_TRUE(exists("one"));
  output->close();
  EXPECT_THROW(static_cast<void>(ByteOutput::open(core, MPI_COMM_WORLD, path("nowhere/file"), ByteOutput::Existing::replace)), base::Error);
  core->close();
}

TEST_F(BytesOfRanks, ANewFileKeepsItsNameWhileItIsLookedAt) {
  auto core = make_core();
  const std::string final_path = store::resolved_path(path("looked_at"));
  auto output = ByteOutput::open(core, MPI_COMM_WORLD, path("looked_at"), ByteOutput::Existing::replace);
  write(*output, {.offset = 100 * static_cast<base::Bytes>(rank_), .block_bytes = 100, .levels = {}}, 'x');
  MPI_Barrier(MPI_COMM_WORLD);
  std::unique_ptr<ByteOutput::KeptName> kept;
  if (rank_ == 0) {
    kept = ByteOutput::keep_open(*core, final_path, ByteOutput::Content::captured, [] { return false; });
    ASSERT_TRUE(kept);
    std::ifstream file(kept->working_path());
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), std::string(100 * static_cast<std::size_t>(size_), 'x'));
  }
  output->close();
  MPI_Barrier(MPI_COMM_WORLD);
  // The drain has had its turn with the first one.
  ByteOutput::open(core, MPI_COMM_WORLD, path("next"), ByteOutput::Existing::replace)->close();
  ByteOutput::finish(*core, path("next"));
  if (rank_ == 0) {
    EXPECT_FALSE(exists("looked_at"));
    EXPECT_EQ(access(kept->working_path().c_str(), F_OK), 0);
    kept.reset();
  }
  ByteOutput::finish(*core, path("looked_at"));
  EXPECT_TRUE(exists("looked_at"));
  core->close();
}

// As a signal handler may do that has interrupted a call.
TEST_F(BytesOfRanks, WhoLooksDoesNotWaitForItself) {
  auto core = make_core();
  const std::string final_path = store::resolved_path(path("looked_at"));
  auto output = ByteOutput::open(core, MPI_COMM_WORLD, path("looked_at"), ByteOutput::Existing::replace);
  {
    const std::lock_guard lock(core->one_at_a_time());
    EXPECT_FALSE(ByteOutput::keep_open(*core, final_path, ByteOutput::Content::captured, [] { return false; }));
  }
  auto kept = ByteOutput::keep_open(*core, final_path, ByteOutput::Content::captured, [] { return false; });
  EXPECT_TRUE(kept);
  kept.reset();
  output->close();
  core->close();
}

TEST_F(BytesOfRanks, WhoLooksDoesNotWaitForRanksForEver) {
  auto core = make_core();
  const std::string final_path = store::resolved_path(path("looked_at"));
  auto output = ByteOutput::open(core, MPI_COMM_WORLD, path("looked_at"), ByteOutput::Existing::replace);
  if (rank_ == 0 && size_ > 1) {
    output->count_collective();   // the others have not
    int asked = 0;
    EXPECT_FALSE(ByteOutput::keep_open(*core, final_path, ByteOutput::Content::captured, [&] { return ++asked > 100; }));
    EXPECT_EQ(asked, 101);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_ != 0) output->count_collective();   // now they have
  auto kept = rank_ == 0 ? ByteOutput::keep_open(*core, final_path, ByteOutput::Content::captured, [] { return false; }) : nullptr;
  EXPECT_EQ(kept != nullptr, rank_ == 0);
  kept.reset();
  output->close();
  core->close();
}

// A rank does not come to the collective calls that the others have made: those who must wait for it do so for the deadline.
TEST_F(BytesOfRanks, ARankThatDoesNotComeIsWaitedForAsLongAsTheDeadline) {
  if (size_ < 2) return;
  move_to_memory();
  auto core = make_core({{"pool.deadline", "1s"}, {"log.level", "off"}});
  auto output = ByteOutput::open(core, MPI_COMM_WORLD, path("late"), ByteOutput::Existing::replace);
  const bool is_late = rank_ == 1;
  const base::Bytes chunk = core->pool().header().chunk_bytes;
  const auto write_all = [&] {
    for (base::Bytes i = 0; i < 10; ++i) {   // more than its share, less than there is room for
      output->count_collective();
      write(*output, {.offset = (i * static_cast<base::Bytes>(size_) + static_cast<base::Bytes>(rank_)) * chunk, .block_bytes = chunk,
                      .levels = {}}, static_cast<char>('a' + rank_));
      output->count_collective();
    }
  };
  if (is_late) sleep(5);
  const double begin = MPI_Wtime();
  write_all();
  if (!is_late) {
    EXPECT_GE(MPI_Wtime() - begin, 1.0);
    try {
      static_cast<void>(output->wait_for_ranks());
      ADD_FAILURE() << "rank 1 has not come";
    } catch (const base::Error& error) {
      EXPECT_EQ(error.code(), base::Errc::timeout);
      const std::string said = error.what();   // others wait for it a little longer, and are missing, too
      const bool names_it = said.find("has waited 1s for rank 1 to come") != std::string::npos ||
                            said.find("has waited 1s for ranks 1, ") != std::string::npos;
      EXPECT_TRUE(names_it && said.find("to come to its last collective call") != std::string::npos) << said;
    }
    EXPECT_LT(MPI_Wtime() - begin, 4.9);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  static_cast<void>(output->wait_for_ranks());   // it has come
  output->close();
  core->close();
  const std::string text = content("late");
  ASSERT_EQ(text.size(), 10 * chunk * static_cast<base::Bytes>(size_));
  for (base::Bytes at = 0; at < text.size(); at += chunk) {
    ASSERT_EQ(text[at], static_cast<char>('a' + at / chunk % static_cast<base::Bytes>(size_)));
  }
}

// Each captures far more than the pool holds.
TEST_F(BytesOfRanks, WaitForRoom) {
  auto core = make_core();
  auto output = ByteOutput::open(core, MPI_COMM_WORLD, path("large"), ByteOutput::Existing::replace);
  constexpr base::Bytes block = 300'000;
  for (base::Bytes i = 0; i < 12; ++i) {
    const base::Bytes which = i * static_cast<base::Bytes>(size_) + static_cast<base::Bytes>(rank_);
    write(*output, {.offset = which * block, .block_bytes = block, .levels = {}}, static_cast<char>('a' + rank_));
  }
  EXPECT_FALSE(output->failure());
  output->close();
  core->close();
  const std::string text = content("large");
  ASSERT_EQ(text.size(), 12 * block * static_cast<base::Bytes>(size_));
  for (base::Bytes i = 0; i < text.size(); i += block) {
    ASSERT_EQ(text[i], static_cast<char>('a' + i / block % static_cast<base::Bytes>(size_)));
    ASSERT_EQ(text[i + block - 1], text[i]);
  }
}

// The caller is told; a new file must not be published without it, and one in place keeps all the rest.
TEST_F(BytesOfRanks, AWriteThatFailsTakesNothingElseWithItInPlace) {
  auto core = make_core();
  const std::string name = "of." + std::to_string(rank_);
  mesh::Pattern too_much{.offset = 0, .block_bytes = 1, .levels = {}};
  too_much.levels.assign(30'000, {1, 1});   // for the journal
  for (const auto existing : {ByteOutput::Existing::replace, ByteOutput::Existing::keep}) {
    const bool in_place = existing == ByteOutput::Existing::keep;
    if (in_place) std::ofstream(path(name)) << std::string(3000, 'o');
    auto output = ByteOutput::open(core, MPI_COMM_SELF, path(name), existing);
    write(*output, {.offset = 0, .block_bytes = 1000, .levels = {}}, 'x');
    EXPECT_THROW(write(*output, too_much, 'y'), base::Error);
    EXPECT_EQ(output->failure().has_value(), !in_place);
    if (in_place) write(*output, {.offset = 2000, .block_bytes = 1000, .levels = {}}, 'z');
    output->close();
    ByteOutput::finish(*core, path(name));
    EXPECT_EQ(exists(name), in_place);
  }
  core->close();
  EXPECT_EQ(content(name), std::string(1000, 'x') + std::string(1000, 'o') + std::string(1000, 'z'));
}

// What a write does when the pool is full.
class FullPoolPoliciesOfBytes : public BytesOfRanks, public testing::WithParamInterface<std::string> {
 protected:
  [[nodiscard]] Settings settings() const {
    return {{"pool.budget", "1MiB"}, {"full", GetParam()}, {"spill.directory", path("")}, {"spill.budget", "3MiB"}};
  }
  // Whether any rank has needed the policy.
  [[nodiscard]] static bool was_needed(Core& core) {
    const auto statistics = core.statistics();
    std::uint64_t mine = 1;   // of the other policies nothing is counted
    if (GetParam() == "spill") mine = statistics.spilled_bytes;
    if (GetParam() == "synchronous") mine = statistics.synchronous_bytes;
    MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    return mine != 0;
  }
};

// As above, with more than the pool holds in every turn, big blocks and small ones.
TEST_P(FullPoolPoliciesOfBytes, LaterWritesWin) {
  auto core = make_core(settings());
  auto output = ByteOutput::open(core, MPI_COMM_WORLD, path("file"), ByteOutput::Existing::replace);
  std::string model;
  std::mt19937 random{11};
  for (int turn = 0; turn < 12; ++turn) {
    auto place = random_place(random);
    if (turn % 3 == 0) place = {.offset = 1000 * static_cast<base::Bytes>(turn), .block_bytes = 2'500'000, .levels = {}};
    if (turn % 3 == 1) place = {.offset = 77, .block_bytes = 700, .levels = {{3'000, 1'000}}};
    const char value = static_cast<char>('a' + turn);
    if (turn % size_ == rank_) write(*output, place, value);
    apply(model, place, value);
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_EQ(output->size(0), model.size());
    MPI_Barrier(MPI_COMM_WORLD);
    if (turn % 6 == 5) {
      output->flush(0);
      std::ifstream file(output->working_path(), std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      EXPECT_TRUE(text == model);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  output->close();
  EXPECT_TRUE(was_needed(*core));
  core->close();
  EXPECT_TRUE(content("file") == model);
  EXPECT_EQ(others({"file"}), std::vector<std::string>{});
}

// All at once, and all over each other: of each small write all bytes stay, or none.
TEST_P(FullPoolPoliciesOfBytes, WritesOfSeveralRanksAreWholeAndOfOneRankInOrder) {
  constexpr base::Bytes block = 3000, blocks = 200, rounds = 2;
  auto core = make_core(settings());
  auto output = ByteOutput::open(core, MPI_COMM_WORLD, path("file"), ByteOutput::Existing::replace);
  const auto private_begin = block * blocks * (1 + static_cast<base::Bytes>(rank_));
  std::mt19937 random{static_cast<unsigned>(rank_)};
  for (base::Bytes round = 0; round < rounds; ++round) {
    for (base::Bytes i = 0; i < blocks; ++i) {
      const base::Bytes which = random() % blocks;
      write(*output, {.offset = which * block, .block_bytes = block, .levels = {}}, static_cast<char>('a' + rank_));
      if (i % 50 == 0) {
        const char value = static_cast<char>('A' + round * 4 + i / 50);
        write(*output, {.offset = private_begin, .block_bytes = block * blocks, .levels = {}}, value);
      }
    }
  }
  output->close();
  EXPECT_TRUE(was_needed(*core));
  core->close();
  const std::string text = content("file");
  ASSERT_EQ(text.size(), block * blocks * (1 + static_cast<base::Bytes>(size_)));
  for (base::Bytes i = 0; i < blocks; ++i) {
    ASSERT_EQ(text.substr(i * block, block), std::string(block, text[i * block])) << i;
  }
  EXPECT_TRUE(text.substr(private_begin, block * blocks) == std::string(block * blocks, static_cast<char>('A' + rounds * 4 - 1)));
}

INSTANTIATE_TEST_SUITE_P(Each, FullPoolPoliciesOfBytes, testing::Values("block", "spill", "synchronous", "drop"),
                         [](const auto& policy) { return policy.param; });

TEST_F(BytesOfRanks, OneThatIsNotClosedIsNotThere) {
  auto core = make_core();
  ByteOutput::open(core, MPI_COMM_WORLD, path("abandoned"), ByteOutput::Existing::replace).reset();
  core->close();
  EXPECT_EQ(others(), std::vector<std::string>{});
}

// Ranks of two nodes open a file once more at the same time: one renames it while the other looks, a little later in
// each round.
TEST_F(BytesOfRanks, AFileGetsItsNameThoughAnotherNodeGivesItAtTheSameTime) {
  if (rank_ != 0) return;
  const store::FileNames names{path("data.part"), path("data")};
  std::ofstream(names.working_path) << "bytes";
  struct stat status {};
  ASSERT_EQ(stat(names.working_path.c_str(), &status), 0);
  pool::OutputSlot slot{};
  slot.working_device = status.st_dev;
  slot.working_inode = status.st_ino;
  constexpr int rounds = 4000, latest_ns = 20'000;
  std::atomic<int> begun = 0, ended = 0;
  const auto reaches = [](const std::atomic<int>& count, int number) {
    for (int turn = 1; count.load() < number; ++turn) {
      if (turn % 1000 == 0) std::this_thread::yield();
    }
  };
  std::thread other([&] {
    for (int round = 1; round <= rounds; ++round) {
      reaches(begun, round);
      static_cast<void>(rename(names.working_path.c_str(), names.final_path.c_str()));
      ended = round;
    }
  });
  int failures = 0;
  for (int round = 1; round <= rounds; ++round) {
    begun = round;
    const std::uint64_t begin = base::now_ns();
    while (base::now_ns() - begin < static_cast<std::uint64_t>(round) * latest_ns / rounds) {}
    failures += session::give_final_name(slot, names) == 0 ? 0 : 1;
    reaches(ended, round);
    std::filesystem::rename(names.final_path, names.working_path);
  }
  other.join();
  EXPECT_EQ(failures, 0);
  std::filesystem::remove(names.working_path);
  EXPECT_EQ(session::give_final_name(slot, names), ENOENT);
}

}  // namespace
}  // namespace glean::test
