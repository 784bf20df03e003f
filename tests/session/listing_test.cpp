// SPDX-License-Identifier: BSD-3-Clause
//
// What the list of outputs says of each.
#include <algorithm>

#include "ranks.hpp"

namespace glean::test {

namespace {

class Listing : public Ranks {
 protected:
  [[nodiscard]] int last() const { return size_ - 1; }

  // The newest of that name.
  OutputStatus status(const Session& session, const std::string& name) {
    const auto all = session.outputs();
    const auto found = std::find_if(all.rbegin(), all.rend(), [&](const auto& one) { return one.path == path(name); });
    if (found != all.rend()) return *found;
    ADD_FAILURE() << name << " is not in the list";
    return {};
  }
};

TEST_F(Listing, TellsEachRankOfItsNodeWhatATriggerHasToSay) {
  Session session(MPI_COMM_WORLD, with({{"trigger", "record.values > 0"}, {"trigger_tell", "look"}}));
  EXPECT_TRUE(session.poll_messages().empty());
  Simple file(session, path("a.nc"));
  file.out.end_definitions();
  file.whole_step(1);
  file.whole_step(2);
  file.out.close();
  session.wait(Level::durable);

  const std::vector<Message> messages = session.poll_messages();

  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[1].text, "look");
  EXPECT_EQ(messages[1].output, path("a.nc"));
  EXPECT_EQ(messages[1].step, 1U);
  EXPECT_TRUE(session.poll_messages().empty());
  session.close();
}

TEST_F(Listing, FollowsAnOutputToItsEnd) {
  Session session(MPI_COMM_WORLD, with({}));
  Simple file(session, path("a.nc"));
  EXPECT_TRUE(session.outputs().empty());   // nothing is there before its definitions have ended
  file.out.end_definitions();
  EXPECT_EQ(status(session, "a.nc").state, OutputState::open);

  file.whole_step(1);
  file.whole_step(2);
  file.out.wait(Level::written);

  OutputStatus now = status(session, "a.nc");
  EXPECT_EQ(now.state, OutputState::open);
  EXPECT_EQ(now.steps_ended, 2U);
  EXPECT_EQ(now.steps_staged, 2U);
  EXPECT_EQ(now.steps_written, 2U);
  EXPECT_EQ(now.steps_durable, 0U);
  MPI_Barrier(MPI_COMM_WORLD);   // a rank that waits for more gets more for all
  file.out.wait(Level::durable);
  EXPECT_EQ(status(session, "a.nc").steps_durable, 2U);
  MPI_Barrier(MPI_COMM_WORLD);

  if (rank_ != last()) file.out.close();
  if (rank_ != last()) {
    EXPECT_EQ(status(session, "a.nc").state, OutputState::draining);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_ == last()) file.out.close();
  session.wait(Level::durable);
  for (int times = 0; times < 2; ++times) {
    now = status(session, "a.nc");
    EXPECT_EQ(session.outputs().size(), 1U);
    EXPECT_EQ(now.state, OutputState::published);
    EXPECT_EQ(now.steps_ended, 2U);
    EXPECT_EQ(now.steps_durable, 2U);
    EXPECT_EQ(now.error, "");
    session.close();   // the list stays
  }
}

TEST_F(Listing, SaysWhatHasFailedAndWhy) {
  for (const char* mode : {"threaded", "collective", "passthrough"}) {
    SCOPED_TRACE(mode);
    Session session(MPI_COMM_WORLD, with({{"mode", mode}}));
    Simple file(session, path("a.nc"));
    file.step(1);
    if (rank_ == last()) {
      EXPECT_ERROR(file.out.put(file.record, std::vector<double>(3)), Errc::invalid_argument, "shape mismatch");
    }
    file.out.end_step();
    EXPECT_ERROR(file.out.wait(Level::written), Errc::invalid_argument, "shape mismatch");
    for (int times = 0; times < 3; ++times) {
      const OutputStatus now = status(session, "a.nc");
      EXPECT_EQ(now.state, OutputState::failed) << times;
      EXPECT_NE(now.error.find("shape mismatch"), std::string::npos) << now.error;
      if (times == 0) file.out.close();
      if (times == 1) session.close();
    }
    EXPECT_EQ(session.outputs().size(), 1U);
  }
}

TEST_F(Listing, SaysWhatWasGivenUp) {
  for (const char* mode : {"threaded", "collective", "passthrough"}) {
    SCOPED_TRACE(mode);
    Session session(MPI_COMM_WORLD, with({{"mode", mode}}));
    {
      Simple file(session, path("a.nc"));
      file.whole_step(1);
    }
    EXPECT_EQ(status(session, "a.nc").state, OutputState::abandoned);
    Simple open(session, path("b.nc"));
    open.whole_step(1);
    Simple good(session, path("c.nc"));
    good.whole_step(1);
    good.out.close();
    session.close();
    EXPECT_EQ(session.outputs().size(), 3U);
    EXPECT_EQ(status(session, "a.nc").state, OutputState::abandoned);
    EXPECT_EQ(status(session, "b.nc").state, OutputState::abandoned);
    EXPECT_EQ(status(session, "b.nc").steps_ended, 1U);
    EXPECT_EQ(status(session, "c.nc").state, OutputState::published);
    EXPECT_EQ(status(session, "c.nc").steps_durable, 1U);
  }
}

TEST_F(Listing, ForgetsTheOldestOfVeryManyButNotWhatHasFailed) {
  Session session(MPI_COMM_WORLD, with({}));
  {
    Simple bad(session, path("bad.nc"));
    bad.step(1);
    bad.out.put(bad.record, std::vector<double>(bad.elements, 2));
    bad.out.end_step();
    bad.out.close();
  }
  EXPECT_ERROR(session.wait(Level::durable), Errc::overlap, "bad.nc'");
  for (int i = 0; i < 300; ++i) {
    Output out = session.open(path(std::to_string(i)), Format::cdf5);
    out.close();
  }
  session.close();

  const auto all = session.outputs();
  EXPECT_EQ(all.size(), 256U);
  EXPECT_EQ(all.front().path, path("bad.nc"));
  EXPECT_EQ(all.front().state, OutputState::failed);
  EXPECT_EQ(all.back().path, path("299"));
  for (auto one = all.begin() + 1; one != all.end(); ++one) {
    EXPECT_EQ(one->state, OutputState::published) << one->path << ": " << one->error;
  }
}

}  // namespace

}  // namespace glean::test
