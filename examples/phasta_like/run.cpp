// SPDX-License-Identifier: BSD-3-Clause
#include "run.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace phasta {

Simulation::Simulation(MPI_Comm comm, const Options& options)
    : comm_(comm), options_(options), vortex_({}), forest_(options.box),
      writer_(make_writer(comm, options.writer)) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &ranks_);
}

void Simulation::go() {
  MPI_Barrier(comm_);
  const double begin = MPI_Wtime();
  for (int step = 0; step <= options_.steps; ++step) {
    const double time = step * options_.dt;
    adapt(time);
    solution_ = solution_at(part_, vortex_, time);
    if (step % options_.every != 0) continue;
    output(step, time);
    if (rank_ == 0) std::fputs(describe(outputs_.back()).c_str(), stdout);
  }
  if (writer_) writer_->finish();
  MPI_Barrier(comm_);
  seconds_ = MPI_Wtime() - begin;
}

void Simulation::adapt(double time) {
  const Distance distance = [this, time](double x, double y, double z) { return vortex_.distance(x, y, z, time); };
  part_ = make_part(forest_, share_out(distance)[static_cast<std::size_t>(rank_)], distance, options_.radius * vortex_.core());
}

// The mesh needs no messages, sharing it out needs one: every rank counts the leaves of some trees.
std::vector<Trees> Simulation::share_out(const Distance& distance) const {
  std::vector<std::int64_t> leaves(static_cast<std::size_t>(forest_.trees()));
  for (int tree = rank_; tree < forest_.trees(); tree += ranks_) {
    leaves[static_cast<std::size_t>(tree)] = forest_.count_leaves(tree, distance, options_.radius * vortex_.core());
  }
  MPI_Allreduce(MPI_IN_PLACE, leaves.data(), static_cast<int>(leaves.size()), MPI_INT64_T, MPI_SUM, comm_);
  return balanced(leaves, ranks_);
}

void Simulation::output(int step, double time) {
  OutputRecord record{step, time, check_mesh(comm_, part_, forest_), 0, 0, 0, static_cast<std::int64_t>(part_.cells.size())};
  record.error = interpolation_error(comm_, part_, solution_, vortex_, time);
  if (can_judge()) record.coarser_error = coarser_error(time);

  MPI_Barrier(comm_);
  const double begin = MPI_Wtime();
  if (writer_) writer_->write({part_, solution_, static_cast<int>(outputs_.size()), step, time});
  record.blocked_seconds = MPI_Wtime() - begin;
  MPI_Allreduce(MPI_IN_PLACE, &record.blocked_seconds, 1, MPI_DOUBLE, MPI_MAX, comm_);
  MPI_Allreduce(MPI_IN_PLACE, &record.most_cells, 1, MPI_INT64_T, MPI_MAX, comm_);
  outputs_.push_back(record);
}

bool Simulation::can_judge() const {
  return options_.box.levels >= 3 && std::ldexp(1.0 / options_.box.cubes[0], -(options_.box.levels / 3)) <= vortex_.core();
}

double Simulation::coarser_error(double time) const {
  const Forest forest({.cubes = options_.box.cubes, .levels = options_.box.levels - 3});
  const Distance distance = [this, time](double x, double y, double z) { return vortex_.distance(x, y, z, time); };
  const std::vector<std::int64_t> alike(static_cast<std::size_t>(forest.trees()), 1);
  const Trees mine = balanced(alike, ranks_)[static_cast<std::size_t>(rank_)];
  const Part part = make_part(forest, mine, distance, options_.radius * vortex_.core());
  return interpolation_error(comm_, part, solution_at(part, vortex_, time), vortex_, time);
}

bool passes(const OutputRecord& output) {
  const double least = std::exp2(1.5);
  return output.mesh.conforms() && (output.coarser_error == 0 || output.error * least <= output.coarser_error);
}

bool Simulation::passed() const {
  return std::all_of(outputs_.begin(), outputs_.end(), passes);
}

std::string describe(const OutputRecord& output) {
  char text[256];
  std::snprintf(text, sizeof text,
                "step %3d  t = %.3f  %8lld tetrahedra in %d parts (at most %lld)  %s  error %.2e (coarser: %.2e)  blocked %.2f ms\n",
                output.step, output.time, static_cast<long long>(output.mesh.cells), output.mesh.parts,
                static_cast<long long>(output.most_cells), output.mesh.conforms() ? "conforms" : "DOES NOT CONFORM", output.error,
                output.coarser_error, 1e3 * output.blocked_seconds);
  return text;
}

std::string verdict(const Simulation& simulation) {
  const auto& outputs = simulation.outputs();
  const bool judged = std::all_of(outputs.begin(), outputs.end(), [](const OutputRecord& o) { return o.coarser_error > 0; });
  char text[128];
  std::snprintf(text, sizeof text, "%.3f s: %s", simulation.seconds(),
                !simulation.passed() ? "NOT AS IT SHOULD BE"
                : judged             ? "the meshes conform and resolve the vortex"
                                     : "the meshes conform; they are too coarse to judge how they resolve the vortex");
  return text;
}

std::string to_json(const Simulation& simulation, const Options& options, int ranks) {
  char text[512];
  const auto& [x, y, z] = options.box.cubes;
  std::snprintf(text, sizeof text,
                "{\"ranks\": %d, \"cubes\": [%d, %d, %d], \"levels\": %d, \"seconds\": %.6g, \"passed\": %s, \"outputs\": [",
                ranks, x, y, z, options.box.levels, simulation.seconds(), simulation.passed() ? "true" : "false");
  std::string json = text;
  for (const OutputRecord& o : simulation.outputs()) {
    std::snprintf(text, sizeof text,
                  "%s\n {\"step\": %d, \"time\": %.17g, \"cells\": %lld, \"points\": %lld, \"parts\": %d, \"wrong_faces\": %lld, "
                  "\"volume_error\": %.3g, \"error\": %.6g, \"coarser_error\": %.6g, \"blocked_seconds\": %.6g}",
                  &o == simulation.outputs().data() ? "" : ",", o.step, o.time, static_cast<long long>(o.mesh.cells),
                  static_cast<long long>(o.mesh.points), o.mesh.parts, static_cast<long long>(o.mesh.wrong_faces), o.mesh.volume_error,
                  o.error, o.coarser_error, o.blocked_seconds);
    json += text;
  }
  return json + "]}\n";
}

}  // namespace phasta
