// SPDX-License-Identifier: BSD-3-Clause
//
// A run: steps, outputs, the check at the end, and what it says about itself.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "face_exchange.hpp"
#include "maxwell.hpp"
#include "options.hpp"
#include "times.hpp"

namespace nekcem {

// What all ranks have in common at the end.
struct Outcome {
  double time = 0, dt = 0;
  int outputs = 0;
  double output_bytes = 0;         // of one, all files together
  double loop_seconds = 0;         // of all steps and outputs, until all files were closed
  double error = 0, allowed = 0;   // the largest difference to the exact solution
  double energy_change = 0;        // relative, from begin to end; never above rounding: upwind fluxes lose energy
  [[nodiscard]] bool passed() const { return error <= allowed && energy_change <= 1e-12; }
};

class Simulation {
 public:
  // Collective over `comm`.
  Simulation(MPI_Comm comm, const Options& options);

  Outcome go();   // Collective
  // The times of all ranks, on rank 0. Collective, after go().
  [[nodiscard]] std::vector<RankTimes> gather_times() const;
  [[nodiscard]] const Mesh& mesh() const { return mesh_; }

 private:
  void step(double dt);
  void write(int step, double time, double dt);
  void set_exact(double time);
  [[nodiscard]] double sum_of_ranks(double value) const;

  MPI_Comm comm_;
  Options options_;
  int rank_ = 0, ranks_ = 1;
  WaveguideMode mode_;
  Mesh mesh_;
  FaceExchange exchange_;
  Maxwell maxwell_;
  Fields fields_;
  Fields exact_, at_start_, at_quarter_;   // the exact solution: now, at time 0, and a quarter of a period later
  std::unique_ptr<Writer> writer_;
  RankTimes times_;
  int outputs_ = 0;
  double output_bytes_ = 0;
};

// For people, and one JSON object for programs; `ranks` as gathered. For rank 0.
[[nodiscard]] std::string describe(const Outcome& outcome, const Summary& summary, const Options& options);
[[nodiscard]] std::string to_json(const Outcome& outcome, const Summary& summary, const Options& options, const Mesh& mesh,
                                  const std::vector<RankTimes>& ranks);

}  // namespace nekcem
