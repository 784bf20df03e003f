// SPDX-License-Identifier: BSD-3-Clause
//
// Several times the pool's budget goes through a session, and what the kernel says about the memory of all ranks
// stays below the budget and the fixed amount of docs/memory.md.
//
//   memory_test DIRECTORY [POLICY [STEPS]]
//
// POLICY: what puts do when the pool is full, `block` unless it is given. A step is 16 MiB of all ranks: 640 are 10 GiB.
#include <mpi.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "glean/glean.hpp"

namespace {

constexpr std::uint64_t MiB = 1 << 20;
constexpr std::uint64_t budget_bytes = 64 * MiB;
// docs/memory.md: for each rank, and for the requests of the drain (threads × depth × request).
constexpr std::uint64_t fixed_bytes_per_rank = 8 * MiB + budget_bytes / 512;   // with the page tables
constexpr std::uint64_t spill_budget_bytes = 128 * MiB;
constexpr std::uint64_t drain_buffer_bytes = 1 * 2 * 4 * MiB;
int steps = 24;
std::string policy = "block";
constexpr std::uint64_t step_bytes = 16 * MiB;   // of all ranks

int failures = 0;
int rank = 0, ranks = 1;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "rank %d: not so: %s\n", rank, what.c_str());
}

// A field of a file in /proc that counts in kB, as bytes.
std::uint64_t field_bytes(const char* file, const std::string& field) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(field + ":", 0) != 0) continue;
    return std::stoull(line.substr(field.size() + 1)) * 1024;
  }
  return 0;
}

// What this process takes beside the pool: memory that n processes share counts as 1/n of it in each, and the page tables.
// The share of shared memory is not among it: it falls as others map the pool, so peaks of ranks at different times do
// not add up. pool_object_bytes() has the pool as a whole.
std::uint64_t memory_bytes() {
  return field_bytes("/proc/self/smaps_rollup", "Pss_Anon") + field_bytes("/proc/self/smaps_rollup", "Pss_File") +
         field_bytes("/proc/self/status", "VmPTE");
}

// Bytes of the shared memory objects of this library that this process maps, as the kernel has them.
std::uint64_t pool_object_bytes() {
  std::uint64_t bytes = 0;
  std::string last;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto at = line.find("/dev/shm/glean.");
    if (at == std::string::npos) continue;
    const std::string path = line.substr(at, line.find(' ', at) - at);
    struct stat status{};
    if (path == last || stat(path.c_str(), &status) != 0) continue;
    bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
    last = path;
  }
  return bytes;
}

// The most that this process takes while it is watched, looked at every few milliseconds.
class Watch {
 public:
  Watch() : thread_([this] { watch(); }) {}
  ~Watch() {
    stop_ = true;
    thread_.join();
  }
  [[nodiscard]] std::uint64_t peak_bytes() const { return peak_; }

