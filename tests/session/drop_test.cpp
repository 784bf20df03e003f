// SPDX-License-Identifier: BSD-3-Clause
//
// Outputs that drop steps on several nodes: one node's pool is full while the others have room.
// Run with GLEAN_TOPOLOGY_RANKS_PER_NODE.
#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "nodes.hpp"

namespace glean::test {

namespace {

constexpr std::uint64_t budget_bytes = 2 << 20;

// Holds half of the last node's pool, with a step that is not ended: nothing of it is any other node's to write.
class Hog {
 public:
  Hog(Session& session, const std::string& path, int rank, int last_leader) : out_(session.open(path, Format::cdf5)) {
    int size = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const std::uint64_t length = static_cast<std::uint64_t>(size) * 4 * budget_bytes, held = budget_bytes / 2;
    const Dimension x = out_.define_dimension("x", length);
    const bool holds = rank == last_leader;
    const Box mine{{length - held}, {holds ? held : 0}};
    const Variable variable = out_.define_variable("v", Type::uint8, std::span(&x, 1), {mine});
    out_.begin_step();
    if (holds) out_.put(variable, std::vector<std::uint8_t>(held, 7));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  void let_go() {
    out_.end_step();
    out_.wait(Level::written);
    out_.close();
  }

 private:
  Output out_;
};

class Dropping : public Nodes {
 protected:
  static Settings settings(Settings more = {}) {
    more.insert({"pool.budget", std::to_string(budget_bytes)});
    more.insert({"log.level", "error"});
    return with(more);
  }
  [[nodiscard]] OutputStatus status(const Session& session, const std::string& name) const {
    const auto outputs = session.outputs();
    const auto found = std::find_if(outputs.begin(), outputs.end(), [&](const auto& each) { return each.path == path(name); });
    return found == outputs.end() ? OutputStatus{} : *found;
  }
  // A third of a pool in each step, and elements of which every node writes some.
  [[nodiscard]] std::uint64_t per_rank() const { return budget_bytes / 3 / 8 / static_cast<std::uint64_t>(ranks_per_node_); }

