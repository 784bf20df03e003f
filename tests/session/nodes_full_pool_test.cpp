// SPDX-License-Identifier: BSD-3-Clause
//
// Sessions of several nodes whose pools are full: what a put does then makes the same file, with the same checksums. Run with
// GLEAN_TOPOLOGY_RANKS_PER_NODE.
#include "nodes.hpp"

namespace glean::test {

namespace {

// Columns of each rank, so that every node writes some of what every rank puts, and in a step twice what the pools hold.
struct Columns {
  static constexpr std::uint64_t rows = 256, per_rank = 2048;

  Columns(Session& session, const std::string& path) : out(session.open(path, Format::cdf5)) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    width = per_rank * static_cast<std::uint64_t>(size);
    const Dimension dimensions[] = {out.define_unlimited("t"), out.define_dimension("y", rows), out.define_dimension("x", width)};
    first = per_rank * static_cast<std::uint64_t>(rank);
    record = out.define_variable("record", Type::float64, dimensions, {Box{{0, first}, {rows, per_rank}}});
  }
  void step() {
    std::vector<double> data;
    for (std::uint64_t y = 0; y < rows; ++y) {
      for (std::uint64_t x = first; x < first + per_rank; ++x) data.push_back(value_of(steps, y * width + x));
    }
    ++steps;
    out.begin_step();
    out.put(record, data);
    out.end_step();
  }
  Output out;
  Variable record;
  int rank = 0, size = 1;
  std::uint64_t width = 0, first = 0, steps = 0;
};

class NodesWithFullPools : public Nodes {
 protected:
  Settings settings(const std::string& policy) {
    if (rank_ == 0) std::filesystem::create_directory(path("spill"));
    barrier();
    return {{"full", policy}, {"spill.directory", path("spill")}, {"spill.budget", "64MiB"}, {"pool.budget", "4MiB"},
            {"pool.deadline", "60s"}, {"drain.request", "256KiB"}, {"checksums", "true"}};
  }
  // The exit status of `glean verify`, on rank 0; elsewhere, and where there is no such command, `expected`.
  int verify(const std::string& name, int expected) const {
    const char* command = std::getenv("COMMAND");
    if (rank_ != 0 || command == nullptr) return expected;
    return WEXITSTATUS(std::system(("env -i " + std::string(command) + " verify --quiet " + path(name) + " >&2").c_str()));
  }
  void flip_a_byte(const std::string& name, std::uint64_t at) const {
    if (rank_ != 0) return;
    std::fstream file(path(name), std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
  }
  std::uint64_t sum(std::uint64_t mine) const {
    MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return mine;
  }
  void write_and_expect(Session& session, const std::string& name) {
    constexpr std::uint64_t steps = 2;
    Columns file(session, path(name));
    while (file.steps < steps) file.step();
    file.out.close();
    session.wait(Level::durable);
    EXPECT_LE(session.statistics().pool_high_water_bytes, 4U << 20);
    expect_values(session, path(name), steps);
  }
};

class FullPoolPoliciesOnNodes : public NodesWithFullPools, public testing::WithParamInterface<const char*> {};

TEST_P(FullPoolPoliciesOnNodes, MakeTheSameFile) {
  const std::string policy = GetParam();
  Session session(MPI_COMM_WORLD, settings(policy));

  write_and_expect(session, "a.nc");

  const Statistics mine = session.statistics();
  EXPECT_EQ(sum(mine.spilled_bytes) > 0, policy == "spill");
  const std::uint64_t written = sum(mine.synchronous_bytes);
  EXPECT_EQ(written > 0, policy == "synchronous");
  EXPECT_EQ(sum(mine.steps_dropped), 0U);   // nodes that may drop would each drop others: they wait
  session.close();
  barrier();
  EXPECT_TRUE(std::filesystem::is_empty(path("spill"))) << "spill files go with the session";
  EXPECT_EQ(verify("a.nc", 0), 0);
  for (const std::uint64_t part : {1, 3}) {   // whichever node has written it
    const std::uint64_t at = part * std::filesystem::file_size(path("a.nc")) / 4;
    flip_a_byte("a.nc", at);
    EXPECT_EQ(verify("a.nc", 1), 1) << at;
    flip_a_byte("a.nc", at);
  }
}
INSTANTIATE_TEST_SUITE_P(Each, FullPoolPoliciesOnNodes, testing::Values("block", "spill", "synchronous", "drop"),
                         [](const auto& test) { return std::string(test.param); });

// Its puts wait from then on; those of no other rank do.
TEST_F(NodesWithFullPools, GoOnWhereTheDiskToSpillOnFailsForARank) {
  Settings some = settings("spill");
  some["log.level"] = "off";
  Session session(MPI_COMM_WORLD, some);
  std::optional<FilesNoLongerThan> limit;
  if (rank_ == size_ - 1) limit.emplace(rlim_t{1} << 20);

  write_and_expect(session, "a.nc");

  const std::uint64_t spilled = session.statistics().spilled_bytes;
  EXPECT_GT(sum(spilled), 0U);
  if (rank_ == size_ - 1) EXPECT_LT(spilled, 1U << 20);
  session.close();
}

}  // namespace

}  // namespace glean::test
