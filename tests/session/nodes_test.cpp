// SPDX-License-Identifier: BSD-3-Clause
//
// Sessions of several nodes: what happens on one of them reaches all, and pools that are too small make no rank wait forever.
// Run with GLEAN_TOPOLOGY_RANKS_PER_NODE.
#include <bit>
#include <chrono>
#include <thread>

#include "nodes.hpp"

namespace glean::test {

namespace {

TEST_F(Nodes, TellAllRanksOfADiskThatFailsOnOneOfThem) {
  Session session(MPI_COMM_WORLD, with({{"drain.request", "64KiB"}}));
  Simple good(session, path("good.nc")), bad(session, path("bad.nc"), 40'000);
  good.whole_step(1);
  bad.out.end_definitions();
  {
    std::optional<FilesNoLongerThan> limit;
    if (rank_ == last_aggregator()) limit.emplace(rlim_t{256} << 10);
    bad.whole_step(2);
    bad.out.close();
    EXPECT_ERROR(session.wait(Level::durable), Errc::io, "bad.nc' cannot be completed");
    barrier();
  }
  EXPECT_ERROR(bad.out.wait(Level::durable), Errc::io, "bad.nc'");
  good.whole_step(3);
  good.out.close();
  session.close();
  EXPECT_EQ(others({"good.nc"}), std::vector<std::string>{});
}

TEST_F(Nodes, PublishNothingWhenARankOfAnotherEndsFewerSteps) {
  Session session(MPI_COMM_WORLD, with({}));
  Simple file(session, path("a.nc"));
  file.whole_step(1);
  if (rank_ != last_aggregator()) file.whole_step(2);
  file.out.close();
  EXPECT_ERROR(session.wait(Level::durable), Errc::invalid_state,
               "rank " + std::to_string(last_aggregator()) + " had not ended step 1");
  session.close();
  EXPECT_EQ(others(), std::vector<std::string>{});
}

TEST_F(Nodes, NameARankOfAnotherThatIsMissing) {
  move_to_memory();
  Session session(MPI_COMM_WORLD, with({{"pool.deadline", "2s"}}));
  Simple file(session, path("a.nc"));
  file.step(1);
  const std::string late = "rank " + std::to_string(last_aggregator());
  if (rank_ != last_aggregator()) file.out.end_step();
  EXPECT_ERROR(session.wait(Level::staged), Errc::timeout, late + " has not ended step 0");
  if (rank_ == last_aggregator()) file.out.end_step();
  if (rank_ != last_aggregator()) file.out.close();
  EXPECT_ERROR(session.wait(Level::durable), Errc::timeout, late + " has not closed it");
  if (rank_ == last_aggregator()) file.out.close();
  session.close();
  EXPECT_TRUE(exists("a.nc"));
}

// The same elements, put on two nodes and written by one of them or by a third.
TEST_F(Nodes, NameBothRanksOfAnOverlap) {
  Session session(MPI_COMM_WORLD, with({}));
  Output out = session.open(path("a.nc"), Format::cdf5);
  const Dimension x = out.define_dimension("x", 64);
  const bool puts = rank_ == 1 || rank_ == last_aggregator();
  const Variable v = out.define_variable("v", Type::float64, std::span(&x, 1), {Box{{16}, {puts ? 16U : 0U}}});
  out.begin_step();
  out.put(v, std::vector<double>(puts ? 16 : 0, 1.0));
  out.end_step();
  out.close();
  const auto error = thrown([&] { session.wait(Level::durable); });
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code(), Errc::overlap) << error->what();
  EXPECT_TRUE(says(error, "rank 1 ")) << error->what();
  EXPECT_TRUE(says(error, "rank " + std::to_string(last_aggregator()) + " ")) << error->what();
  session.close();
  EXPECT_EQ(others(), std::vector<std::string>{});
}

TEST_F(Nodes, MoveFarMoreThanTheirPoolsHold) {
  constexpr std::uint64_t per_rank = (1 << 20) / 8, steps = 6;
  Session session(MPI_COMM_WORLD, {{"pool.budget", "2MiB"}, {"pool.deadline", "30s"}, {"drain.request", "256KiB"}});
  Crossing one(session, path("one.nc"), per_rank), other(session, path("other.nc"), per_rank);
  for (std::uint64_t step = 0; step < steps; ++step) {
    one.step();
    other.step();
  }
  one.out.close();
  other.out.close();
  session.wait(Level::durable);
  EXPECT_LE(session.statistics().pool_high_water_bytes, 2U << 20);
  expect_values(session, path("one.nc"), steps);
  expect_values(session, path("other.nc"), steps);
  session.close();
}

// As a file has them: big-endian.
std::string all_values(std::uint64_t step, std::uint64_t elements) {
  std::string bytes;
  for (std::uint64_t i = 0; i < elements; ++i) {
    const auto word = std::bit_cast<std::uint64_t>(value_of(step, i));
    for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(word >> shift);
  }
  return bytes;
}

// No rank is in a call of the library, or of MPI, while nodes send each other what they write, and agree that it is complete.
TEST_F(Nodes, WriteAndPublishWhileTheProgramComputes) {
  constexpr std::uint64_t per_rank = 20'000;
  const auto comes_true = [](auto condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  };
  Session session(MPI_COMM_WORLD, with({{"exchange", "tcp"}}));
  Crossing file(session, path("a.nc"), per_rank);
  file.step();
  const std::string step = all_values(0, per_rank * static_cast<std::uint64_t>(size_));
  EXPECT_TRUE(comes_true([&] { return content(working_name()).find(step) != std::string::npos; })) << "the step is not written";
  barrier();
  file.out.close();
  EXPECT_TRUE(comes_true([&] { return exists("a.nc"); })) << "the file is not published";
  EXPECT_NE(content("a.nc").find(step), std::string::npos);
  session.close();
}

TEST_F(Nodes, WriteTheSameHoweverTheyExchangeBlocks) {
  for (const std::string over : {"tcp", "mpi"}) {
    Session session(MPI_COMM_WORLD, with({{"exchange", over}, {"drain.request", "64KiB"}}));
    Crossing file(session, path(over), 20'000);
    for (int step = 0; step < 3; ++step) file.step();
    file.out.close();
    session.close();
  }
  expect_same_files("tcp", "mpi");
}

// An exception ends the session of one aggregator; the others hear of it and do not wait for their deadline.
TEST_F(Nodes, HearThatTheAggregatorOfAnotherHasLeft) {
  const auto leave = [](Session) { throw std::runtime_error("of the application"); };
  Session session(MPI_COMM_WORLD, with({{"log.level", "off"}, {"pool.deadline", "50s"}}));
  std::optional<Simple> file;
  file.emplace(session, path("a.nc"));
  file->out.end_definitions();
  if (rank_ != last_aggregator()) {
    file->whole_step(1);
    EXPECT_ERROR(static_cast<void>(session.open_input(path("a.nc"), {.reading = Reading::written, .seconds = 40})), Errc::invalid_state,
                 "rank " + std::to_string(last_aggregator()) + " ");
  }
  EXPECT_THROW(leave(std::move(session)), std::runtime_error);
  barrier();
  file.reset();
  EXPECT_EQ(others(), std::vector<std::string>{});
}

// A rank that reads may need what only an aggregator can pass on, and that one has read already and waits outside of the library.
TEST_F(Nodes, LetARankReadWhenTheAggregatorsHaveRead) {
  Session session(MPI_COMM_WORLD, with({{"pool.deadline", "5s"}}));
  for (int i = 0; i < 20; ++i) {
    Crossing file(session, path(std::to_string(i)), 1000);
    file.step();
    // What is durable by all nodes, not only by this one, is in the file.
    EXPECT_EQ(session.open_input(path(std::to_string(i)), {.reading = Reading::written}).steps(), 1U);
    file.out.close();
    expect_values(session, path(std::to_string(i)), 1);
    barrier();
  }
  session.close();
}

}  // namespace

}  // namespace glean::test
