// SPDX-License-Identifier: BSD-3-Clause
//
// The Sedov blast wave, as FLASH runs it.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>

#include "blast.hpp"
#include "hydro.hpp"
#include "options.hpp"
#include "refinement.hpp"
#include "summary.hpp"

namespace sedov {

namespace {

constexpr double courant_number = 0.8;
// A share of the stable step: the gas at rest will soon be faster than it is.
constexpr double first_step_share = 0.1;
constexpr double step_growth = 1.3;

class Run {
 public:
  explicit Run(const Options& options)
      : options_(options), mesh_(MPI_COMM_WORLD, options.blocks, 0.5, options.levels), halo_(mesh_), hydro_(mesh_, halo_),
        trace_(MPI_COMM_WORLD), exact_(gas_gamma) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    if (options.output == Through::pnetcdf) {
      writer_ = make_pnetcdf_writer(mesh_.comm(), trace_, options.durability);
    }
#ifdef SEDOV_HAVE_HDF5
    if (options.output == Through::hdf5) writer_ = make_hdf5_writer(mesh_.comm(), trace_);
#endif
    if (options.output == Through::glean) writer_ = make_glean_writer(mesh_.comm(), trace_);
  }

  // Collective. Returns whether the checks passed.
  bool go();

 private:
  void start();
  void advance();
  void write(FileKind kind);
  void write_due(bool last);
  void report_progress() const;

  Options options_;
  Mesh mesh_;
  Halo halo_;
  Hydro hydro_;
  Trace trace_;
  SedovTaylor exact_;
  std::unique_ptr<Writer> writer_;
  int rank_ = 0;
  int step_ = 0;
  double time_ = 0;
  double dt_ = 0;
  BlocksUsed used_;
  std::vector<FileRecord> files_;
};

void Run::write(FileKind kind) {
  const bool checkpoint = kind == FileKind::checkpoint;
  const auto number =
      std::count_if(files_.begin(), files_.end(), [kind](const FileRecord& f) { return f.kind == kind; });
  char name[40];
  std::snprintf(name, sizeof name, "sedov_%s_%04d.%s", checkpoint ? "chk" : "plt", static_cast<int>(number),
                options_.output == Through::hdf5 ? "h5" : "nc");

  FileContents contents{.path = options_.directory + "/" + name,
                        .kind = kind,
                        .format = options_.format,
                        .precision = checkpoint ? Precision::twice : Precision::single,
                        .attributes = {{"title", "Sedov blast wave"},
                                       {"file_kind", checkpoint ? "checkpoint" : "plot"},
                                       {"geometry", "cartesian"},
                                       {"domain", "octant with mirrors through the origin"},
                                       {"time", time_},
                                       {"dt", dt_},
                                       {"step", step_},
                                       {"gamma", gas_gamma},
                                       {"energy", blast_energy},
                                       {"ambient_density", ambient_density},
                                       {"ambient_pressure", ambient_pressure}},
                        .variables = {dens, pres, temp}};
  if (checkpoint) contents.variables = {dens, eint, ener, gamc, game, pres, temp, velx, vely, velz};
  files_.push_back({name, kind, contents.data_bytes(mesh_), step_});
  if (writer_) writer_->write(mesh_, contents);
}

void Run::write_due(bool last) {
  const auto due = [&](int every) { return step_ == 0 || last || (every > 0 && step_ % every == 0); };
  if (options_.levels > 1 && (due(options_.checkpoint_every) || due(options_.plot_every))) {
    restrict_to_parents(mesh_);
    hydro_.complete_state();
  }
  if (due(options_.checkpoint_every)) write(FileKind::checkpoint);
  if (due(options_.plot_every)) write(FileKind::plot);
}

void Run::report_progress() const {
  const double radius = shock_radius(mesh_);
  if (rank_ != 0) return;
  const double expected = exact_.shock_radius(blast_energy, ambient_density, time_);
  std::printf("step %4d  t = %.5f  dt = %.2e  shock at %.4f (exact %.4f)  %2zu files  %5.1f s\n", step_,
              time_, dt_, radius, expected, files_.size(), trace_.now());
  std::fflush(stdout);
}

// The mesh that the explosion needs is found level by level, each time from the exact state.
void Run::start() {
  set_blast(mesh_);
  for (int level = 1; level < options_.levels && adapt(mesh_, halo_); ++level) set_blast(mesh_);
  restrict_to_parents(mesh_);
  hydro_.complete_state();
}

void Run::advance() {
  const Timed timed(trace_, Activity::compute, std::to_string(step_ + 1));
  if (options_.levels > 1 && step_ > 0 && step_ % options_.refine_every == 0) adapt(mesh_, halo_);
  used_.count(mesh_);
  const double stable = hydro_.stable_step(courant_number);
  dt_ = step_ == 0 ? first_step_share * stable : std::min(stable, step_growth * dt_);
  dt_ = std::min(dt_, options_.end_time - time_);
  hydro_.advance(dt_);
}

bool Run::go() {
  start();
  const Totals before = totals(mesh_);
  write_due(false);
  report_progress();

  const int report_every = options_.checkpoint_every > 0 ? options_.checkpoint_every : 50;
  const auto finished = [&] {
    return time_ >= options_.end_time || (options_.steps > 0 && step_ >= options_.steps);
  };
  while (!finished()) {
    advance();
    time_ += dt_;
    ++step_;
    write_due(finished());
    if (step_ % report_every == 0 || finished()) report_progress();
  }
  if (writer_) writer_->finish();
  const double run_seconds = trace_.now();

  const Checks checks = check(mesh_, exact_, before, time_);
  if (rank_ == 0) {
    if (options_.levels > 1) std::fputs(describe(used_, mesh_).c_str(), stdout);
    std::fputs(describe(checks).c_str(), stdout);
  }
  if (!options_.trace_file.empty()) {
    const std::string per_rank = trace_.gather();
    if (rank_ == 0) {
      std::ofstream file(options_.trace_file);
      file << summary_json({.mesh = mesh_, .files = files_, .checks = checks, .exact = exact_, .used = used_,
                            .steps = step_, .time = time_, .run_seconds = run_seconds, .epoch = trace_.epoch()},
                           per_rank);
      if (!file.flush()) throw std::runtime_error("cannot write " + options_.trace_file);
    }
  }
  return checks.passed();
}

}  // namespace

}  // namespace sedov

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int status = 0;
  try {
    const sedov::Options options = sedov::parse_options({argv + 1, static_cast<std::size_t>(argc - 1)});
    if (options.help) {
      if (rank == 0) std::fputs(sedov::usage().c_str(), stdout);
    } else {
      status = sedov::Run(options).go() ? 0 : 1;
    }
  } catch (const std::invalid_argument& error) {   // the same on every rank
    if (rank == 0) std::fprintf(stderr, "sedov: %s\n", error.what());
    status = 2;
  } catch (const std::exception& error) {
    // The other ranks may be in a call that waits for this one.
    std::fprintf(stderr, "sedov: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
  return status;
}
