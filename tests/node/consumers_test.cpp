// SPDX-License-Identifier: BSD-3-Clause
//
// Consumers of complete steps, in this process and in others, while the engine writes the same steps.
#include "drain/consumers.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "base/error.hpp"
#include "drain/engine.hpp"
#include "mesh/run_list.hpp"
#include "pool/description.hpp"
#include "pool/futex.hpp"
#include "raw_output.hpp"
#include "store/posix/temporary_directory.hpp"
#include "virtual_ranks.hpp"

namespace glean::tests::consumers_test {
namespace {

using drain::CompleteStep;
using drain::Consumers;
using drain::StepPiece;
using store::TemporaryDirectory;

constexpr int ranks = 3;
constexpr std::uint64_t elements = 600, steps = 8;

// A record variable of numbers: each rank puts its third of it in every step.
VirtualOutput thirds(const std::string& path) {
  VirtualOutput output;
  output.steps = steps;
  output.description.display_path = path;
  output.description.names = {path + ".part", path};
  output.description.layout.header_bytes = 64;
  output.description.layout.variables.push_back({"v", mesh::Type::int32, {elements}, 64, 4 * elements, false, {}});
  for (std::uint64_t step = 0; step < steps; ++step) {
    for (int rank = 0; rank < ranks; ++rank) {
      const auto start = static_cast<std::uint64_t>(rank) * elements / ranks;
      output.puts.push_back({step, rank, 0, mesh::Type::int32, {{start}, {elements / ranks}}});
    }
  }
  return output;
}

// How many elements of the step are there with the values that were put.
std::uint64_t right_elements(const CompleteStep& step) {
  std::uint64_t right = 0;
  for (const StepPiece& piece : step.pieces) {
    EXPECT_EQ(piece.variable, 0u);
    EXPECT_EQ(piece.type, mesh::Type::int32);
    EXPECT_EQ(piece.put.first_record, step.step);
    EXPECT_EQ(piece.put.box.start.front(), static_cast<std::uint64_t>(piece.rank) * elements / ranks);
    for (std::size_t i = 0; i < piece.bytes.size() / 4; ++i) {
      std::int32_t value = 0;
      std::memcpy(&value, piece.bytes.data() + 4 * i, 4);
      right += value == value_of(0, step.step, piece.put.box.start.front() + piece.first_byte / 4 + i) ? 1 : 0;
    }
  }
  return right;
}

struct Node {
  TemporaryDirectory directory;
  plan::NodePlan plan = pool::roomy_plan();
  pool::TestPool made{ranks, plan};
  store::SystemCalls calls;
  drain::Engine engine{made.pool, plan, calls};
  VirtualOutput output = thirds(directory / "a.nc");

