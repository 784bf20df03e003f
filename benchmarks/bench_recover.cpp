// SPDX-License-Identifier: BSD-3-Clause
//
// How long recovery takes: a process captures into a pool and is killed, and what it has left is completed as `glean
// recover` does it, beside fio writing as many bytes with the same requests.
//
// The time runs from looking for the pool until its file is durable and published and the pool is gone. The pool lies
// there as a killed job leaves it: nothing was drained, and nobody has it mapped.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "service/recovery.hpp"
#include "store/description.hpp"
#include "command_line.hpp"
#include "fio.hpp"
#include "measure.hpp"
#include "capture/copy.hpp"
#include "pool/journal.hpp"

using namespace glean::benchmarks;
namespace drain = glean::drain;
namespace pool = glean::pool;

namespace {

constexpr int pool_ranks = 2;
constexpr std::uint64_t header_bytes = 4 * KiB, piece_elements = MiB / sizeof(double);

struct Options {
  std::string directory = "bench-files";
  std::string json;
  std::string fio = "fio";
  int repetitions = 5;
  int depth = 4;
  std::uint64_t mebibytes = 512;
  std::uint64_t request_mebibytes = 8;
  bool quick = false;

  [[nodiscard]] std::uint64_t bytes() const { return mebibytes * MiB; }
  [[nodiscard]] std::string file() const { return std::filesystem::absolute(directory).string() + "/left.nc"; }
};

double value_at(std::uint64_t element) { return static_cast<double>(element) * 0.25; }

glean::store::OutputDescription description_of(const Options& options) {
  glean::store::OutputDescription description;
  description.display_path = options.file();
  description.names = {options.file() + ".part", options.file()};
  description.layout.header_bytes = header_bytes;
  description.layout.variables.push_back({.name = "data",
                                          .external = glean::mesh::Type::float64,
                                          .shape = {options.bytes() / sizeof(double)},
                                          .begin_bytes = header_bytes,
                                          .record_stride_bytes = 0,
                                          .fill = false,
                                          .fill_value = {}});
  return description;
}

// Half of the array as one rank, in pieces of a chunk.
void capture(pool::Pool& memory, int rank, pool::OutputKey key, const Options& options) {
  pool::Recorder recorder(memory, rank, 10, [] { return "nobody drains"; });
  const std::uint64_t half = options.bytes() / sizeof(double) / pool_ranks, first = half * static_cast<std::uint64_t>(rank);
  std::vector<double> values(piece_elements);
  for (std::uint64_t done = 0; done < half; done += piece_elements) {
    for (std::uint64_t i = 0; i < piece_elements; ++i) values[i] = value_at(first + done + i);
    const glean::mesh::Box box{{first + done}, {piece_elements}};
    const auto room = recorder.reserve(MiB, MiB);
    glean::capture::copy_elements({reinterpret_cast<const std::byte*>(values.data()), sizeof(double), box.count, {}}, 0, piece_elements,
                        room.data);
    recorder.commit_put(room, MiB, {key, 0, 0, glean::mesh::Type::float64, &box, 0, piece_elements});
  }
  memory.rank_progress(key.slot, rank).store(1 | pool::rank_closed, std::memory_order_release);
}

// What the process that is killed does.
void fill(const std::string& name, const Options& options) {
  glean::plan::NodePlan plan;
  plan.chunk_bytes = MiB;
  plan.journal_bytes_per_rank = MiB;
  plan.pool_bytes = options.bytes() + 16 * MiB;
  plan.request_bytes = options.request_mebibytes * MiB;
  plan.depth = options.depth;
  pool::Pool memory = pool::Pool::create(name, plan, pool_ranks);
  memory.fault_in(0, 1);
  const auto description = description_of(options);
  std::ofstream(description.names.working_path, std::ios::binary) << std::string(header_bytes, 'h');
  const pool::OutputKey key = *memory.open_slot(0);
  {
    pool::Recorder recorder(memory, 0, 10, [] { return "nobody drains"; });
    recorder.describe(key, description.encode_names(), pool::Recorder::More::follow);
    recorder.describe(key, description.encode_layout(), pool::Recorder::More::none);
  }
  for (int rank = 0; rank < pool_ranks; ++rank) capture(memory, rank, key, options);
  kill(getpid(), SIGKILL);
}

// A pool as a killed job leaves it.
std::string leave_pool(const Options& options) {
  const std::string name = "/glean-bench." + std::to_string(getpid());
  empty_directory(options.directory);
  const pid_t child = fork();
  if (child == 0) {
    try {
      fill(name, options);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFSIGNALED(status)) throw std::runtime_error("the pool could not be filled");
  synchronize_file_system(options.directory);
  return name;
}

void check(const Options& options) {
  std::ifstream file(options.file(), std::ios::binary);
  file.seekg(header_bytes);
  std::vector<std::uint64_t> values(piece_elements);
  for (std::uint64_t element = 0; element < options.bytes() / sizeof(double); element += piece_elements) {
    file.read(reinterpret_cast<char*>(values.data()), MiB);
    for (std::uint64_t i = 0; i < piece_elements; ++i) {
      const double expected = value_at(element + i);
      std::uint64_t bits = 0;
      std::memcpy(&bits, &expected, sizeof bits);
      if (!file || __builtin_bswap64(values[i]) != bits) throw std::runtime_error("what was recovered is wrong");
    }
  }
  if (file.peek() != std::ifstream::traits_type::eof()) throw std::runtime_error("what was recovered is too long");
}

struct Times {
  double seconds = 0, cpu = 0;
};

Times recover(const Options& options) {
  const std::string name = leave_pool(options);
  glean::store::SystemCalls calls;
  const double begin = now_seconds(), cpu = cpu_seconds();
  const auto recovered = glean::service::recover(name, calls, [] {});
  const Times times{now_seconds() - begin, cpu_seconds() - cpu};
  if (!recovered.pool_removed || recovered.outputs.size() != 1 || recovered.outputs[0].state != "published") {
    throw std::runtime_error("it was not recovered");
  }
  check(options);
  return times;
}

int run(int argc, char** argv) {
  Options options;
  CommandLine line("Recovery of a killed job's pool beside fio");
  line.option("--directory", options.directory, "where the files go");
  line.option("--json", options.json, "write the result here, not to standard output");
  line.option("--fio", options.fio, "the program");
  line.positive("--repetitions", options.repetitions);
  line.positive("--depth", options.depth, "requests in flight");
  line.option("--mib", options.mebibytes, "bytes of one repetition, in MiB, an even number");
  line.option("--request-mib", options.request_mebibytes, "bytes of a request, in MiB");
  line.flag("--quick", options.quick, "tiny sizes; the figures mean nothing");
  if (const auto status = line.parse(argc, argv)) return *status;
  if (options.quick) options.mebibytes = 16;
  Ranks ranks(argc, argv);
  return run_or_abort([&] {
    const FioRequests requests{options.fio, options.directory, options.depth, options.request_mebibytes};
    std::map<std::string, std::vector<double>> fio_times;
    std::vector<double> seconds, cpu;
    for (int repetition = 0; repetition <= options.repetitions; ++repetition) {   // the first one warms up
      const Times times = recover(options);
      if (repetition > 0) {
        seconds.push_back(times.seconds);
        cpu.push_back(times.cpu);
      }
      for (const Fio& fio : fios) {
        const double of_fio = fio_seconds(requests, fio, options.bytes());
        if (repetition > 0) fio_times[fio.name].push_back(of_fio);
      }
    }
    const auto rate = [&](const std::vector<double>& of) { return static_cast<double>(options.bytes()) / median(of) * 1e-9; };
    const auto per_gibibyte = [&](double of) { return of * static_cast<double>(GiB) / static_cast<double>(options.bytes()); };
    Json json = {{"benchmark", "recover"},
                 {"recipe", recipe(ranks, options.directory, options.repetitions)},
                 {"quick", options.quick},
                 {"statement",
                  "medians; recover: from looking for a killed job's pool until its file is durable and the pool is gone; "
                  "fio: io_uring, O_DIRECT, new file, with the fsync at its end"},
                 {"bytes", options.bytes()},
                 {"request_bytes", options.request_mebibytes * MiB},
                 {"depth", options.depth}};
    json["results"] = Json::array();
    json["results"].push_back({{"contender", "glean recover"},
                               {"seconds", median(seconds)},
                               {"seconds_per_gib", per_gibibyte(median(seconds))},
                               {"gb_per_s", rate(seconds)},
                               {"cpu_seconds", median(cpu)},
                               {"each_seconds", seconds}});
    for (const Fio& fio : fios) {
      const std::vector<double>& of = fio_times[fio.name];
      json["results"].push_back({{"contender", fio.name},
                                 {"seconds", median(of)},
                                 {"seconds_per_gib", per_gibibyte(median(of))},
                                 {"gb_per_s", rate(of)},
                                 {"glean_to_this", median(of) / median(seconds)},
                                 {"each_seconds", of}});
    }
    std::filesystem::remove_all(options.directory);
    write_json(json, options.json);
    return 0;
  });
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
