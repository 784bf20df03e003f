// SPDX-License-Identifier: BSD-3-Clause
//
// One rank does not make the collective calls that the others make: it has thrown, has left, or is late. All ranks are told, by the
// deadline or at once, and no call hangs.
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "glean/glean.h"
#include "ranks.hpp"

namespace glean::test {

namespace {

class Broken : public Ranks {
 protected:
  void SetUp() override {
    Ranks::SetUp();
    move_to_memory();
    if (size_ < 3) GTEST_SKIP() << "needs three ranks";
  }
  [[nodiscard]] int odd_rank() const { return size_ - 2; }
  [[nodiscard]] bool is_odd_rank() const { return rank_ == odd_rank(); }
  [[nodiscard]] std::string name() const { return "rank " + std::to_string(odd_rank()); }

  // All ranks have the same error, and go on together.
  void expect_same(const std::optional<Error>& error) {
    ASSERT_TRUE(error.has_value());
    char first[1024] = {};
    std::string(error->what()).copy(first, sizeof first - 1);
    MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
    EXPECT_EQ(std::string(error->what()).substr(0, sizeof first - 1), first);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  static double seconds_of(const std::function<void()>& call) {
    const double begin = MPI_Wtime();
    call();
    return MPI_Wtime() - begin;
  }
};

struct Thrown : std::runtime_error {
  Thrown() : std::runtime_error("of the program") {}
};

// The program of case 14: one rank throws at a stage, catches it, and goes on with the next output.
TEST_F(Broken, WhatOneRankCatchesEndsTheCallsOfAllWhereverItWas) {
  for (int stage = 1; stage <= 6; ++stage) {
    SCOPED_TRACE(stage);
    Session session(MPI_COMM_WORLD, with({{"log.level", "off"}}));
    const auto throw_at = [&](int here) {
      if (here == stage && is_odd_rank()) throw Thrown();
    };
    const std::string file = path(std::to_string(stage));
    std::optional<Error> error;
    const double seconds = seconds_of([&] {
      try {
        Simple simple(session, file);
        throw_at(1);   // before the definitions end
        simple.step(1);
        throw_at(2);   // in a step
        simple.out.end_step();
        throw_at(3);   // before the close
        simple.out.close();
        throw_at(4);   // before the wait
        simple.out.wait(Level::durable);
        throw_at(5);   // one call is behind of the others
        session.wait(Level::durable);
        throw_at(6);   // all have made the same calls
      } catch (const Thrown&) {
      } catch (const Error& thrown) {
        error = thrown;
      }
      if (!error) error = thrown([&] { Simple(session, path("next")).out.end_definitions(); });
      const auto last = thrown([&] { session.close(); });
      if (!error) error = last;
    });
    EXPECT_LT(seconds, 30) << "the deadline is a minute";
    if (stage == 6) {
      EXPECT_FALSE(error) << error->what();
      continue;
    }
    expect_same(error);
    EXPECT_EQ(error->code(), Errc::invalid_state);
    EXPECT_TRUE(says(error, name() + " is in open of '" + path("next") + "'")) << error->what();
    EXPECT_TRUE(says(error, " where other ranks have called ")) << error->what();
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_EQ(exists(std::to_string(stage)), stage >= 4) << "what all ranks have closed is complete";
  }
}

TEST_F(Broken, ARankThatLeavesByAnExceptionIsNoticedAtOnce) {
  std::optional<Error> error;
  const double seconds = seconds_of([&] {
    try {
      Session session(MPI_COMM_WORLD, with({{"log.level", "off"}}));
      Simple closed(session, path("closed")), open(session, path("open"));
      closed.whole_step(1);
      closed.out.close();
      open.step(1);
      if (is_odd_rank()) throw Thrown();
      open.out.end_step();
      open.out.close();
      error = thrown([&] { session.close(); });
    } catch (const Thrown&) {
    }
  });
  EXPECT_LT(seconds, 30);
  if (!is_odd_rank()) {
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), Errc::invalid_state);
    EXPECT_TRUE(says(error, name() + " has left the session")) << error->what();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(exists("closed"));
  EXPECT_FALSE(exists("open"));
}

TEST_F(Broken, ARankThatComesLateIsToldTheSame) {
  Session session(MPI_COMM_WORLD, with({{"pool.deadline", "1s"}, {"log.level", "off"}}));
  Simple simple(session, path("a"));
  if (is_odd_rank()) std::this_thread::sleep_for(std::chrono::seconds(3));
  std::optional<Error> error;
  const double seconds = seconds_of([&] { error = thrown([&] { simple.out.end_definitions(); }); });
  EXPECT_LT(seconds, is_odd_rank() ? 0.9 : 2.8);
  expect_same(error);
  EXPECT_EQ(error->code(), Errc::timeout);
  EXPECT_TRUE(says(error, "waited 1s in end_definitions of '" + path("a") + "' for " + name() + ": ")) << error->what();
  EXPECT_TRUE(says(error, name() + " is in no collective call (")) << error->what();
  // The session stays broken, and ends without waiting for anything.
  expect_same(thrown([&] { static_cast<void>(session.open(path("b"), Format::cdf5)); }));
  expect_same(thrown([&] { session.wait(Level::written); }));
  expect_same(thrown([&] { session.close(); }));
}

TEST_F(Broken, WhatAllRanksHaveEndedIsCompletedAllTheSame) {
  Session session(MPI_COMM_WORLD, with({{"pool.deadline", "500ms"}, {"log.level", "off"}}));
  Simple simple(session, path("a"));
  simple.whole_step(1);
  if (!is_odd_rank()) simple.whole_step(2);
  MPI_Barrier(MPI_COMM_WORLD);
  std::optional<Simple> next(std::in_place, session, path("next"));
  if (is_odd_rank()) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_ERROR(next->out.end_definitions(), Errc::timeout, "end_definitions of '" + path("next"));
  EXPECT_TRUE(thrown([&] { session.close(); }));
  MPI_Barrier(MPI_COMM_WORLD);
  Session reader(MPI_COMM_WORLD, with({}));
  EXPECT_EQ(reader.open_input(path("a")).steps(), 1U);
  reader.close();
  EXPECT_EQ(others({"a"}), std::vector<std::string>{});
}

// Before there is a session. The communicator is of no use afterwards.
TEST_F(Broken, ARankThatDoesNotComeToTheConstructorIsNamedAndToldWhenItComes) {
  for (const bool from_c : {false, true}) {
    SCOPED_TRACE(from_c);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (is_odd_rank()) std::this_thread::sleep_for(std::chrono::seconds(3));
    std::string message;
    const double seconds = seconds_of([&] {
      if (from_c) {
        const glean_setting settings[] = {{"pool.deadline", "1s"}, {"pool.budget", "16MiB"}};
        std::vector<char> text(1000);
        glean_session* session = nullptr;
        EXPECT_EQ(glean_session_open(comm, settings, 2, &session, text.data(), text.size()), GLEAN_TIMEOUT);
        message = text.data();
      } else {
        const auto error = thrown([&] { Session(comm, with({{"pool.deadline", "1s"}})); });
        ASSERT_TRUE(error);
        EXPECT_EQ(error->code(), Errc::timeout);
        message = error->what();
      }
    });
    EXPECT_LT(seconds, is_odd_rank() ? 0.9 : 2.8);
    const char* wanted = is_odd_rank() ? " have waited in the constructor of the session for this rank, and given up"
                                    : "waited 1s in the constructor of the session for ";
    EXPECT_NE(message.find(wanted), std::string::npos) << message;
    if (!is_odd_rank()) {
      EXPECT_NE(message.find(name() + ": on this node ranks 0, 1, 3 have come"), std::string::npos) << message;
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  Session(MPI_COMM_WORLD, with({})).close();   // of another communicator one can be made
}

// PnetCDF's own calls cannot be ended. So no rank begins them before all have come.
TEST_F(Broken, ARankThatIsLateEndsCallsThatPassThrough) {
  for (int stage = 1; stage <= 5; ++stage) {
    const char* mode = stage % 2 != 0 ? "passthrough" : "collective";   // one code
    SCOPED_TRACE(stage);
    Session session(MPI_COMM_WORLD, with({{"mode", mode}, {"pool.deadline", "500ms"}, {"log.level", "off"}}));
    std::optional<Simple> simple(std::in_place, session, path("a"));
    const char* calls[] = {"end_definitions of '", "end_step of '", "wait of '", "close of '", "Session::close for "};
    double begin = 0;
    const auto late_at = [&](int here) {
      if (here == stage && is_odd_rank()) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
      if (here == stage) begin = MPI_Wtime();
    };
    const auto error = thrown([&] {
      late_at(1);
      simple->out.end_definitions();
      simple->step(1);
      late_at(2);
      simple->out.end_step();
      late_at(3);
      simple->out.wait(Level::durable);
      late_at(4);
      simple->out.close();
      late_at(5);
      session.close();
    });
    EXPECT_LT(MPI_Wtime() - begin, is_odd_rank() ? 0.4 : 1.4);
    expect_same(error);
    EXPECT_EQ(error->code(), Errc::timeout);
    EXPECT_TRUE(says(error, std::string("waited 0.5s in ") + calls[stage - 1])) << error->what();
    EXPECT_TRUE(says(error, "for " + name() + ": ")) << error->what();
    EXPECT_TRUE(says(error, name() + " is in no collective call (")) << error->what();
    // Only the definitions need all ranks for what comes later.
    simple.reset();
    const auto last = thrown([&] { session.close(); });
    EXPECT_EQ(last.has_value(), stage == 1);
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_EQ(exists("a"), stage == 5);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == 0) std::filesystem::remove(path("a"));
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST_F(Broken, ARankThatLeavesByAnExceptionEndsCallsThatPassThrough) {
  std::optional<Error> error;
  const double seconds = seconds_of([&] {
    try {
      Session session(MPI_COMM_WORLD, with({{"mode", "passthrough"}, {"log.level", "off"}}));
      Simple simple(session, path("a"));
      simple.step(1);
      if (is_odd_rank()) throw Thrown();
      error = thrown([&] { simple.out.end_step(); });
      EXPECT_TRUE(thrown([&] { session.close(); }));
    } catch (const Thrown&) {
    }
  });
  EXPECT_LT(seconds, 30) << "the deadline is a minute";
  if (!is_odd_rank()) {
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), Errc::invalid_state);
    EXPECT_TRUE(says(error, name() + " has left the session")) << error->what();
  }
}

// From C, where the ranks agree on the arguments first.
TEST_F(Broken, ARankThatComesLateEndsTheCallsOfCToo) {
  const glean_setting settings[] = {{"pool.deadline", "1s"}, {"pool.budget", "16MiB"}, {"log.level", "off"}};
  glean_session* session = nullptr;
  ASSERT_EQ(glean_session_open(MPI_COMM_WORLD, settings, 3, &session, nullptr, 0), GLEAN_OK);
  if (is_odd_rank()) std::this_thread::sleep_for(std::chrono::seconds(3));
  EXPECT_EQ(glean_session_wait(session, GLEAN_WRITTEN, -1), GLEAN_TIMEOUT);
  EXPECT_NE(std::string(glean_session_message(session)).find("for " + name() + ": "), std::string::npos) << glean_session_message(session);
  EXPECT_EQ(glean_session_close(session), GLEAN_TIMEOUT);
  glean_session_free(session);
}

// --- of several nodes: other tests are for one

TEST_F(Broken, ARankOfAnotherNodeThatIsMissingEndsTheCallsOfBothNodes) {
  const char* per_node = std::getenv("GLEAN_TOPOLOGY_RANKS_PER_NODE");
  if (per_node == nullptr) GTEST_SKIP() << "needs several nodes";
  const int of_a_node = std::atoi(per_node), node = rank_ / of_a_node, its_node = odd_rank() / of_a_node;
  for (const char* mode : {"threaded", "passthrough"}) {
    SCOPED_TRACE(mode);
    Session session(MPI_COMM_WORLD, with({{"mode", mode}, {"pool.deadline", "500ms"}, {"log.level", "off"}}));
    Simple simple(session, path("a"));
    if (is_odd_rank()) std::this_thread::sleep_for(std::chrono::seconds(4));
    std::optional<Error> error;
    const double seconds = seconds_of([&] { error = thrown([&] { simple.out.end_definitions(); }); });
    EXPECT_LT(seconds, is_odd_rank() ? 0.4 : 3.8);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), Errc::timeout);
    EXPECT_TRUE(says(error, "' for " + (node == its_node ? name() : "a rank of another node"))) << error->what();
    EXPECT_TRUE(thrown([&] { session.close(); }));
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

// --- waiting

// A rank that waits lets its messages go on, as MPI does where it waits: others may need them to come.
TEST_F(Broken, AWaitLetsMessagesOfTheProgramGoOn) {
  Session session(MPI_COMM_WORLD, with({{"pool.deadline", "20s"}}));
  if (is_odd_rank()) std::this_thread::sleep_for(std::chrono::milliseconds(200));   // the others wait by then
  int mine = rank_, all = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);   // goes on in calls of MPI only
  if (is_odd_rank()) MPI_Wait(&request, MPI_STATUS_IGNORE);
  session.wait(Level::written);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(all, size_ * (size_ - 1) / 2);
  session.close();
}

TEST_F(Broken, AWaitForSecondsEndsOnAllRanksAlikeAndCanBeRepeated) {
  Session session(MPI_COMM_WORLD, with({}));
  Simple simple(session, path("a"));
  simple.step(1);
  if (!is_odd_rank()) simple.out.end_step();
  std::optional<Error> error;
  if (is_odd_rank()) std::this_thread::sleep_for(std::chrono::seconds(3));
  double seconds = seconds_of([&] { error = thrown([&] { session.wait(Level::durable, 1); }); });
  EXPECT_LT(seconds, is_odd_rank() ? 0.9 : 2.8);
  expect_same(error);
  EXPECT_EQ(error->code(), Errc::timeout);
  EXPECT_TRUE(says(error, "waited 1s in Session::wait for " + name() + ": ")) << error->what();

  seconds = seconds_of([&] { error = thrown([&] { session.wait(Level::durable, 1); }); });   // all are there now
  EXPECT_LT(seconds, 10);
  expect_same(error);
  EXPECT_TRUE(says(error, name() + " has not ended step 0")) << error->what();
  if (is_odd_rank()) simple.out.end_step();
  simple.out.wait(Level::durable, 30);
  simple.out.close();
  session.close();
  EXPECT_TRUE(exists("a"));
}

TEST_F(Broken, ASessionWhoseCloseHasTimedOutIsClosedLater) {
  Session session(MPI_COMM_WORLD, with({{"pool.deadline", "500ms"}}));
  Simple simple(session, path("a"));
  simple.whole_step(1);
  simple.out.close();
  if (is_odd_rank()) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  const auto error = thrown([&] { session.close(); });
  expect_same(error);
  EXPECT_EQ(error->code(), Errc::timeout);
  EXPECT_TRUE(says(error, "in Session::close for " + name() + ": ")) << error->what();
  session.close();
  EXPECT_TRUE(exists("a"));
}

}  // namespace

}  // namespace glean::test