  // Until everything is written; the ranks wait for nothing else.
  void run() {
    VirtualRanks all(made);
    EXPECT_EQ(all.run({output}), std::vector<std::string>{});
    EXPECT_TRUE(wait_until_finished(made.pool, all.keys()));
    EXPECT_EQ(bytes_of_file(output.description.names.final_path), output.file());
  }
  [[nodiscard]] bool is_empty_soon() const {
    for (int tries = 0; tries < 5000 && made.pool.used_bytes() != 0; ++tries) usleep(1000);
    return made.pool.used_bytes() == 0;
  }
};

TEST(ConsumersOfSteps, SeeWhatRanksHavePut) {
  Node node;
  Consumers& consumers = node.engine.consumers();
  const auto id = consumers.add({.budget = 1 * base::MiB});
  std::thread job([&] { node.run(); });
  for (std::uint64_t step = 0; step < steps; ++step) {
    const auto seen = consumers.next(id, 30);
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->step, step);
    EXPECT_EQ(seen->path, node.output.description.display_path);
    EXPECT_EQ(right_elements(*seen), elements);
    consumers.release(id, seen->number);
  }
  job.join();
  EXPECT_FALSE(consumers.next(id, 0));
  EXPECT_EQ(consumers.figures(id).steps, steps);
  EXPECT_EQ(consumers.figures(id).pinned_bytes, 0u);
  EXPECT_TRUE(node.is_empty_soon());
}

TEST(ConsumersOfSteps, FindTheBytesWhenTheFileIsLongPublished) {
  Node node;
  Consumers& consumers = node.engine.consumers();
  const auto id = consumers.add({.budget = 1 * base::MiB});
  node.run();
  EXPECT_NE(node.made.pool.used_bytes(), 0u);   // pinned
  EXPECT_EQ(consumers.figures(id).pinned_bytes, node.made.pool.used_bytes());
  for (std::uint64_t step = 0; step < steps; ++step) {
    const auto seen = consumers.next(id, 0);
    ASSERT_TRUE(seen);
    EXPECT_EQ(right_elements(*seen), elements);
    consumers.release(id, seen->number);
  }
  EXPECT_TRUE(node.is_empty_soon());
}

TEST(ConsumersOfSteps, SkipStepsThatDoNotFitTheirBudget) {
  Node node;
  Consumers& consumers = node.engine.consumers();
  const auto id = consumers.add({.budget = 4 * node.plan.chunk_bytes});   // of six
  node.run();
  const Consumers::Figures figures = consumers.figures(id);
  EXPECT_GT(figures.skipped_for_budget, 0u);
  EXPECT_LE(figures.pinned_bytes, 4 * node.plan.chunk_bytes);
  std::uint64_t given = 0;
  while (const auto seen = consumers.next(id, 0)) {
    EXPECT_EQ(right_elements(*seen), elements);
    ++given;
  }
  EXPECT_GT(given, 0u);
  EXPECT_EQ(given + figures.skipped_for_budget, steps);
  consumers.remove(id);   // with what it has not released
  EXPECT_TRUE(node.is_empty_soon());
}

TEST(ConsumersOfSteps, MayNotPinMostOfThePool) {
  Node node;
  EXPECT_THROW(static_cast<void>(node.engine.consumers().add({.budget = 64 * base::MiB})), base::Error);
}

TEST(ConsumersOfSteps, SeeNothingOfOutputsThatHadBegun) {
  Node node;
  VirtualRanks all(node.made);
  pool::Recorder recorder = all.recorder(0);
  const pool::OutputKey key = all.open(recorder, node.output);
  while (node.made.pool.slot(key.slot).working_inode.load() == 0) usleep(200);   // the engine has it
  const auto id = node.engine.consumers().add({.budget = 1 * base::MiB});
  for (int rank = 0; rank < ranks; ++rank) all.report(recorder, key, rank, pool::rank_closed);
  EXPECT_TRUE(wait_until_finished(node.made.pool, {key}));
  EXPECT_FALSE(node.engine.consumers().next(id, 0));
}

// A raw output: a put with its variable, one of bytes over a part of it, and one whose elements are no box.
TEST(ConsumersOfSteps, SeeWhatBytesOfARawOutputAre) {
  Node node;
  Consumers& consumers = node.engine.consumers();
  const auto id = consumers.add({.budget = 1 * base::MiB});
  const pool::OutputKey key = open_raw_output(node.made, raw_output(node.directory / ".raw.working", node.directory / "raw"));
  std::optional<pool::Recorder> recorder(std::in_place, node.made.pool, 0, 30, [] { return "rank 0"; });

  store::Meaning meaning;
  meaning.count = 1;
  meaning.definitions.dimensions = {{"y", 3, false}, {"x", 5, false}};
  meaning.definitions.variables = {{"v", mesh::Type::float32, {0, 1}, false, -1}};
  store::VariableLayout& variable = meaning.layout.variables.emplace_back();
  variable.name = "v";
  variable.external = mesh::Type::float32;
  variable.shape = {3, 5};
  variable.begin_bytes = 64;
  ASSERT_TRUE(pool::claim_meaning(node.made.pool, key, 1));
  EXPECT_FALSE(pool::claim_meaning(node.made.pool, key, 1)) << "another rank does";
  pool::say_meaning(node.made.pool, key, meaning.encode());

  const std::uint32_t name = store::Meaning::Name{1, 0}.word();
  const mesh::Box middle{{1, 1}, {2, 3}};
  const auto write = [&](const mesh::Pattern& pattern, std::uint32_t of, std::byte value) {
    const mesh::Box box = box_of(pattern);
    const auto room = recorder->reserve(pattern.bytes(), pattern.bytes());
    std::fill_n(room.data, pattern.bytes(), value);
    const std::uint64_t number = recorder->take_number(key, box.count.size()).number;
    recorder->commit_put(room, pattern.bytes(), {key, number, of, mesh::Type::uint8, &box, 0, pattern.bytes()});
  };
  write(mesh::Pattern::from_box(variable.shape, middle, 4, 64), name, std::byte{1});
  write({.offset = 70, .block_bytes = 9, .levels = {}}, 0, std::byte{2});
  write({.offset = 64, .block_bytes = 4, .levels = {{3, 8}}}, name, std::byte{3});
  recorder.reset();   // with the rest of its chunk
  for (int rank = 0; rank < ranks; ++rank) node.made.pool.rank_progress(key.slot, rank) = 1 | pool::rank_closed;
  pool::futex_signal(node.made.pool.header().work);

  const auto seen = consumers.next(id, 30);
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->pieces.size(), 3u);
  ASSERT_TRUE(seen->definitions);
  EXPECT_EQ(seen->definitions->variables.front().name, "v");
  EXPECT_EQ(seen->pieces[0].variable, 0u);
  EXPECT_EQ(seen->pieces[0].put, (store::PutBox{0, 1, middle}));
  EXPECT_EQ(seen->pieces[0].type, mesh::Type::float32);
  EXPECT_TRUE(seen->pieces[0].is_big_endian);
  EXPECT_EQ(seen->pieces[1].variable, drain::no_variable);
  EXPECT_EQ(seen->pieces[2].variable, drain::no_variable);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(seen->pieces[i].bytes.front(), std::byte(i + 1)) << "in the order of the writes";
  consumers.release(id, seen->number);
  EXPECT_TRUE(node.is_empty_soon()) << "what was said of its meaning, too";
}

