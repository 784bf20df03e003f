// SPDX-License-Identifier: BSD-3-Clause
#include "run.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "accuracy.hpp"

namespace nekcem {

namespace {

int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

int ranks_in(MPI_Comm comm) {
  int ranks = 1;
  MPI_Comm_size(comm, &ranks);
  return ranks;
}

std::int64_t elements_in(const Mesh::Box& box) { return std::int64_t{box.elements[0]} * box.elements[1] * box.elements[2]; }

}  // namespace

Simulation::Simulation(MPI_Comm comm, const Options& options)
    : comm_(comm), options_(options), rank_(rank_in(comm)), ranks_(ranks_in(comm)), mode_(options.mode),
      mesh_(options.box, even_runs(elements_in(options.box), options.roles(ranks_)), rank_), exchange_(comm, mesh_),
      maxwell_(mesh_, exchange_), fields_(exact_fields(mesh_, mode_, 0)), exact_(fields_), at_start_(fields_),
      at_quarter_(exact_fields(mesh_, mode_, std::numbers::pi / 2 / mode_.frequency())), writer_(make_writer(comm, options.writer)) {
  times_.computes = options.roles(ranks_)[static_cast<std::size_t>(rank_)] == Role::computes;
  times_.share = static_cast<double>(mesh_.mine().size()) / static_cast<double>(mesh_.elements());
}

Outcome Simulation::go() {
  const double energy_before = sum_of_ranks(energy(mesh_, fields_));
  Outcome outcome;
  outcome.dt = maxwell_.stable_step(options_.courant);
  MPI_Barrier(comm_);
  const double begin = MPI_Wtime();
  write(0, 0, outcome.dt);
  for (int done = 1; done <= options_.steps; ++done) {
    step(outcome.dt);
    outcome.time = done * outcome.dt;
    if (done % options_.every == 0) write(done, outcome.time, outcome.dt);
  }
  if (writer_) writer_->finish();
  MPI_Barrier(comm_);
  outcome.loop_seconds = MPI_Wtime() - begin;

  times_.files.resize(static_cast<std::size_t>(outputs_));
  if (writer_) {
    times_.writes_files = writer_->writes_files();
    for (const FileTime& file : writer_->file_times()) times_.files[static_cast<std::size_t>(file.number)] = file.end - file.begin;
  }
  outcome.outputs = outputs_;
  outcome.output_bytes = output_bytes_;
  set_exact(outcome.time);
  outcome.error = largest_difference(fields_, exact_);
  MPI_Allreduce(MPI_IN_PLACE, &outcome.error, 1, MPI_DOUBLE, MPI_MAX, comm_);
  outcome.allowed = allowed_error(options_.box, mode_, options_.steps, outcome.dt);
  outcome.energy_change = sum_of_ranks(energy(mesh_, fields_)) / energy_before - 1;
  return outcome;
}

void Simulation::step(double dt) {
  const double begin = MPI_Wtime(), waited = maxwell_.waited();
  maxwell_.advance(fields_, dt);
  times_.steps.push_back(MPI_Wtime() - begin);
  times_.computed.push_back(times_.steps.back() - (maxwell_.waited() - waited));
}

// Four fields, as in NekCEM's checkpoints of this case: what was computed, and the exact solution beside it.
void Simulation::write(int step, double time, double dt) {
  if (!writer_) return;
  set_exact(time);
  const auto vectors = [](const char* name, const Fields& of, int first) {
    const auto c = static_cast<std::size_t>(first);
    return Snapshot::Vectors{name, &of.values[c], &of.values[c + 1], &of.values[c + 2]};
  };
  const Snapshot snapshot{mesh_, outputs_, step, time, dt, ranks_,
                          {vectors("H ", fields_, hx), vectors("E ", fields_, ex),
                           vectors("solH", exact_, hx), vectors("solE", exact_, ex)}};
  output_bytes_ = static_cast<double>(writer_->output_bytes(snapshot));
  const double begin = MPI_Wtime();
  writer_->write(snapshot);
  times_.blocked.push_back(MPI_Wtime() - begin);
  ++outputs_;
}

// Every component is a product of something with cos(kz z - w t) or its sine, so that this is exact and takes no sines per point.
void Simulation::set_exact(double time) {
  const double start = std::cos(mode_.frequency() * time), quarter = std::sin(mode_.frequency() * time);
  for (std::size_t c = 0; c < components; ++c) {
    std::transform(at_start_.values[c].begin(), at_start_.values[c].end(), at_quarter_.values[c].begin(), exact_.values[c].begin(),
                   [=](double a, double b) { return start * a + quarter * b; });
  }
}

double Simulation::sum_of_ranks(double value) const {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, comm_);
  return value;
}

std::vector<RankTimes> Simulation::gather_times() const {
  std::vector<double> mine = {times_.writes_files ? 1.0 : 0.0, times_.computes ? 1.0 : 0.0, times_.share};
  for (const auto* times : {&times_.steps, &times_.computed, &times_.blocked, &times_.files}) {
    mine.insert(mine.end(), times->begin(), times->end());
  }
  const int count = static_cast<int>(mine.size());
  std::vector<double> all(rank_ == 0 ? mine.size() * static_cast<std::size_t>(ranks_) : 0);
  MPI_Gather(mine.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, 0, comm_);
  std::vector<RankTimes> ranks;
  for (auto from = all.begin(); from != all.end();) {
    RankTimes& rank = ranks.emplace_back();
    rank.writes_files = *from++ != 0;
    rank.computes = *from++ != 0;
    rank.share = *from++;
    const auto take = [&from](std::vector<double>& into, std::size_t values) {
      into.assign(from, from + static_cast<std::ptrdiff_t>(values));
      from += static_cast<std::ptrdiff_t>(values);
    };
    take(rank.steps, times_.steps.size());
    take(rank.computed, times_.computed.size());
    take(rank.blocked, times_.blocked.size());
    take(rank.files, times_.files.size());
  }
  return ranks;
}

}  // namespace nekcem
