// SPDX-License-Identifier: BSD-3-Clause
//
// One drain thread's hands: buffers, and requests in flight.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "drain/output_drain.hpp"
#include "drain/spill.hpp"
#include "plan/node_plan.hpp"
#include "store/posix/writer.hpp"

namespace glean::drain {

// Owned by one thread.
class Worker {
 public:
  // Says how a job ended: error is null on success.
  using Done = std::function<void(const Job&, const base::Error* error)>;
  // Sees what was assembled before it is written; false: do not write it.
  using Inspect = std::function<bool(const Job&, const store::Assembled&)>;

  // Where the system reads what it writes: `pool`, of long stretches that are there as in the file.
  enum class From { buffers, pool };
  Worker(const plan::NodePlan& plan, store::SystemCalls& calls, std::unique_ptr<store::Writer> writer, Inspect inspect,
         Done done, SpillFiles* spill = nullptr, From from = From::buffers);

  // Assembles a window and hands its requests to the system. Blocks while all buffers are in use.
  void write(const Job& job);
  [[nodiscard]] bool busy() const { return !in_flight_.empty(); }
  // Waits for at least one request to complete.
  void wait();
  // Takes what has completed.
  void poll();

  [[nodiscard]] store::WriteCounters counters() const;
  [[nodiscard]] std::uint64_t from_pool_bytes() const { return from_pool_bytes_; }
  [[nodiscard]] const std::array<std::uint64_t, DrainTrace::size_classes>& request_sizes() const { return sizes_; }

 private:
  struct InFlight {
    Job job;
    std::byte* buffer;
    std::size_t unfinished;   // requests
    Bytes from_pool;
    int error = 0;
  };
  struct Unmap {
    Bytes bytes;
    void operator()(std::byte* memory) const;
  };
  [[nodiscard]] store::Assembled assemble_job(const Job& job, std::byte* buffer, const store::MayStay& may_stay);
  void reap(store::Writer::Reap how);
  void replace_writer(const base::Error& error);

  store::SystemCalls& calls_;
  Inspect inspect_;
  Done done_;
  SpillFiles* spill_;
  From from_;
  std::vector<std::byte> spilled_;   // the last that was read
  std::unique_ptr<std::byte, Unmap> memory_;
  std::vector<std::byte*> free_buffers_;
  std::unique_ptr<store::Writer> writer_;   // after the memory: requests end before it goes
  std::unordered_map<std::uint64_t, InFlight> in_flight_;
  std::uint64_t next_tag_ = 0;
  store::WriteCounters earlier_;   // of the writer before
  std::uint64_t from_pool_bytes_ = 0;
  std::array<std::uint64_t, DrainTrace::size_classes> sizes_{};
};

}  // namespace glean::drain
