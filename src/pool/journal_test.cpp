// SPDX-License-Identifier: BSD-3-Clause
#include "pool/journal.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "pool/description.hpp"
#include "pool/futex.hpp"
#include "pool/test_pool.hpp"

namespace glean::pool {
namespace {

Recorder recorder_of(TestPool& made, double deadline_seconds = 20) {
  return {made.pool, 0, deadline_seconds, [] { return "rank 7 has not ended step 3"; }};
}

std::byte pattern(std::uint64_t step, std::uint64_t at) { return static_cast<std::byte>(step * 31 + at); }

// One record with `bytes` of payload that can be told from all others.
void put(Recorder& recorder, std::uint64_t step, Bytes bytes, const mesh::Box& box) {
  const auto room = recorder.reserve(bytes, bytes);
  for (Bytes i = 0; i < bytes; ++i) room.data[i] = pattern(step, i);
  recorder.commit_put(room, bytes, {{1, 2}, step, 5, mesh::Type::int8, &box, 0, bytes});
}

mesh::Box box_of(std::size_t dimensions) { return {mesh::Shape(dimensions, 3), mesh::Shape(dimensions, 4)}; }

void expect_put(const Pool& pool, const Record& record, std::uint64_t step) {
  ASSERT_EQ(record.step, step);
  ASSERT_EQ(record.slot, 1u);
  ASSERT_EQ(record.generation, 2u);
  ASSERT_EQ(record.variable, 5u);
  for (Bytes i = 0; i < record.payload_bytes; ++i) ASSERT_EQ(pool.at(record.payload_offset)[i], pattern(step, i));
  for (std::size_t d = 0; d < record.dimensions; ++d) {
    ASSERT_EQ(record.box()[d], 3u);
    ASSERT_EQ(record.box()[record.dimensions + d], 4u);
  }
}

void return_space(Pool& pool) { futex_signal(pool.header().space); }

template <class Action>
base::Error error_of(Action action) {
  try {
    action();
  } catch (const base::Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {base::Errc::overlap, ""};
}

TEST(Journal, HandsEveryRecordOverInOrderWhileItsRingGoesRoundAndRecordsRetireInAnyOrder) {
  plan::NodePlan plan = small_plan();
  plan.pool_bytes = 288 * base::KiB;
  plan.journal_bytes_per_rank = 4 * base::KiB;
  TestPool made(1, plan);
  constexpr std::uint64_t records = 20'000;
  std::thread rank([&] {
    std::mt19937 random(1);
    Recorder recorder = recorder_of(made);
    for (std::uint64_t step = 0; step < records; ++step) put(recorder, step, 1 + random() % 300, box_of(random() % 12));
  });

  std::mt19937 random(2);
  JournalReader reader(made.pool, 0);
  std::deque<const Record*> held;
  const std::uint64_t deadline = base::now_ns() + 60'000'000'000;
  for (std::uint64_t step = 0; step < records;) {
    ASSERT_LT(base::now_ns(), deadline);
    const Record* record = reader.peek();
    if (record != nullptr) {
      ASSERT_NO_FATAL_FAILURE(expect_put(made.pool, *record, step));
      reader.advance();
      held.push_back(record);
      ++step;
    }
    while (!held.empty() && (record == nullptr || held.size() > 8)) {
      const auto it = held.begin() + static_cast<std::ptrdiff_t>(random() % held.size());
      reader.retire(**it);
      held.erase(it);
      return_space(made.pool);
    }
  }
  for (const Record* record : held) reader.retire(*record);
  rank.join();

  EXPECT_EQ(reader.peek(), nullptr);
  EXPECT_TRUE(made.journals_are_empty());
  EXPECT_EQ(made.pool.used_bytes(), 0u);
  EXPECT_EQ(made.pool.header().waiting_for_space, 0u);
}

TEST(Journal, NoticesEveryDamagedBit) {
  TestPool made(1);
  Recorder recorder = recorder_of(made);
  put(recorder, 4, 100, box_of(3));
  put(recorder, 5, 100, box_of(3));
  std::byte* ring = made.pool.ring(0);
  const Bytes bytes = reinterpret_cast<Record*>(ring)->size_bytes;

  for (Bytes at = 0; at < bytes; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      ring[at] ^= static_cast<std::byte>(1 << bit);
      JournalReader reader(made.pool, 0);
      EXPECT_THROW(static_cast<void>(reader.peek()), base::Error) << "byte " << at << " bit " << bit;
      ring[at] ^= static_cast<std::byte>(1 << bit);
    }
  }
  JournalReader reader(made.pool, 0);
  EXPECT_NE(reader.peek(), nullptr);
}

TEST(Journal, NoticesADamagedEndOfTheRingInsteadOfReadingItForEver) {
  plan::NodePlan plan = small_plan();
  plan.journal_bytes_per_rank = sizeof(Journal) + 58 * record_alignment;
  TestPool made(1, plan);
  Recorder recorder = recorder_of(made);
  JournalReader reader(made.pool, 0);
  for (int i = 0; i < 19; ++i) {   // of 3 * 64 bytes each: 64 are left
    put(recorder, 0, 1, box_of(7));
    const Record* record = reader.peek();
    reader.advance();
    reader.retire(*record);
  }
  put(recorder, 1, 1, box_of(7));
  auto* skip = reinterpret_cast<Record*>(made.pool.ring(0) + 19 * 192);
  ASSERT_EQ(skip->kind, RecordKind::skip);

  for (const std::uint32_t size : {0u, 128u, 192u, 1u << 20}) {
    skip->size_bytes = size;
    EXPECT_THROW(static_cast<void>(reader.peek()), base::Error) << size;
  }
  skip->size_bytes = 64;
  ASSERT_NE(reader.peek(), nullptr);
  EXPECT_EQ(reader.peek()->step, 1u);
}

TEST(Journal, ThatIsFullBlocksUntilARecordIsRetired) {
  plan::NodePlan plan = small_plan();
  plan.journal_bytes_per_rank = sizeof(Journal) + 58 * record_alignment;
  TestPool made(1, plan);
  std::atomic<int> committed = 0;
  std::thread rank([&] {
    Recorder recorder = recorder_of(made);
    for (int i = 0; i < 40; ++i, ++committed) put(recorder, static_cast<std::uint64_t>(i), 8, box_of(3));
  });
  while (made.pool.header().waiting_for_space == 0) usleep(100);
  EXPECT_EQ(committed, 29);   // 29 * 128 bytes fill the ring

  JournalReader reader(made.pool, 0);
  const std::uint64_t deadline = base::now_ns() + 20'000'000'000;
  for (std::uint64_t step = 0; step < 40;) {
    ASSERT_LT(base::now_ns(), deadline);
    const Record* record = reader.peek();
    if (record == nullptr) continue;
    EXPECT_EQ(record->step, step++);
    reader.advance();
    reader.retire(*record);
    return_space(made.pool);
  }
  rank.join();
}

TEST(Journal, KeepsARecordWhosePayloadIsGivenBackForTheNextReader) {
  TestPool made(1);
  {
    Recorder recorder = recorder_of(made);
    put(recorder, 7, 4096, box_of(1));
  }
  {
    JournalReader first(made.pool, 0);
    const Record* record = first.peek();
    first.advance();
    first.give_payload_back(*record);
    first.give_payload_back(*record);   // twice is once
    EXPECT_EQ(made.pool.header().used_chunks, 0u);
  }

  JournalReader second(made.pool, 0);
  const Record* record = second.peek();
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->step, 7u);
  EXPECT_EQ(record->state, RecordState::written);
  second.advance();
  second.retire(*record);
  EXPECT_EQ(made.pool.header().used_chunks, 0u);
  EXPECT_TRUE(made.journals_are_empty());
}

TEST(Journal, SkipsWhatAReaderBeforeHasRetired) {
  TestPool made(1);
  Recorder recorder = recorder_of(made);
  for (std::uint64_t step = 0; step < 4; ++step) put(recorder, step, 8, box_of(1));
  {
    JournalReader first(made.pool, 0);
    for (std::uint64_t step = 0; step < 4; ++step) {
      const Record* record = first.peek();
      first.advance();
      if (step != 0 && step != 2) first.retire(*record);
    }
  }

  JournalReader second(made.pool, 0);
  EXPECT_EQ(second.peek()->step, 0u);
  second.advance();
  EXPECT_EQ(second.peek()->step, 2u);
  second.advance();
  EXPECT_EQ(second.peek(), nullptr);
}

TEST(Journal, RefusesARecordThatItsRingCanNeverHold) {
  plan::NodePlan plan = small_plan();
  plan.journal_bytes_per_rank = 4 * base::KiB;
  TestPool made(1, plan);
  Recorder recorder = recorder_of(made);

  EXPECT_EQ(error_of([&] { put(recorder, 0, 8, box_of(200)); }).code(), base::Errc::unsupported);
  EXPECT_NO_THROW(put(recorder, 0, 8, box_of(100)));
}

TEST(Recorder, FillsChunksWithoutWasteAndGivesThemBack) {
  TestPool made(1);
  {
    Recorder recorder = recorder_of(made);
    JournalReader reader(made.pool, 0);
    for (std::uint64_t step = 0; step < 64; ++step) {   // 64 pieces of 64 bytes are a chunk
      put(recorder, step, 33, box_of(1));
      EXPECT_EQ(made.pool.header().used_chunks, 1u);
      static_cast<void>(reader.peek());
      reader.advance();
    }
    put(recorder, 64, 33, box_of(1));
    EXPECT_EQ(made.pool.header().used_chunks, 2u);
  }
  JournalReader reader(made.pool, 0);
  while (const Record* record = reader.peek()) {
    reader.advance();
    reader.retire(*record);
  }
  EXPECT_EQ(made.pool.used_bytes(), 0u);
}

TEST(Recorder, HasRoomForTheRecordsOfAllThatItHoldsInWhateverOrderTheyAreCommitted) {
  plan::NodePlan plan = small_plan();
  plan.journal_bytes_per_rank = 2 * base::KiB;
  TestPool made(1, plan);
  const Journal& journal = made.pool.journal(0);
  std::mt19937 random(1);
  Recorder recorder = recorder_of(made, 0);
  JournalReader reader(made.pool, 0);
  std::deque<const Record*> read;
  int full = 0;
  for (int round = 0; round < 2'000; ++round) {
    std::vector<std::pair<Recorder::Held, mesh::Box>> all;
    for (;;) {
      const mesh::Box box = box_of(random() % 8);
      const auto held = recorder.try_hold(8, box.count.size());
      if (!held) break;
      all.emplace_back(*held, box);
    }
    if (all.empty()) full += static_cast<int>(journal.is_full.load());
    std::shuffle(all.begin(), all.end(), random);

    for (const auto& [held, box] : all) {
      if (random() % 4 == 0) recorder.drop_held(held);
      else recorder.commit_held(held, {{1, 2}, 0, 5, mesh::Type::int8, &box, 0, 8, Origin::node, 3});
    }

    ASSERT_LE(journal.head.load() - journal.tail.load(), made.pool.ring_bytes());
    for (; const Record* record = reader.peek(); reader.advance()) read.push_back(record);
    for (; !read.empty() && random() % 6 != 0; read.pop_front()) reader.retire(*read.front());
  }
  EXPECT_GT(full, 0);
  for (const Record* record : read) reader.retire(*record);
  EXPECT_EQ(made.pool.header().used_chunks, 1u);   // the recorder's
}

TEST(Recorder, NamesWhoIsMissingWhenThePoolStaysFull) {
  TestPool made(1);
  Recorder recorder = recorder_of(made, 0.15);
  while (made.pool.take_chunk()) {}
  const std::uint64_t begin = base::now_ns();

  const base::Error error = error_of([&] { static_cast<void>(recorder.reserve(8, 8)); });

  EXPECT_EQ(error.code(), base::Errc::timeout);
  EXPECT_NE(std::string(error.what()).find("rank 7 has not ended step 3"), std::string::npos) << error.what();
  EXPECT_GE(base::now_ns() - begin, 150'000'000u);
  EXPECT_LT(base::now_ns() - begin, 10'000'000'000u);
  EXPECT_EQ(made.pool.header().waiting_for_space, 0u);
}

TEST(Recorder, SaysWhetherItWaitedForRoomInThePoolOrInTheJournal) {
  plan::NodePlan plan = small_plan();
  plan.journal_bytes_per_rank = 2 * base::KiB;
  TestPool made(1, plan);
  Recorder recorder = recorder_of(made, 0.05);
  const auto& [in_pool, in_journal] = recorder.waited();

  EXPECT_THROW(while (true) put(recorder, 0, 8, box_of(1)), base::Error);
  EXPECT_EQ(in_pool.times, 0u);
  EXPECT_EQ(in_journal.times, 1u);
  EXPECT_GE(in_journal.ns, 50'000'000u);
  while (made.pool.take_chunk()) {}
  EXPECT_THROW(static_cast<void>(recorder.reserve(4 * base::KiB, 4 * base::KiB)), base::Error);
  EXPECT_EQ(in_pool.times, 1u);
}

TEST(Recorder, WaitsOnWhileTheDrainWrites) {
  TestPool made(1);
  Recorder recorder = recorder_of(made, 0.5);
  const std::uint32_t taken = *made.pool.take_chunk();
  while (made.pool.take_chunk()) {}
  std::thread drain([&] {
    for (int i = 0; i < 20; ++i, usleep(60'000)) made.pool.header().written_bytes += 1;
    made.pool.drop_reference(taken);
    return_space(made.pool);
  });

  EXPECT_NO_THROW(static_cast<void>(recorder.reserve(8, 8)));
  drain.join();
}

TEST(Recorder, NoticesAtOnceThatNoProcessDrainsAnyMore) {
  const std::string name = unique_pool_name();
  const pid_t root = fork();
  if (root == 0) {
    Pool made = Pool::create(name, small_plan(), 2);
    _exit(made.claim_drain() ? 0 : 1);
  }
  int status = 0;
  waitpid(root, &status, 0);
  ASSERT_EQ(status, 0);
  Pool pool = Pool::attach(name);
  pool.remove();
  Recorder recorder(pool, 1, 60, [] { return std::string("no rank"); });
  while (pool.take_chunk()) {}
  const std::uint64_t begin = base::now_ns();

  const base::Error error = error_of([&] { static_cast<void>(recorder.reserve(8, 8)); });

  EXPECT_EQ(error.code(), base::Errc::io);
  EXPECT_NE(std::string(error.what()).find("gone"), std::string::npos);
  EXPECT_LT(base::now_ns() - begin, 5'000'000'000u);
}

TEST(Recorder, HandsTheRestOfItsChunkOverWhenAnotherRankWaits) {
  TestPool made(2);
  Recorder recorder = recorder_of(made);
  put(recorder, 0, 8, box_of(1));
  JournalReader reader(made.pool, 0);
  const Record* record = reader.peek();
  reader.advance();
  reader.retire(*record);
  ASSERT_EQ(made.pool.header().used_chunks, 1u);

  made.pool.header().waiting_for_space = 1;
  recorder.ring_the_drain();

  EXPECT_EQ(made.pool.header().used_chunks, 0u);
}

TEST(Description, IsThereForAProcessThatFindsThePool) {
  TestPool made(1);
  Recorder recorder = recorder_of(made);
  for (const std::size_t size : {2u, 500u, 4000u, 4096u, 50'000u}) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = pattern(i / 1000, i);
    const OutputKey key = made.claim_slot();
    EXPECT_TRUE(read_description(made.pool, key).bytes.empty());

    recorder.describe(key, std::span(bytes).first(size / 2), Recorder::More::follow);
    const DescriptionInPool first = read_description(made.pool, key);
    recorder.describe(key, std::span(bytes).subspan(size / 2), Recorder::More::none);
    const DescriptionInPool all = read_description(made.pool, key);

    EXPECT_FALSE(first.complete);
    EXPECT_EQ(first.bytes, std::vector(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size / 2)));
    EXPECT_TRUE(all.complete);
    EXPECT_EQ(all.bytes, bytes);
  }
}

TEST(Description, GivesItsChunksBackWhenItIsForgotten) {
  TestPool made(1);
  Recorder recorder = recorder_of(made, 0.1);
  while (made.pool.used_bytes() < made.pool.header().chunk_bytes * (made.pool.header().chunk_count - 2)) {
    static_cast<void>(made.pool.take_chunk());
  }
  const std::uint32_t used = made.pool.header().used_chunks;
  const OutputKey key = made.claim_slot();

  EXPECT_EQ(error_of([&] { recorder.describe(key, std::vector<std::byte>(20'000), Recorder::More::none); }).code(),
            base::Errc::timeout);
  EXPECT_FALSE(read_description(made.pool, key).complete);
  forget_description(made.pool, key);
  recorder.ring_the_drain();   // it may sit on the rest of a chunk

  EXPECT_LE(made.pool.header().used_chunks, used + 1);
  EXPECT_TRUE(read_description(made.pool, key).bytes.empty());
}

// Whatever stands there, reading it ends, and nothing outside of the pool is touched.
TEST(Description, ThatIsDamagedIsRefused) {
  TestPool made(1);
  Recorder recorder = recorder_of(made);
  const OutputKey key = made.claim_slot();
  recorder.describe(key, std::vector<std::byte>(9000), Recorder::More::none);
  const Bytes newest = made.pool.slot(key.slot).description;
  const auto refused = [&] {
    return error_of([&] { static_cast<void>(read_description(made.pool, key)); }).code() == base::Errc::io;
  };
  DescriptionPart part{};
  std::memcpy(&part, made.pool.at(newest), sizeof part);
  const auto with = [&](auto change) {
    DescriptionPart changed = part;
    change(changed);
    std::memcpy(made.pool.at(newest), &changed, sizeof changed);
    const bool result = refused();
    std::memcpy(made.pool.at(newest), &part, sizeof part);
    return result;
  };

  EXPECT_TRUE(with([&](DescriptionPart& p) { p.previous_offset = newest; }));
  EXPECT_TRUE(with([](DescriptionPart& p) { p.previous_offset = 0; }));
  EXPECT_TRUE(with([](DescriptionPart& p) { p.previous_offset = ~0ull; }));
  EXPECT_TRUE(with([](DescriptionPart& p) { p.bytes = 0; }));
  EXPECT_TRUE(with([](DescriptionPart& p) { p.bytes = ~0ull - 8; }));
  EXPECT_TRUE(with([](DescriptionPart& p) { ++p.generation; }));
  made.pool.slot(key.slot).description = 7;
  EXPECT_TRUE(refused());
  made.pool.slot(key.slot).description = ~0ull;
  EXPECT_TRUE(refused());
}

}  // namespace
}  // namespace glean::pool