// Small pieces of a raw output, of which one call may have millions, come each for itself.
TEST(ConsumersOfSteps, SeeTheRunsOfAListUpToABound) {
  Node node;
  Consumers& consumers = node.engine.consumers();
  const auto all = consumers.add({.budget = base::MiB / 2, .most_listed_runs = 3});
  const auto fewer = consumers.add({.budget = base::MiB / 2, .tells_left_out = true, .most_listed_runs = 2});
  const pool::OutputKey key = open_raw_output(node.made, raw_output(node.directory / ".raw.working", node.directory / "raw"));
  std::optional<pool::Recorder> recorder(std::in_place, node.made.pool, 0, 30, [] { return "rank 0"; });
  mesh::RunListBuilder list(1 * base::KiB);
  for (const Bytes offset : {10, 100, 1000}) ASSERT_TRUE(list.add(offset, 4));
  const auto words = mesh::RecordedRunList{list.begin(), 3, list.end() - list.begin()}.encode();
  const mesh::Box box{{words[0], words[1]}, {words[2], words[3]}};
  const Bytes table = mesh::RecordedRunList::table_offset(list.bytes()), bytes = table + list.runs().size_bytes();
  const auto room = recorder->reserve(bytes, bytes);
  for (Bytes i = 0; i < list.bytes(); ++i) room.data[i] = static_cast<std::byte>(i);
  std::memcpy(room.data + table, list.runs().data(), list.runs().size_bytes());
  recorder->commit_put(room, bytes, {key, recorder->take_number(key, 2).number, 0, mesh::Type::uint8, &box, 0, list.bytes()});
  recorder.reset();
  for (int rank = 0; rank < ranks; ++rank) node.made.pool.rank_progress(key.slot, rank) = 1 | pool::rank_closed;
  pool::futex_signal(node.made.pool.header().work);

  const auto seen = consumers.next(all, 30);
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->pieces.size(), 3u);
  EXPECT_EQ(seen->pieces[2].place, (mesh::Pattern{.offset = 1000, .block_bytes = 4, .levels = {}}));
  EXPECT_EQ(seen->pieces[2].bytes.front(), std::byte{8});
  const auto told = consumers.next(fewer, 30);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->left_out, "it is in more than 2 pieces");
  EXPECT_EQ(consumers.figures(fewer).skipped_in_too_many_pieces, 1u);
  consumers.release(all, seen->number);
  consumers.release(fewer, told->number);
}

// A process that maps the pool for reading, and looks at one step that it is told of.
TEST(ConsumersOfSteps, GiveTheirPinsBackWhenTheirProcessIsKilled) {
  Node node;
  int told[2], answer[2];
  ASSERT_EQ(pipe(told), 0);
  ASSERT_EQ(pipe(answer), 0);
  const pid_t process = fork();
  if (process == 0) {
    const pool::Pool mapped = pool::Pool::attach(node.made.pool.name(), pool::Pool::Access::look);
    Bytes place[2];   // where, and how many
    std::int32_t sum = 0;
    if (read(told[0], place, sizeof place) != sizeof place) _exit(1);
    for (Bytes at = 0; at < place[1]; at += 4) {
      std::int32_t value = 0;
      std::memcpy(&value, mapped.at(place[0] + at), 4);
      sum += value;
    }
    if (write(answer[1], &sum, sizeof sum) != sizeof sum) _exit(1);
    for (;;) pause();
  }
  Consumers& consumers = node.engine.consumers();
  const auto id = consumers.add({.budget = 1 * base::MiB, .process = process});
  node.run();
  const auto seen = consumers.next(id, 0);
  ASSERT_TRUE(seen);
  const StepPiece& piece = seen->pieces.front();
  const Bytes place[2] = {piece.pool_offset, piece.bytes.size()};
  ASSERT_EQ(write(told[1], place, sizeof place), static_cast<ssize_t>(sizeof place));
  std::int32_t sum = 0, expected = 0;
  ASSERT_EQ(read(answer[0], &sum, sizeof sum), static_cast<ssize_t>(sizeof sum));
  for (std::uint64_t i = 0; i < place[1] / 4; ++i) {
    expected += value_of(0, seen->step, piece.put.box.start.front() + piece.first_byte / 4 + i);
  }
  EXPECT_EQ(sum, expected);

  EXPECT_NE(node.made.pool.used_bytes(), 0u);
  kill(process, SIGKILL);
  waitpid(process, nullptr, 0);
  consumers.make_room();
  EXPECT_TRUE(consumers.figures(id).is_gone);
  EXPECT_FALSE(consumers.next(id, 0));
  EXPECT_EQ(node.made.pool.used_bytes(), 0u);
  for (const int end : {told[0], told[1], answer[0], answer[1]}) close(end);
}

