// SPDX-License-Identifier: BSD-3-Clause
//
// What the ranks of a session share: communicators, settings, the node's pool, the drain.
#pragma once

#include <mpi.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/config.hpp"
#include "drain/engine.hpp"
#include "glean/glean.hpp"
#include "plan/plan.hpp"
#include "pool/journal.hpp"
#include "report/report.hpp"

namespace glean::session {

// A closed output whose fate is not known yet, or an open one.
struct LiveOutput {
  pool::OutputKey key;
  std::string path;
  std::uint32_t steps_ended = 0;
  bool closed = false;
  bool delivered = false;   // its error has been thrown, or nobody wants to know
  std::optional<base::Error> failure;   // what was thrown
};

class Core {
 public:
  // Collective over `comm`, which is duplicated. Blocks while the pool's memory is touched.
  Core(MPI_Comm comm, const std::map<std::string, std::string>& settings);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] bool is_root() const { return rank_ == 0; }
  [[nodiscard]] const base::Settings& settings() const { return configuration_.settings; }   // on the root
  [[nodiscard]] double deadline_seconds() const { return deadline_seconds_; }
  [[nodiscard]] bool has_pool() const { return pool_ != nullptr; }
  [[nodiscard]] pool::Pool& pool() { return *pool_; }
  [[nodiscard]] pool::Recorder& recorder() { return *recorder_; }
  [[nodiscard]] bool closed() const { return closed_; }

  // -- outputs in the pool

  // A slot for a new output. On the root only; waits while all are in use.
  [[nodiscard]] pool::OutputKey claim_slot();
  [[nodiscard]] std::shared_ptr<LiveOutput> add(pool::OutputKey key, const std::string& path);
  // Tells the drain how far this rank is with an output. One system call.
  void report_progress(const LiveOutput& output, std::uint32_t flags = 0);
  // The error of a closed output that nobody has been told of yet. On the root; passed on by the caller.
  [[nodiscard]] std::optional<base::Error> undelivered_error();
  // Waits until `steps` of an output are at `level`. Local, blocks. `seconds` < 0: the configured deadline, which starts
  // anew whenever the drain makes progress. Throws the output's error, or timeout.
  void wait_for(LiveOutput& output, Level level, double seconds);
  // Waits for all outputs. Local, blocks.
  void wait_for_all(Level level, double seconds);
  // Forgets what is published, and on the root frees the slots of outputs whose errors are known.
  void forget_finished();
  // Who is missing, and what the drain still has to do.
  [[nodiscard]] std::string diagnose() const;

  void close();

  // -- what the report needs
  report::RankFigures& figures() { return figures_; }
  std::vector<report::PassthroughFigures>& passthrough() { return passthrough_; }
  [[nodiscard]] Statistics statistics() const;

 private:
  void set_up_pool(bool wanted);
  void write_report();
  [[nodiscard]] bool reached(const LiveOutput& output, Level level) const;
  [[nodiscard]] std::string diagnose(const LiveOutput& output) const;

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int ranks_ = 1;
  base::Configuration configuration_;
  double deadline_seconds_ = 300;
  plan::Plan plan_;
  std::uint64_t begin_ns_ = base::now_ns();
  double begin_realtime_seconds_ = 0;
  std::unique_ptr<pool::Pool> pool_;
  std::unique_ptr<pool::Recorder> recorder_;
  store::SystemCalls calls_;
  std::unique_ptr<drain::Engine> engine_;
  std::vector<std::shared_ptr<LiveOutput>> outputs_;
  report::RankFigures figures_;
  std::vector<report::PassthroughFigures> passthrough_;
  bool closed_ = false;
};

// Adds the time of a call to the blocked time of this rank.
class Blocked {
 public:
  explicit Blocked(Core& core) : core_(core), begin_ns_(base::now_ns()) {}
  ~Blocked() { core_.figures().blocked_ns += base::now_ns() - begin_ns_; }
  Blocked(const Blocked&) = delete;
  Blocked& operator=(const Blocked&) = delete;

 private:
  Core& core_;
  std::uint64_t begin_ns_;
};

}  // namespace glean::session
