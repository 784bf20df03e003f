// SPDX-License-Identifier: BSD-3-Clause
//
// Sessions on all kinds of communicators, several at once and one after another, and what ends them.
#include <unistd.h>

#include "ranks.hpp"

namespace glean::test {

namespace {

class Sessions : public Ranks {
 protected:
  static std::size_t pools() {
    std::size_t found = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
      const std::string prefix = "glean." + std::to_string(getuid()) + "." + std::to_string(getpid()) + ".";
      found += entry.path().filename().string().starts_with(prefix) ? 1 : 0;
    }
    return found;
  }
};

void write_alone(Session& session, const std::string& path, MPI_Comm comm, double value) {
  int rank = 0, size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  Output out = session.open(path, Format::cdf2);
  const Dimension x = out.define_dimension("x", static_cast<std::uint64_t>(size));
  const Variable v = out.define_variable("v", Type::float64, std::span(&x, 1), {Box{{static_cast<std::uint64_t>(rank)}, {1}}});
  out.begin_step();
  out.put(v, std::vector<double>{value});
  out.end_step();
  out.close();
}

TEST_F(Sessions, WorkOnPartsOfAllRanksAtTheSameTime) {
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank_ % 2, -rank_, &part);   // in reversed order
  const std::string name = "part" + std::to_string(rank_ % 2);
  Session session(part, with({}));
  write_alone(session, path(name), part, 1.5);
  session.close();
  MPI_Comm_free(&part);
  EXPECT_TRUE(exists(name));
}

TEST_F(Sessions, WorkOnOneRankWhileTheOthersDoSomethingElse) {
  if (rank_ == 0) {
    Session session(MPI_COMM_SELF, with({}));
    write_alone(session, path("alone"), MPI_COMM_SELF, 1.5);
    session.close();
    EXPECT_TRUE(exists("alone"));
  }
}

TEST_F(Sessions, OutliveTheCommunicatorThatTheyWereMadeFrom) {
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  Session session(own, with({}));
  MPI_Comm_free(&own);
  write_alone(session, path("a"), MPI_COMM_WORLD, 1.5);
  session.close();
  EXPECT_TRUE(exists("a"));
}

TEST_F(Sessions, AreSeveralAtOnceAndOneAfterAnother) {
  for (int i = 0; i < 5; ++i) {
    Session first(MPI_COMM_WORLD, with({})), second(MPI_COMM_WORLD, with({}));
    // The same name in both is the program's risk, but nothing is mixed up.
    write_alone(first, path("same"), MPI_COMM_WORLD, 1.5);
    write_alone(second, path("same"), MPI_COMM_WORLD, 2.5);
    write_alone(first, path("a" + std::to_string(i)), MPI_COMM_WORLD, 1.5);
    write_alone(second, path("b" + std::to_string(i)), MPI_COMM_WORLD, 1.5);
    second.close();
    first.close();
    EXPECT_EQ(content("a" + std::to_string(i)), content("b" + std::to_string(i)));
    EXPECT_TRUE(exists("same"));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  EXPECT_EQ(pools(), 0U);
}

TEST_F(Sessions, GiveTheirPoolBackWhenTheyAreClosed) {
  Session session(MPI_COMM_WORLD, with({}));
  const char* ranks_per_node = std::getenv("GLEAN_TOPOLOGY_RANKS_PER_NODE");
  EXPECT_EQ(pools(), rank_ % (ranks_per_node == nullptr ? size_ : std::atoi(ranks_per_node)) == 0 ? 1U : 0U);
  const Statistics before = session.statistics();
  session.close();
  EXPECT_EQ(pools(), 0U);
  std::ifstream maps("/proc/self/maps");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(maps), {}).find("/dev/shm/glean."), std::string::npos);
  EXPECT_EQ(before.pool_budget_bytes, 16U << 20);
  EXPECT_EQ(session.statistics().pool_budget_bytes, 16U << 20);
  EXPECT_GT(session.statistics().pool_high_water_bytes, 0U);
}

TEST_F(Sessions, CompleteTheirOutputsWhenTheyAreReplaced) {
  Session session(MPI_COMM_WORLD, with({}));
  write_alone(session, path("a"), MPI_COMM_WORLD, 1.5);
  session = Session(MPI_COMM_WORLD, with({}));
  EXPECT_TRUE(exists("a"));
  Session other = std::move(session);
  EXPECT_ERROR(session.close(), Errc::invalid_state, "moved from");
  write_alone(other, path("b"), MPI_COMM_WORLD, 1.5);
  other.close();
  EXPECT_TRUE(exists("b"));
}

TEST_F(Sessions, RefuseWhatIsNoCommunicatorOfOneGroup) {
  EXPECT_ERROR(Session(MPI_COMM_NULL, with({})), Errc::invalid_argument, "MPI_COMM_NULL");
  if (size_ < 2) return;
  MPI_Comm half = MPI_COMM_NULL, between = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank_ % 2, rank_, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank_ % 2, 7, &between);
  EXPECT_ERROR(Session(between, with({})), Errc::invalid_argument, "between two");
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

// An exception of one rank alone: its session must not call the others.
TEST_F(Sessions, AreLeftByAnExceptionWithoutWaitingForTheOthers) {
  int order = 0;
  std::optional<Session> others_session;
  try {
    Session session(MPI_COMM_WORLD, with({{"log.level", "off"}, {"pool.deadline", "2s"}}));
    write_alone(session, path("a"), MPI_COMM_WORLD, 1.5);
    session.wait(Level::durable);
    if (rank_ == size_ - 1) throw std::runtime_error("of the application");
    others_session.emplace(std::move(session));
  } catch (const std::runtime_error&) {
    order = 1;
  }
  MPI_Barrier(MPI_COMM_WORLD);   // would not be reached
  EXPECT_EQ(order, rank_ == size_ - 1 ? 1 : 0);
  EXPECT_TRUE(exists("a"));
  try {
    if (others_session) {
      Session left = std::move(*others_session);
      throw std::runtime_error("as well");
    }
  } catch (const std::runtime_error&) {
  }
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(pools(), 0U);
}

}  // namespace

}  // namespace glean::test
