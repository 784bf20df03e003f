// SPDX-License-Identifier: BSD-3-Clause
//
// What computing loses while the drain writes: steps of a stencil, with a reduction each as a hydrodynamics code needs it for its time
// step, before a checkpoint and while the drain writes it.
//
// `lost_share` is how much longer a step took. `drain_share` is the processor time of the drain beside that of the cores meanwhile: where
// ranks have all of the cores, a step must take longer by drain_share / (1 - drain_share), whatever the drain does with that time. What
// the system says of the cores (`cores`, in both phases) tells how much more went to interrupts, to other virtual machines, or to
// nothing at all because ranks waited for each other. What is lost beyond that is memory and cache.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "glean/glean.hpp"

using namespace glean::benchmarks;

namespace {

struct Options : BenchmarkOptions {
  std::uint64_t checkpoint_mib = 512;
  int side = 64;   // of a rank's cube of cells
  std::string only;
};

struct Contender {
  const char* name;
  glean::Format format;
  const char* direct_io;
};
constexpr Contender contenders[] = {{"NetCDF", glean::Format::cdf5, "auto"},
                                    {"HDF5", glean::Format::hdf5, "auto"},
                                    {"NetCDF, page cache", glean::Format::cdf5, "off"}};

// Jacobi's iteration for the Laplace equation.
class Stencil {
 public:
  explicit Stencil(int side) : side_(static_cast<std::size_t>(side)), now_(side_ * side_ * side_, 1.0), next_(now_) {}
  // Collective.
  void step() {
    const std::size_t row = side_, plane = side_ * side_;
    double change = 0;
    for (std::size_t z = 1; z + 1 < side_; ++z) {
      for (std::size_t y = 1; y + 1 < side_; ++y) {
        for (std::size_t x = 1; x + 1 < side_; ++x) {
          const std::size_t at = z * plane + y * row + x;
          next_[at] = (now_[at - 1] + now_[at + 1] + now_[at - row] + now_[at + row] + now_[at - plane] + now_[at + plane]) / 6;
          change += next_[at] - now_[at];
        }
      }
    }
    std::swap(now_, next_);
    MPI_Allreduce(MPI_IN_PLACE, &change, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }

 private:
  std::size_t side_;
  std::vector<double> now_, next_;
};

// Of this process, without the thread that calls: the drain's.
double seconds_of_other_threads() {
  struct rusage thread {};
  getrusage(RUSAGE_THREAD, &thread);
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec); };
  return cpu_seconds() - seconds(thread.ru_utime) - seconds(thread.ru_stime);
}

// What the cores have done since the system began, in ticks (proc(5), /proc/stat).
struct Cores {
  double program = 0, system = 0, interrupts = 0, stolen = 0, idle = 0;
  static Cores now() {
    std::ifstream in("/proc/stat");
    std::string name;
    double user = 0, nice = 0, system = 0, idle = 0, waits = 0, hard = 0, soft = 0, stolen = 0;
    in >> name >> user >> nice >> system >> idle >> waits >> hard >> soft >> stolen;
    return {user + nice, system, hard + soft, stolen, idle + waits};
  }
  // Shares since `before`.
  [[nodiscard]] Json since(const Cores& before) const {
    const double all = program + system + interrupts + stolen + idle - before.program - before.system - before.interrupts - before.stolen -
                       before.idle;
    const auto share = [&](double Cores::*member) {
      return std::round(1000 * (this->*member - before.*member) / std::max(all, 1.0)) / 1000;
    };
    return {{"program", share(&Cores::program)}, {"system", share(&Cores::system)}, {"interrupts", share(&Cores::interrupts)},
            {"stolen", share(&Cores::stolen)}, {"idle", share(&Cores::idle)}};
  }
};

struct Losses {
  double alone = 0, beside = 0;   // seconds of a step
  double drain_share = 0;
  int steps_beside = 0;
  Json cores_alone, cores_beside;
};

void checkpoint(const Ranks& ranks, glean::Session& session, const Contender& contender, const std::string& path,
                const std::vector<double>& data) {
  glean::Output out = session.open(path, contender.format);
  const auto first = static_cast<std::uint64_t>(ranks.rank()) * data.size();
  const glean::Dimension dimensions[] = {out.define_dimension("x", static_cast<std::uint64_t>(ranks.count()) * data.size())};
  const glean::Variable variable = out.define_variable("v", glean::Type::float64, dimensions, {{{first}, {data.size()}}});
  out.end_definitions();
  out.begin_step();
  out.put(variable, data);
  out.end_step();
  out.close();
}

