// SPDX-License-Identifier: BSD-3-Clause
//
// How fast a put is, beside a plain memcpy of the same bytes.
//
// Both read the same source. The memcpy goes into shared memory of the same kind as the pool's, as large as what
// the puts of one repetition fill, with all pages there, and walks through it from beginning to end as puts walk
// through the pool. All puts of a repetition are inside one step, so that the drain has nothing to do while they
// are timed; it empties the pool between repetitions, which is not timed.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "glean/glean.hpp"
#include "command_line.hpp"
#include "measure.hpp"

using namespace glean::benchmarks;

namespace {

struct Options {
  std::string directory = "bench-files";
  std::string json;
  int repetitions = 7;
  bool quick = false;
};

struct Case {
  std::uint64_t put_bytes;
  std::uint64_t puts;   // of a rank in one repetition
  [[nodiscard]] std::uint64_t bytes() const { return put_bytes * puts; }
};

// Seconds of this rank.
struct PutTimes {
  double puts = 0;   // the puts alone
  double step = 0;   // begin_step, puts, end_step, close
};

double copy_seconds(const Case& size, const std::vector<double>& source, const SharedRegion& target) {
  const auto* from = reinterpret_cast<const std::byte*>(source.data());
  const double begin = now_seconds();
  for (std::uint64_t i = 0; i < size.puts; ++i) {
    std::memcpy(target.data() + i * size.put_bytes, from + i * size.put_bytes, size.put_bytes);
  }
  return now_seconds() - begin;
}

PutTimes put_seconds(const Ranks& ranks, glean::Session& session, const std::string& path, const Case& size,
                     const std::vector<double>& source) {
  const std::uint64_t elements = size.put_bytes / sizeof(double);
  const std::uint64_t first = static_cast<std::uint64_t>(ranks.rank()) * size.puts;
  glean::Output out = session.open(path, glean::Format::cdf5);
  const glean::Dimension dimensions[] = {
      out.define_dimension("put", static_cast<std::uint64_t>(ranks.count()) * size.puts),
      out.define_dimension("element", elements)};
  const glean::Variable variable =
      out.define_variable("data", glean::Type::float64, dimensions, {{{first, 0}, {size.puts, elements}}});
  out.end_definitions();

  PutTimes times;
  glean::Box box{{0, 0}, {1, elements}};
  ranks.start_line();
  const double begin = now_seconds();
  out.begin_step();
  const double begin_puts = now_seconds();
  for (std::uint64_t i = 0; i < size.puts; ++i) {
    box.start[0] = first + i;
    out.put(variable, box, source.data() + i * elements);
  }
  times.puts = now_seconds() - begin_puts;
  out.end_step();
  out.close();
  times.step = now_seconds() - begin;

  session.wait(glean::Level::durable);
  if (ranks.root()) std::filesystem::remove(path);
  ranks.wait_quietly();
  return times;
}

Json measure(const Ranks& ranks, glean::Session& session, const Options& options, const Case& size) {
  std::vector<double> source(size.bytes() / sizeof(double));
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<double>(i) * 0.5;
  const SharedRegion target(size.bytes());
  const std::string path = options.directory + "/put.nc";
  std::vector<double> copy, put, step;

  const auto measure_copy = [&](bool counts) {
    ranks.start_line();
    const double seconds = ranks.max(copy_seconds(size, source, target));
    if (counts) copy.push_back(seconds);
  };
  const auto measure_put = [&](bool counts) {
    const PutTimes mine = put_seconds(ranks, session, path, size, source);
    const double puts_seconds = ranks.max(mine.puts), step_seconds = ranks.max(mine.step);
    if (!counts) return;
    put.push_back(puts_seconds);
    step.push_back(step_seconds);
  };
  // The first round warms up. Who goes first alternates.
  for (int repetition = 0; repetition <= options.repetitions; ++repetition) {
    const bool counts = repetition > 0;
    if (repetition % 2 == 0) measure_copy(counts);
    measure_put(counts);
    if (repetition % 2 != 0) measure_copy(counts);
  }

  const auto rate = [&](const std::vector<double>& seconds) {
    return static_cast<double>(size.bytes()) / median(seconds) * 1e-9;
  };
  const int count = ranks.count();
  return {{"bytes_per_put", size.put_bytes},
          {"puts_per_rank", size.puts},
          {"memcpy_seconds", median(copy)},
          {"put_seconds", median(put)},
          {"step_seconds", median(step)},
          {"memcpy_gb_per_s_rank", rate(copy)},
          {"put_gb_per_s_rank", rate(put)},
          {"memcpy_gb_per_s", rate(copy) * count},
          {"put_gb_per_s", rate(put) * count},
          {"step_gb_per_s", rate(step) * count},
          {"put_to_memcpy", median(copy) / median(put)},
          {"step_to_memcpy", median(copy) / median(step)}};
}

int run(int argc, char** argv) {
  Options options;
  CommandLine line("A put beside a plain memcpy of the same bytes");
  line.option("--directory", options.directory, "where the drained files go");
  line.option("--json", options.json, "write the result here, not to standard output");
  line.positive("--repetitions", options.repetitions);
  line.flag("--quick", options.quick, "tiny sizes; the figures mean nothing");
  if (const auto status = line.parse(argc, argv)) return *status;
  Ranks ranks(argc, argv);
  return run_or_abort([&] {
    const std::uint64_t largest = options.quick ? 64 * KiB : 64 * MiB;
    const std::uint64_t step_bytes = options.quick ? MiB : 256 * MiB;   // of all ranks together
    if (ranks.root()) empty_directory(options.directory);
    ranks.wait_quietly();
    const std::string budget = options.quick ? "32MiB" : "1GiB";
    glean::Session session(MPI_COMM_WORLD, {{"pool.budget", budget}});

    Json json = {{"benchmark", "put"},
                 {"recipe", recipe(ranks, options.directory, options.repetitions)},
                 {"quick", options.quick},
                 {"statement",
                  "seconds and rates of the slowest rank, medians; memcpy goes through pre-faulted shared memory as "
                  "large as what the puts of one repetition fill; step: begin_step, puts, end_step and close"},
                 {"pool_budget", budget}};
    json["results"] = Json::array();
    for (std::uint64_t bytes = 4 * KiB; bytes <= largest; bytes *= 4) {
      const std::uint64_t share = step_bytes / static_cast<std::uint64_t>(ranks.count());
      const std::uint64_t puts = std::clamp<std::uint64_t>(share / bytes, 1, 2048);
      json["results"].push_back(measure(ranks, session, options, {bytes, puts}));
    }
    session.close();
    if (ranks.root()) {
      std::filesystem::remove_all(options.directory);
      write_json(json, options.json);
    }
    return 0;
  });
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
