// SPDX-License-Identifier: BSD-3-Clause
//
// What tests on several nodes have in common: run with GLEAN_TOPOLOGY_RANKS_PER_NODE.
#pragma once

#include <sys/resource.h>

#include <csignal>

#include "ranks.hpp"

namespace glean::test {

class Nodes : public Ranks {
 protected:
  void SetUp() override {
    Ranks::SetUp();
    const char* text = std::getenv("GLEAN_TOPOLOGY_RANKS_PER_NODE");
    ranks_per_node_ = text == nullptr ? 0 : std::atoi(text);
    if (ranks_per_node_ == 0 || size_ / ranks_per_node_ < 2) GTEST_SKIP() << "needs several nodes";
  }
  // Rank 0 of the last node, which drains it.
  [[nodiscard]] int last_aggregator() const { return size_ - ranks_per_node_; }
  void barrier() { MPI_Barrier(MPI_COMM_WORLD); }

  int ranks_per_node_ = 0;
};

// No file of this process gets longer than that, as if its node's way to the storage had broken down behind it.
class FilesNoLongerThan {
 public:
  explicit FilesNoLongerThan(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FilesNoLongerThan() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FilesNoLongerThan(const FilesNoLongerThan&) = delete;
  FilesNoLongerThan& operator=(const FilesNoLongerThan&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

// What an element of a step is, by its place in the whole array.
inline double value_of(std::uint64_t step, std::uint64_t element) { return static_cast<double>(step * 1'000'000'000 + element); }

// So is all of the variable "record" of a file.
inline void expect_values(Session& session, const std::string& path, std::uint64_t steps) {
  const Input in = session.open_input(path);
  ASSERT_EQ(in.steps(), steps);
  for (std::uint64_t step = 0; step < steps; ++step) {
    const auto found = in.read<double>(in.find_variable("record"), step);
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < found.size(); ++i) wrong += found[i] == value_of(step, i) ? 0 : 1;
    EXPECT_EQ(wrong, 0U) << "of " << found.size() << " in step " << step;
  }
}

// A record variable of which every rank puts what another node writes.
struct Crossing {
  Crossing(Session& session, const std::string& path, std::uint64_t per_rank) : out(session.open(path, Format::cdf5)) {
    int rank = 0, size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const auto across = static_cast<std::uint64_t>(size - 1 - rank);
    const Dimension dimensions[] = {out.define_unlimited("t"), out.define_dimension("x", per_rank * static_cast<std::uint64_t>(size))};
    first = per_rank * across;
    data.resize(per_rank);
    record = out.define_variable("record", Type::float64, dimensions, {Box{{first}, {per_rank}}});
  }
  void step() {
    for (std::uint64_t i = 0; i < data.size(); ++i) data[i] = value_of(steps, first + i);
    ++steps;
    out.begin_step();
    out.put(record, data);
    out.end_step();
  }
  Output out;
  Variable record;
  std::uint64_t first = 0, steps = 0;
  std::vector<double> data;
};

}  // namespace glean::test