Losses measure(const Ranks& ranks, const Contender& contender, const Options& options) {
  const std::uint64_t bytes = (options.quick ? 8 : options.checkpoint_mib) * MiB;
  const std::vector<double> data(bytes / sizeof(double) / static_cast<std::uint64_t>(ranks.count()), 1.5);
  const std::string path = options.directory + "/checkpoint";
  glean::Session session(MPI_COMM_WORLD, {{"pool.budget", std::to_string(bytes + bytes / 2 + 64 * MiB)},
                                          {"drain.direct_io", contender.direct_io}});
  Stencil stencil(options.side);
  const int steps_alone = options.quick ? 5 : 100;
  for (int i = 0; i < steps_alone / 4; ++i) stencil.step();   // everything is warm
  Losses losses;
  Cores before = Cores::now();
  double begin = now_seconds();
  for (int i = 0; i < steps_alone; ++i) stencil.step();
  losses.alone = (now_seconds() - begin) / steps_alone;
  losses.cores_alone = Cores::now().since(before);

  checkpoint(ranks, session, contender, path, data);
  const double drained_before = seconds_of_other_threads();
  before = Cores::now();
  begin = now_seconds();
  for (int is_there = 0; is_there == 0; ++losses.steps_beside) {
    stencil.step();
    is_there = ranks.root() && access(path.c_str(), F_OK) == 0 ? 1 : 0;
    MPI_Bcast(&is_there, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  const double seconds = now_seconds() - begin;
  losses.beside = seconds / losses.steps_beside;
  losses.cores_beside = Cores::now().since(before);
  const auto cores = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  losses.drain_share = ranks.of_root(seconds_of_other_threads() - drained_before) / (seconds * cores);
  session.wait(glean::Level::durable);
  session.close();
  if (ranks.root()) std::filesystem::remove(path);
  return losses;
}

int run(int argc, char** argv) {
  Options options;
  options.repetitions = 10;
  CommandLine command_line("What computing loses while the drain writes", options);
  command_line.add_option("--checkpoint-mib", options.checkpoint_mib, "of all ranks together")->check(CLI::PositiveNumber);
  command_line.add_option("--side", options.side, "cells of a rank's cube along each edge")->check(CLI::Range(3, 1024));
  command_line.add_option("--only", options.only, "contenders whose name has this in it");
  return command_line.run(argc, argv, [&](const Ranks& ranks) {
    if (ranks.root()) empty_directory(options.directory);
    ranks.wait_quietly();
    std::vector<std::vector<Losses>> each(std::size(contenders));
    for (int repetition = 0; repetition < options.repetitions; ++repetition) {
      for (std::size_t i = 0; i < each.size(); ++i) {
        if (std::string(contenders[i].name).find(options.only) == std::string::npos) continue;
        each[i].push_back(measure(ranks, contenders[i], options));
      }
    }
    Json results = Json::array();
    for (std::size_t i = 0; i < each.size(); ++i) {
      if (each[i].empty()) continue;
      const auto median_of = [&](auto member) {
        std::vector<double> values;
        for (const Losses& losses : each[i]) values.push_back(member(losses));
        return median(values);
      };
      results.push_back({{"contender", contenders[i].name},
                         {"step_seconds", median_of([](const Losses& l) { return l.alone; })},
                         {"lost_share", median_of([](const Losses& l) { return l.beside / l.alone - 1; })},
                         {"drain_share", median_of([](const Losses& l) { return l.drain_share; })},
                         {"lost_to_processor", median_of([](const Losses& l) { return l.drain_share / (1 - l.drain_share); })},
                         {"cores", {{"alone", each[i].back().cores_alone}, {"beside", each[i].back().cores_beside}}},
                         {"steps_while_draining", median_of([](const Losses& l) { return l.steps_beside; })}});
    }
    if (ranks.root()) {
      write_json({{"benchmark", "compute"},
                  {"recipe", recipe(ranks, options.directory, options.repetitions)},
                  {"quick", options.quick},
                  {"statement", "medians; lost_share: how much longer a step takes while the drain writes a checkpoint; drain_share: the "
                                "drain's processor time by that of all cores; lost_to_processor: what that alone costs where ranks have "
                                "all cores"},
                  {"checkpoint_bytes", (options.quick ? 8 : options.checkpoint_mib) * MiB},
                  {"results", results}},
                 options.json);
    }
    return 0;
  });
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
