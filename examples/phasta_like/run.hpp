// SPDX-License-Identifier: BSD-3-Clause
//
// A run: meshes that follow the vortex, outputs, checks, and what it says about itself.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "checks.hpp"
#include "options.hpp"

namespace phasta {

// One output, the same on all ranks.
struct OutputRecord {
  int step = 0;
  double time = 0;
  Conformity mesh;
  double error = 0, coarser_error = 0;   // of interpolation in this mesh, and in one whose finest cells are twice as wide;
                                         // 0: not compared, the mesh is too coarse to be judged
  double blocked_seconds = 0;            // of the slowest rank
  std::int64_t most_cells = 0;           // of one rank
};

class Simulation {
 public:
  Simulation(MPI_Comm comm, const Options& options);   // Collective
  void go();                                           // Collective

  [[nodiscard]] const std::vector<OutputRecord>& outputs() const { return outputs_; }
  [[nodiscard]] double seconds() const { return seconds_; }
  [[nodiscard]] bool passed() const;

 private:
  void adapt(double time);
  [[nodiscard]] std::vector<Trees> share_out(const Distance& distance) const;
  [[nodiscard]] bool can_judge() const;   // whether the finest cells are smaller than the core of the vortex
  void output(int step, double time);
  [[nodiscard]] double coarser_error(double time) const;

  MPI_Comm comm_;
  Options options_;
  int rank_ = 0, ranks_ = 1;
  Vortex vortex_;
  Forest forest_;
  Part part_;
  std::vector<State> solution_;
  std::unique_ptr<Writer> writer_;
  std::vector<OutputRecord> outputs_;
  double seconds_ = 0;
};

// Whether a mesh is one, and resolves the vortex: half the width of the cells divides the error by four in the limit, by 2.8 at least.
// Where `coarser_error` is 0, the mesh alone counts.
[[nodiscard]] bool passes(const OutputRecord& output);

[[nodiscard]] std::string describe(const OutputRecord& output);
[[nodiscard]] std::string verdict(const Simulation& simulation);
[[nodiscard]] std::string to_json(const Simulation& simulation, const Options& options, int ranks);

}  // namespace phasta