  // Steps 1 to 6, of which 2, 3 and 4 find the last node's pool full, or not.
  enum class Pool { full, empty };
  void six_steps(Session& session, Output& out, const std::function<void(double)>& step, Pool pool) {
    step(1);
    out.wait(Level::written);
    {
      std::optional<Hog> hog;
      if (pool == Pool::full) hog.emplace(session, path("hog.nc"), rank_, last_leader());
      for (const double value : {2.0, 3.0, 4.0}) {
        step(value);
        if (pool == Pool::empty) out.wait(Level::written);
      }
      if (hog) hog->let_go();
      out.wait(Level::written);
    }
    step(5);
    out.wait(Level::written);
    step(6);
    out.close();
    out.wait(Level::durable);
  }
  // The file that these steps alone make.
  template <class Make>
  void write_expected(const std::string& name, const std::vector<double>& values, Make make) {
    Session session(MPI_COMM_WORLD, settings());
    auto file = make(session, path(name));
    for (const double value : values) file.step(value);
    file.out().close();
    session.close();
  }
  template <class Make>
  void expect_drops(const std::string& kind, Make make) {
    write_expected(kind + "_kept.nc", {1, 5, 6}, make);
    write_expected(kind + "_all.nc", {1, 2, 3, 4, 5, 6}, make);
    for (const Pool pool : {Pool::full, Pool::empty}) {
      const bool full = pool == Pool::full;
      SCOPED_TRACE(full ? "one pool is full" : "there is room everywhere");
      Session session(MPI_COMM_WORLD, settings({{"full", "drop"}, {"report.file", path("report.json")}}));
      auto file = make(session, path("found.nc"));
      six_steps(session, file.out(), [&](double value) { file.step(value); }, pool);

      const OutputStatus found = status(session, "found.nc");
      EXPECT_EQ(found.state, OutputState::published);
      EXPECT_EQ(found.steps_dropped, full ? 3U : 0U);
      EXPECT_EQ(found.steps_ended, full ? 3U : 6U);
      EXPECT_EQ(found.steps_durable, full ? 3U : 6U);
      EXPECT_EQ(session.statistics().steps_dropped, full ? 3U : 0U);
      EXPECT_LE(session.statistics().pool_high_water_bytes, budget_bytes);
      session.close();
      EXPECT_EQ(session.statistics().steps_dropped, full ? 3U : 0U);
      expect_same_files("found.nc", kind + (full ? "_kept.nc" : "_all.nc"));
      if (rank_ != 0) continue;
      const auto report = nlohmann::json::parse(content("report.json"));
      EXPECT_EQ(report["ladder"]["steps_dropped"], full ? 3 : 0);
      for (const auto& output : report["outputs"]) {
        if (output["path"] != path("found.nc")) continue;
        EXPECT_EQ(output["steps"], full ? 3 : 6);
        EXPECT_EQ(output["steps_dropped"], full ? 3 : 0);
      }
    }
  }
};

// Each rank's part is its node's to write, with a variable that is put in the first step only.
struct OwnParts {
  OwnParts(Session& session, const std::string& path, std::uint64_t per_rank) : simple(session, path, per_rank) {}
  void step(double value) { simple.whole_step(value); }
  Output& out() { return simple.out; }
  Simple simple;
};

// Each rank's part is another node's to write.
struct OthersParts {
  OthersParts(Session& session, const std::string& path, std::uint64_t per_rank) : crossing(session, path, per_rank) {}
  void step(double value) {
    crossing.steps = static_cast<std::uint64_t>(value);
    crossing.step();
  }
  Output& out() { return crossing.out; }
  Crossing crossing;
};

TEST_F(Dropping, LeavesOutWholeStepsOnAllNodesWhereOneHasNoRoom) {
  expect_drops("own", [&](Session& session, const std::string& file) { return OwnParts(session, file, per_rank()); });
}

TEST_F(Dropping, LeavesOutWholeStepsThatNodesWriteForEachOther) {
  expect_drops("others", [&](Session& session, const std::string& file) { return OthersParts(session, file, per_rank()); });
}

// Ranks that look late know it as well: the places of outputs are used again and again meanwhile.
TEST_F(Dropping, LeavesOutAFileWithoutRecordsAsAWhole) {
  Session session(MPI_COMM_WORLD, settings({{"full", "drop"}}));
  const auto plot = [&](const std::string& name, std::uint64_t elements) {
    Output out = session.open(path(name), Format::cdf5);
    const Dimension x = out.define_dimension("x", static_cast<std::uint64_t>(size_) * elements);
    const Variable v = out.define_variable("v", Type::float64, std::span(&x, 1),
                                           {{{static_cast<std::uint64_t>(rank_) * elements}, {elements}}});
    out.begin_step();
    out.put(v, std::vector<double>(elements, 1.0));
    out.end_step();
    out.close();
    return out;
  };
  std::optional<Hog> hog(std::in_place, session, path("hog.nc"), rank_, last_leader());
  Output dropped = plot("plot.nc", per_rank());
  hog->let_go();
  for (int i = 0; i < 70; ++i) plot("small_" + std::to_string(i), 8);
  dropped.wait(Level::durable);
  EXPECT_EQ(status(session, "plot.nc").state, OutputState::dropped);
  EXPECT_EQ(status(session, "plot.nc").steps_dropped, 1U);
  EXPECT_EQ(status(session, "plot.nc").steps_ended, 0U);
  EXPECT_ERROR(static_cast<void>(session.open_input(path("plot.nc"))), Errc::not_found, "all of its steps were dropped");
  session.wait(Level::durable);
  barrier();
  EXPECT_FALSE(exists("plot.nc"));
  EXPECT_TRUE(exists("small_69"));
  EXPECT_GE(session.statistics().steps_dropped, 1U);
  // Of that name there can be a file.
  plot("plot.nc", 8).wait(Level::durable);
  EXPECT_EQ(session.open_input(path("plot.nc")).steps(), 0U);
  hog.reset();
  session.close();
  EXPECT_TRUE(exists("plot.nc"));
}

// Nothing that was captured of a dropped step is left behind, and steps that come too fast for the exchange are dropped alike.
TEST_F(Dropping, GoesOnForAsLongAsItTakesInPoolsThatAreTooSmall) {
  constexpr int steps = 200;
  const std::uint64_t elements = per_rank() / 2;
  std::uint64_t ended = 0;
  {
    Session session(MPI_COMM_WORLD, settings({{"full", "drop"}}));
    OthersParts file(session, path("fast.nc"), elements);
    for (int step = 0; step < steps; ++step) file.step(step);
    file.out().close();
    file.out().wait(Level::durable);
    const OutputStatus found = status(session, "fast.nc");
    EXPECT_EQ(found.steps_durable + found.steps_dropped, std::uint64_t{steps});
    EXPECT_LE(session.statistics().pool_high_water_bytes, budget_bytes);
    ended = found.steps_durable;
    session.close();
  }
  std::uint64_t least = ended, most = ended;
  MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  EXPECT_EQ(least, most);
  if (ended == 0) return;
  // Each step that is there is there as a whole.
  Session session(MPI_COMM_WORLD, settings());
  const Input in = session.open_input(path("fast.nc"));
  ASSERT_EQ(in.steps(), ended);
  double before = -1;
  for (std::uint64_t record = 0; record < ended; ++record) {
    const auto found = in.read<double>(in.find_variable("record"), record);
    const auto step = static_cast<std::uint64_t>(found[0] / 1e9);
    EXPECT_GT(static_cast<double>(step), before);
    before = static_cast<double>(step);
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < found.size(); ++i) wrong += found[i] == value_of(step, i) ? 0 : 1;
    EXPECT_EQ(wrong, 0U) << "in record " << record << ", step " << step;
  }
  session.close();
}

}  // namespace
}  // namespace glean::test
