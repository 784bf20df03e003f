// SPDX-License-Identifier: BSD-3-Clause
//
// Files that appear only if a condition on their steps holds.
#include "ranks.hpp"

namespace glean::test {
namespace {

class PublishWhen : public Ranks {
 protected:
  // Steps with these values, and the name of the file; it is waited for.
  void write(Session& session, const std::string& name, const std::vector<double>& values) {
    Simple file(session, path(name));
    file.out.end_definitions();
    for (const double value : values) file.whole_step(value);
    file.out.close(Level::durable);
    MPI_Barrier(MPI_COMM_WORLD);
  }
};

TEST_F(PublishWhen, AFileAppearsIfItHoldsForAStep) {
  Session session(MPI_COMM_WORLD, with({{"publish_when", "max(record) > 5"}, {"analyse", "statistics"}}));
  write(session, "calm.nc", {1, 2, 3});
  write(session, "wild.nc", {1, 9, 3});
  session.close();

  EXPECT_EQ(others({"wild.nc", "wild.nc.statistics.csv"}), std::vector<std::string>{});
  EXPECT_TRUE(exists("wild.nc"));
}

// The mean of all ranks' values is looked at, not that of a node's.
TEST_F(PublishWhen, NumbersAreThoseOfAllNodes) {
  Session session(MPI_COMM_WORLD, with({{"publish_when", "record.mean == 1 and record.values == " + std::to_string(8 * size_)}}));
  write(session, "a.nc", {1});
  session.close();

  EXPECT_TRUE(exists("a.nc"));
}

TEST_F(PublishWhen, AnEarlierFileOfTheNameStays) {
  {
    Session session(MPI_COMM_WORLD, with({}));
    write(session, "a.nc", {7});
    session.close();
  }
  const std::string before = content("a.nc");
  MPI_Barrier(MPI_COMM_WORLD);
  Session session(MPI_COMM_WORLD, with({{"publish_when", "max(record) > 5"}}));
  write(session, "a.nc", {1});
  session.close();

  EXPECT_TRUE(content("a.nc") == before);
}

TEST_F(PublishWhen, WhatIsNotKnownIsPublished) {
  Session session(MPI_COMM_WORLD, with({{"publish_when", "max(recrod) > 5"}}));
  write(session, "a.nc", {1});
  session.close();

  EXPECT_TRUE(exists("a.nc"));
}

TEST_F(PublishWhen, FilesThatAreThereFromTheStartStay) {
  Session session(MPI_COMM_WORLD, with({{"publish_when", "max(record) > 5"}, {"publish", "in-place"}}));
  write(session, "a.nc", {1});
  session.close();

  EXPECT_TRUE(exists("a.nc"));
}

}  // namespace
}  // namespace glean::test