 private:
  void watch() {
    while (!stop_) {
      peak_ = std::max(peak_.load(), memory_bytes());
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  std::atomic<bool> stop_ = false;
  std::atomic<std::uint64_t> peak_ = 0;
  std::thread thread_;
};

std::uint64_t sum(std::uint64_t mine) {
  MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return mine;
}

// What MPI needs for itself is there before anything is measured.
void warm_up_mpi() {
  MPI_Comm all = MPI_COMM_NULL, node = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  std::vector<char> bytes(64 * 1024);
  for (int i = 0; i < 20; ++i) {
    MPI_Bcast(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, all);
    sum(1);
    MPI_Barrier(node);
  }
  MPI_Comm_free(&node);
  MPI_Comm_free(&all);
}

// What this rank could not keep in the pool (a dropped step counts as 1); `block` keeps everything, later.
std::uint64_t policy_bytes(const glean::Statistics& statistics) {
  if (policy == "spill") return statistics.spilled_bytes;
  if (policy == "synchronous") return statistics.synchronous_bytes;
  return policy == "drop" ? statistics.steps_dropped : 1;
}

// At least `steps`, and until the pool was full once, however fast the drain is; `steps` are then those that were.
void write_steps(glean::Session& session, const std::string& path, const std::vector<double>& data) {
  glean::Output out = session.open(path, glean::Format::cdf5);
  const std::uint64_t mine = data.size();
  const glean::Dimension dimensions[] = {out.define_unlimited("time"),
                                         out.define_dimension("x", mine * static_cast<std::uint64_t>(ranks))};
  const glean::Variable variable = out.define_variable(
      "data", glean::Type::float64, dimensions, {{{mine * static_cast<std::uint64_t>(rank)}, {mine}}});
  int step = 0;
  for (; step < steps || (step < 10 * steps && sum(policy_bytes(session.statistics())) == 0); ++step) {
    out.begin_step();
    out.put(variable, data);
    out.end_step();
  }
  steps = step;
  out.close();
  out.wait(glean::Level::durable, 120);
}

int run(const std::string& directory) {
  if (rank == 0) std::filesystem::create_directories(directory);
  const std::string path = directory + "/memory.nc";
  const std::string spill_directory = directory + "/spill";
  if (rank == 0) std::filesystem::create_directories(spill_directory);
  const std::vector<double> data(step_bytes / static_cast<std::uint64_t>(ranks) / sizeof(double), 1.5);
  warm_up_mpi();
  const std::uint64_t before = sum(memory_bytes());

  const Watch watch;
  glean::Session session(MPI_COMM_WORLD, {{"pool.budget", std::to_string(budget_bytes)},
                                          {"drain.request", "4MiB"},
                                          {"drain.depth", "2"},
                                          {"drain.threads", "1"},
                                          {"full", policy},
                                          {"spill.directory", spill_directory},
                                          {"spill.budget", std::to_string(spill_budget_bytes)}});
  write_steps(session, path, data);
  const std::uint64_t object_bytes = pool_object_bytes();
  const glean::Statistics statistics = session.statistics();
  const std::uint64_t captured = sum(statistics.captured_bytes);
  const std::uint64_t peak = sum(watch.peak_bytes());
  session.close();
  expect(sum(policy_bytes(statistics)) > 0, "the pool was full, and the program did not just wait");
  const std::uint64_t kept = static_cast<std::uint64_t>(steps) - statistics.steps_dropped;
  if (rank == 0) {
    const std::uint64_t length = std::filesystem::file_size(path);
    expect(length > kept * step_bytes && length < kept * step_bytes + MiB, "every step that was kept is in the file");
  }

  expect(policy == "drop" || captured >= 5 * budget_bytes, "several times the budget went through: " + std::to_string(captured));
  expect(object_bytes > budget_bytes / 2, "the pool is found in /proc: " + std::to_string(object_bytes));
  expect(object_bytes <= budget_bytes, "the kernel has no more in shared memory: " + std::to_string(object_bytes));
  expect(statistics.pool_high_water_bytes <= budget_bytes, "the high-water mark is below the budget");
  expect(statistics.pool_high_water_bytes > budget_bytes / 8, "the high-water mark shows that the pool was used");
  const std::uint64_t more = object_bytes + (peak > before ? peak - before : 0);
  const std::uint64_t allowed =
      budget_bytes + drain_buffer_bytes + fixed_bytes_per_rank * static_cast<std::uint64_t>(ranks) +
      (policy == "spill" ? MiB * (1 + static_cast<std::uint64_t>(ranks)) : 0);
  expect(more <= allowed, "all ranks together took " + std::to_string(more) + " of " + std::to_string(allowed) + " bytes");
  if (rank == 0) {
    std::printf("%s: %llu MiB went through; the ranks took %.1f MiB, allowed are %.1f (pool: %.1f)\n",
                policy.c_str(), static_cast<unsigned long long>(captured / MiB), static_cast<double>(more) / MiB,
                static_cast<double>(allowed) / MiB, static_cast<double>(object_bytes) / MiB);
    std::filesystem::remove(path);
  }
  return failures;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int all = 1;
  try {
    if (argc > 2) policy = argv[2];
    if (argc > 3) steps = std::stoi(argv[3]);
    if (argc > 1) all = run(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: not caught: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
