// SPDX-License-Identifier: BSD-3-Clause
//
// How fast the drain writes, beside fio with the same block size, queue depth and engine in the same directory.
//
// The pool is filled first. The time runs from the moment at which all ranks have ended the step, when the drain
// writes its first byte, until the file is durable and published. fio writes as many bytes into a new file, and an
// fsync at its end belongs to its time. The pages of the buffer matter as much as anything else, so fio runs as it
// is, and with huge pages: into a file that it has allocated before its time starts, and into one that it has only
// made long enough. A second session records checksums as well.
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "command_line.hpp"
#include "fio.hpp"
#include "glean/glean.hpp"

using namespace glean::benchmarks;

namespace {

struct Options : BenchmarkOptions {
  std::string fio = "fio";
  int depth = 4;
  std::uint64_t mebibytes = 1024;
  std::uint64_t request_mebibytes = 8;
};

#ifdef GLEAN_BENCH_HDF5
constexpr bool has_hdf5 = true;
#else
constexpr bool has_hdf5 = false;
#endif

struct DrainTimes {
  double put = 0;      // filling the pool
  double durable = 0;  // all ranks have ended the step → durable
  double cpu = 0;      // of all ranks, in that time
};

struct DrainSeries {
  std::vector<double> durable, cpu, put;

  void add(const DrainTimes& times, int repetition) {
    if (repetition == 0) return;
    durable.push_back(times.durable);
    cpu.push_back(times.cpu);
    put.push_back(times.put);
  }
};

DrainTimes drain(const Ranks& ranks, glean::Session& session, const Options& options,
                 const std::vector<double>& data, glean::Format format = glean::Format::cdf5) {
  const std::string path = options.directory + (format == glean::Format::cdf5 ? "/glean.nc" : "/glean.h5");
  if (ranks.root()) empty_directory(options.directory);
  ranks.wait_quietly();
  glean::Output out = session.open(path, format);
  const glean::Dimension dimensions[] = {
      out.define_dimension("rank", static_cast<std::uint64_t>(ranks.count())),
      out.define_dimension("element", data.size())};
  const glean::Variable variable = out.define_variable(
      "data", glean::Type::float64, dimensions,
      {{{static_cast<std::uint64_t>(ranks.rank()), 0}, {1, static_cast<std::uint64_t>(data.size())}}});
  out.end_definitions();

  DrainTimes times;
  ranks.start_line();
  const double begin = now_seconds();
  out.begin_step();
  out.put(variable, data);
  times.put = ranks.max(now_seconds() - begin);
  ranks.start_line();
  const double cpu = cpu_seconds();
  const double full = now_seconds();
  out.end_step();
  out.close();
  session.wait(glean::Level::durable);
  times.durable = ranks.max(now_seconds() - full);
  times.cpu = ranks.sum(cpu_seconds() - cpu);
  return times;
}

int run(int argc, char** argv) {
  Options options;
  CommandLine command_line("The drain beside fio", options);
  command_line.add_option("--fio", options.fio, "the program");
  command_line.add_option("--depth", options.depth, "requests in flight")->check(CLI::PositiveNumber);
  command_line.add_option("--mib", options.mebibytes, "bytes of one repetition, all ranks together, in MiB");
  command_line.add_option("--request-mib", options.request_mebibytes, "bytes of a request, in MiB");
  return command_line.run(argc, argv, [&](const Ranks& ranks) {
    if (options.quick) options.mebibytes = 16;
    const std::uint64_t per_rank = options.mebibytes * MiB / static_cast<std::uint64_t>(ranks.count());
    std::vector<double> data(per_rank / sizeof(double));
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<double>(i) * 0.25 + ranks.rank();
    const std::uint64_t bytes = per_rank * static_cast<std::uint64_t>(ranks.count());
    const std::map<std::string, std::string> settings = {
        {"pool.budget", std::to_string(options.mebibytes * 3 / 2 + 32) + "MiB"},
        {"drain.request", std::to_string(options.request_mebibytes) + "MiB"},
        {"drain.depth", std::to_string(options.depth)}};
    auto with_checksums = settings;
    with_checksums["checksums"] = "true";
    const double begin = now_seconds();
    glean::Session session(MPI_COMM_WORLD, settings);
    const double session_seconds = now_seconds() - begin;
    glean::Session summing(MPI_COMM_WORLD, with_checksums);

    const FioRequests requests{options.fio, options.directory, options.depth, options.request_mebibytes};
    std::map<std::string, std::vector<double>> fio_times;
    DrainSeries plain, summed, hdf5;
    for (int repetition = 0; repetition <= options.repetitions; ++repetition) {   // the first one warms up
      // The two take turns in going first.
      if (repetition % 2 != 0) summed.add(drain(ranks, summing, options, data), repetition);
      plain.add(drain(ranks, session, options, data), repetition);
      if (repetition % 2 == 0) summed.add(drain(ranks, summing, options, data), repetition);
      if (has_hdf5) hdf5.add(drain(ranks, session, options, data, glean::Format::hdf5), repetition);
      for (const Fio& fio : fios) {
        if (ranks.root()) {
          const double seconds = fio_seconds(requests, fio, bytes);
          if (repetition > 0) fio_times[fio.name].push_back(seconds);
        }
        ranks.wait_quietly();
      }
    }
    session.close();
    summing.close();
    if (!ranks.root()) return 0;

    const auto rate = [&](const std::vector<double>& seconds) {
      return static_cast<double>(bytes) / median(seconds) * 1e-9;
    };
    Json json = {{"benchmark", "drain"},
                 {"recipe", recipe(ranks, options.directory, options.repetitions)},
                 {"quick", options.quick},
                 {"statement",
                  "medians; drain: all ranks have ended the step until the file is durable; fio: io_uring, "
                  "O_DIRECT, new file, with the fsync at its end; values are converted by the drain, not by fio"},
                 {"bytes", bytes},
                 {"request_bytes", options.request_mebibytes * MiB},
                 {"depth", options.depth},
                 {"session_seconds", session_seconds}};
    json["results"] = Json::array();
    for (const auto& [name, series] :
         {std::pair("glean", &plain), std::pair("glean, checksums", &summed), std::pair("glean, hdf5", &hdf5)}) {
      if (series->durable.empty()) continue;
      json["results"].push_back({{"contender", name},
                                 {"seconds", median(series->durable)},
                                 {"gb_per_s", rate(series->durable)},
                                 {"put_seconds", median(series->put)},
                                 {"cpu_seconds", median(series->cpu)},
                                 {"glean_to_this", median(series->durable) / median(plain.durable)},
                                 {"each_seconds", series->durable}});
    }
    for (const Fio& fio : fios) {
      const std::vector<double>& seconds = fio_times[fio.name];
      json["results"].push_back({{"contender", fio.name},
                                 {"seconds", median(seconds)},
                                 {"gb_per_s", rate(seconds)},
                                 {"glean_to_this", median(seconds) / median(plain.durable)},
                                 {"each_seconds", seconds}});
    }
    std::filesystem::remove_all(options.directory);
    write_json(json, options.json);
    return 0;
  });
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
