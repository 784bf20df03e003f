// SPDX-License-Identifier: BSD-3-Clause
//
// What all benchmarks need: ranks, time, medians, the description of the machine, JSON.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace glean::benchmarks {

// Keys stay in the order in which they were added.
using Json = nlohmann::ordered_json;

inline constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;

// MPI_Init and MPI_Finalize, and what benchmarks do between ranks.
class Ranks {
 public:
  Ranks(int& argc, char**& argv);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] bool root() const { return rank_ == 0; }
  // All ranks are here; for what is measured right after it. Collective, spins.
  void start_line() const;
  // For long waits: takes no processor time from ranks that still work. Collective.
  void wait_quietly() const;
  [[nodiscard]] double max(double mine) const;                // Collective.
  [[nodiscard]] double sum(double mine) const;                // Collective.
  [[nodiscard]] double of_root(double value) const;           // Collective.

 private:
  int rank_ = 0;
  int count_ = 1;
};

[[nodiscard]] double now_seconds();   // monotonic
[[nodiscard]] double cpu_seconds();   // of this process, all threads, user and system
[[nodiscard]] double median(std::vector<double> values);

// The machine, the file system of `directory`, and the versions: what a figure means nothing without.
[[nodiscard]] Json recipe(const Ranks& ranks, const std::string& directory, int repetitions);

// Makes `directory`, empty, and waits until its file system has nothing left to write. On the root only.
void empty_directory(const std::string& directory);
void synchronize_file_system(const std::string& directory);
void synchronize_file(const std::string& path);

// To `path`, or to standard output when it is empty.
void write_json(const Json& json, const std::string& path);

// Memory shared like a pool's, with all its pages there and mapped.
class SharedRegion {
 public:
  explicit SharedRegion(std::uint64_t bytes);
  ~SharedRegion();
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

// Runs `body`; an error of one rank ends the whole run, so that none waits for ever. Returns the exit status.
template <class Body>
int run_or_abort(Body body);

}  // namespace glean::benchmarks

#include <cstdio>
#include <exception>

template <class Body>
int glean::benchmarks::run_or_abort(Body body) {
  try {
    return body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
  }
}
