// SPDX-License-Identifier: BSD-3-Clause
//
// What a call has told all ranks, no later call tells again.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ranks.hpp"

namespace glean::test {

namespace {

class Told : public Ranks {};

void overlap(Simple& file) {
  file.step(1.25);
  file.out.put(file.record, std::vector<double>(file.elements, 2));
  file.out.end_step();
}

struct Way {
  const char* name;
  std::map<std::string, std::string> settings;
  Errc code;
  std::function<void(Session&, const std::string&)> close;   // throws on all ranks
};

std::vector<Way> ways() {
  const auto in_step = [](Session& session, const std::string& path) {
    Simple file(session, path);
    file.step(1);
    file.out.close();
  };
  const auto with_overlap = [](Session& session, const std::string& path) {
    Simple file(session, path);
    overlap(file);
    file.out.close();
  };
  const auto with_overlap_at = [](Session& session, const std::string& path) {
    Simple file(session, path);
    overlap(file);
    file.out.close(Level::durable);
  };
  const auto refused_put = [](Session& session, const std::string& path) {
    Simple file(session, path);
    file.step(1);
    file.out.fail(Error(Errc::unsupported, "it has not converged"));
    file.out.end_step();
    file.out.close(Level::durable);
  };
  const auto refused_definition = [](Session& session, const std::string& path) {
    Simple file(session, path);
    file.out.fail(Error(Errc::unsupported, "a type of its own"));
    file.out.close();
  };
  std::vector<Way> all{{"in a step", {}, Errc::invalid_state, in_step},
                       {"in a step, durable", {{"close", "durable"}}, Errc::invalid_state, in_step},
                       {"overlap, durable", {{"close", "durable"}}, Errc::overlap, with_overlap},
                       {"overlap, close(durable)", {}, Errc::overlap, with_overlap_at},
                       {"a put", {}, Errc::unsupported, refused_put},
                       {"a definition", {}, Errc::unsupported, refused_definition}};
  for (const char* mode : {"passthrough", "collective"}) {
    all.push_back({"in a step", {{"mode", mode}}, Errc::invalid_state, in_step});
    all.push_back({"a put", {{"mode", mode}}, Errc::unsupported, refused_put});
    all.push_back({"a definition", {{"mode", mode}}, Errc::unsupported, refused_definition});
  }
  return all;
}

TEST_F(Told, WhatCloseHasThrownOnAllRanksTheNextOutputDoesNot) {
  for (const Way& way : ways()) {
    const std::string what = way.name + std::string(way.settings.contains("mode") ? " in " + way.settings.at("mode") : "");
    Session session(MPI_COMM_WORLD, with(way.settings));
    const auto told = thrown([&] { way.close(session, path("a.nc")); });
    ASSERT_TRUE(told.has_value()) << what;
    EXPECT_EQ(told->code(), way.code) << what << ": " << told->what();
    const auto again = thrown([&] {
      for (int i = 0; i < 3; ++i) {
        Simple next(session, path("b.nc"));
        next.whole_step(1);
        next.out.close(Level::durable);
      }
      session.wait(Level::durable);
      session.close();
    });
    EXPECT_FALSE(again.has_value()) << what << ": " << again->what();
    if (again) static_cast<void>(thrown([&] { session.close(); }));
    EXPECT_EQ(others({"b.nc"}), std::vector<std::string>{}) << what;
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

// One rank alone has heard of it: the others have to.
TEST_F(Told, WhatCloseHasThrownOnOneRankTheNextWaitTellsAll) {
  if (size_ == 1) GTEST_SKIP() << "there is one rank";
  Session session(MPI_COMM_WORLD, with({}));
  Simple file(session, path("a.nc"));
  file.step(1);
  if (rank_ + 1 != size_) file.out.end_step();
  const auto told = thrown([&] { file.out.close(); });
  EXPECT_EQ(told.has_value(), rank_ + 1 == size_);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_ERROR(session.wait(Level::durable), Errc::invalid_state, "rank " + std::to_string(size_ - 1));
  Simple next(session, path("b.nc"));
  next.whole_step(1);
  next.out.close();
  session.close();
  EXPECT_EQ(others({"b.nc"}), std::vector<std::string>{});
}

// The loss of another output is not hidden behind it.
TEST_F(Told, TheLossOfAnotherOutputIsToldAllTheSame) {
  Session session(MPI_COMM_WORLD, with({}));
  Simple lost(session, path("lost.nc")), file(session, path("a.nc"));
  file.step(1);
  overlap(lost);
  lost.out.close();
  EXPECT_ERROR(file.out.close(), Errc::invalid_state, "close of");
  const auto error = thrown([&] { session.wait(Level::durable); });
  EXPECT_TRUE(says(error, "lost.nc'") && !says(error, "a.nc'")) << (error ? error->what() : "nothing");
  EXPECT_ERROR(file.out.wait(Level::durable), Errc::invalid_state, "a step is open");   // of the output itself, as often as it is asked
  session.close();
}

}  // namespace
}  // namespace glean::test