TEST(ConsumersOfSteps, AreWaitedForBeyondTheirBudgetAsLongAsThereIsRoom) {
  Node node;
  Consumers& consumers = node.engine.consumers();
  const auto id = consumers.add({.budget = node.plan.chunk_bytes, .tells_left_out = true, .wait_seconds = 60});
  node.run();
  for (std::uint64_t step = 0; step < steps; ++step) {
    const auto seen = consumers.next(id, 0);
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->left_out, "");
    EXPECT_EQ(right_elements(*seen), elements);
    consumers.release(id, seen->number);
  }
  EXPECT_TRUE(node.is_empty_soon());
}

TEST(ConsumersOfSteps, AreNotWaitedForLongerWhereRanksNeedTheRoom) {
  plan::NodePlan plan = pool::small_plan();
  plan.pool_bytes = 256 * base::KiB;
  TemporaryDirectory directory;
  pool::TestPool made(ranks, plan);
  store::SystemCalls calls;
  drain::Engine engine(made.pool, plan, calls);
  Consumers& consumers = engine.consumers();
  const auto id = consumers.add({.budget = plan.chunk_bytes, .tells_left_out = true, .wait_seconds = 0.1});
  std::uint64_t all_steps = 0, left_out = 0;
  for (int i = 0; i < 4; ++i) {   // more than the pool, and the consumer takes none of it
    VirtualOutput output = thirds(directory / ("a" + std::to_string(i) + ".nc"));
    VirtualRanks all(made);
    EXPECT_EQ(all.run({output}), std::vector<std::string>{});
    EXPECT_TRUE(wait_until_finished(made.pool, all.keys()));
    EXPECT_EQ(bytes_of_file(output.description.names.final_path), output.file());
  }
  while (const auto seen = consumers.next(id, 0)) {
    ++all_steps;
    left_out += seen->left_out.empty() ? 0 : 1;
    consumers.release(id, seen->number);
  }
  EXPECT_EQ(all_steps, 4 * steps);
  EXPECT_GT(left_out, 0U);
  EXPECT_EQ(consumers.figures(id).pinned_bytes, 0U);
}

TEST(ConsumersOfSteps, DoNotKeepRanksWaitingWhenTheyAreDead) {
  plan::NodePlan plan = pool::small_plan();
  plan.pool_bytes = 256 * base::KiB;   // less than the output
  TemporaryDirectory directory;
  pool::TestPool made(ranks, plan);
  store::SystemCalls calls;
  drain::Engine engine(made.pool, plan, calls);
  const pid_t process = fork();
  if (process == 0) {
    for (;;) pause();
  }
  const Bytes half = made.pool.header().chunk_count * made.pool.header().chunk_bytes / 2;
  const auto id = engine.consumers().add({.budget = half, .process = process});
  VirtualOutput output = thirds(directory / "a.nc");
  VirtualRanks all(made);
  EXPECT_EQ(all.run({output}), std::vector<std::string>{});
  kill(process, SIGKILL);
  waitpid(process, nullptr, 0);
  VirtualOutput next = thirds(directory / "b.nc");
  VirtualRanks again(made);
  EXPECT_EQ(again.run({next}), std::vector<std::string>{});
  EXPECT_TRUE(wait_until_finished(made.pool, again.keys()));
  EXPECT_EQ(bytes_of_file(next.description.names.final_path), next.file());
  EXPECT_TRUE(engine.consumers().figures(id).is_gone);
}

}  // namespace
}  // namespace glean::tests::consumers_test
