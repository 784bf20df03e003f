// SPDX-License-Identifier: BSD-3-Clause
//
// Programs without MPI for tests: threads play the ranks of a node and put made-up data into outputs, and an obvious
// writer says what the files must be.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "capture/full_pool_policy.hpp"
#include "drain/engine.hpp"
#include "pool/test_pool.hpp"

namespace glean::tests {

using base::Bytes;
using base::Extent;

struct VirtualPut {
  std::uint64_t step = 0;
  int rank = 0;
  std::uint32_t variable = 0;
  mesh::Type memory = mesh::Type::int32;
  mesh::Box box;
};

struct VirtualOutput {
  store::OutputDescription description;
  std::uint64_t steps = 0;
  std::vector<VirtualPut> puts;   // in the order of steps; within a step in any order

  // A few variables, fixed ones and records, of all types, put in part or whole by `ranks`.
  static VirtualOutput random(std::mt19937& random, int ranks, std::uint64_t steps, const std::string& final_path);
  // What format library and ranks would have made of it.
  [[nodiscard]] std::vector<std::byte> file() const;
  // The file if only these steps had been begun, ascending.
  [[nodiscard]] std::vector<std::byte> file_of(const std::vector<std::uint64_t>& kept) const;
  // As the format library leaves it: only the header.
  void create_working_file() const;
};

// What the output were, had it ended after so many steps.
[[nodiscard]] VirtualOutput first_steps(VirtualOutput output, std::uint64_t steps);

// Element `position` of a step of a variable: a small number that every type can hold.
[[nodiscard]] int value_of(std::uint32_t variable, std::uint64_t step, std::uint64_t position);

// All ranks put all outputs, step by step, and close them. A put that throws loses its output, as in a session.
class VirtualRanks {
 public:
  VirtualRanks(pool::TestPool& pool, double deadline_seconds = 30) : pool_(pool), deadline_seconds_(deadline_seconds) {}
  // What puts do when the pool is full, and through which calls.
  VirtualRanks(pool::TestPool& pool, base::WhenFull full, store::SystemCalls& calls)
      : pool_(pool), full_(full), calls_(&calls) {}

  // Opens the outputs and runs the ranks as threads until they have closed them all. Returns the errors of ranks.
  std::vector<std::string> run(const std::vector<VirtualOutput>& outputs);

  // -- the single calls that run() consists of
  pool::OutputKey open(pool::Recorder& recorder, const VirtualOutput& output);
  static void put(pool::TestPool& pool, pool::Recorder& recorder, pool::OutputKey key, const VirtualOutput& output,
                  const VirtualPut& put);
  static void put(capture::FullPoolPolicy& policy, base::WhenFull full, pool::OutputKey key, const VirtualOutput& output,
                  const VirtualPut& put);
  void report(pool::Recorder& recorder, pool::OutputKey key, int rank, std::uint32_t progress);
  [[nodiscard]] pool::Recorder recorder(int rank) const;

  [[nodiscard]] const std::vector<pool::OutputKey>& keys() const { return keys_; }
  // The figures of all ranks, after run().
  [[nodiscard]] const capture::FullPoolPolicy::Figures& figures() const { return figures_; }

 private:
  void run_rank(int rank, const std::vector<VirtualOutput>& outputs);

  pool::TestPool& pool_;
  double deadline_seconds_ = 30;
  base::WhenFull full_ = base::WhenFull::block;
  store::SystemCalls own_calls_;
  store::SystemCalls* calls_ = &own_calls_;
  std::mutex figures_mutex_;
  capture::FullPoolPolicy::Figures figures_;
  std::vector<pool::OutputKey> keys_;
  std::atomic<std::size_t> opened_ = 0;
  std::vector<std::string> errors_;
};

// Waits until no output of `keys` is open. False when that takes too long.
[[nodiscard]] bool wait_until_finished(pool::Pool& pool, const std::vector<pool::OutputKey>& keys, double seconds = 30);

[[nodiscard]] std::optional<std::vector<std::byte>> bytes_of_file(const std::string& path);

}  // namespace glean::tests
