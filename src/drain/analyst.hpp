// SPDX-License-Identifier: BSD-3-Clause
//
// Finds out of the steps of outputs what their descriptions ask for, while their bytes are in the pool: a thread that consumes complete
// steps, and one for each program of the user's.
// What each node has found is joined by the node that publishes the file, and appears as tables before it.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "analysis/results.hpp"
#include "base/condition.hpp"
#include "drain/consumers.hpp"
#include "drain/triggers.hpp"
#include "drain/user_analysis.hpp"

namespace glean::drain {

class Analyst {
 public:
  // `found`: something was found out of a step of an output. From the analyst's thread.
  using Found = std::function<void(pool::OutputKey output)>;
  // Everything must outlive it.
  Analyst(Consumers& consumers, pool::Pool& pool, Found found)
      : consumers_(consumers), pool_(pool), found_(std::move(found)), triggers_(pool.name()) {}
  ~Analyst() { stop(); }
  Analyst(const Analyst&) = delete;
  Analyst& operator=(const Analyst&) = delete;

  // -- the drain, with the engine's lock held
  // Before the consumers hear of it. `is_whole`: this drain sees all that is put.
  void opened(const DrainedOutput& output, bool is_whole);
  // Nothing of it waits to be looked at.
  [[nodiscard]] bool is_done_with(pool::OutputKey output) const;
  void ended(pool::OutputKey output);
  // What this node has found, and what others have.
  [[nodiscard]] analysis::OutputResults results(pool::OutputKey output) const;
  void add(pool::OutputKey output, const analysis::OutputResults& of_another_node);

  // Nothing more is looked at. Blocks until the step that is looked at is done with. No thread may hold the engine's lock.
  void stop();

 private:
  struct Analysed {
    analysis::Request request;
    bool is_raw = false;
    bool is_seen = false;   // by this node
    analysis::OutputResults results;
    Bytes bytes = 0;        // of the results
    std::optional<base::Condition> condition{};   // of its trigger
    std::set<std::uint64_t> fired{};              // steps for which it has held
  };
  void run();
  // What it could not look at it says. Does not throw.
  [[nodiscard]] static analysis::OutputResults look_at(const CompleteStep& step, const Analysed& asked);
  [[nodiscard]] static analysis::OutputResults results_of(const CompleteStep& step, const Analysed& asked);
  void keep(const CompleteStep& step, analysis::OutputResults results);
  // Of the steps whose condition holds by now. With the lock held.
  [[nodiscard]] std::vector<Fired> fired_by(const CompleteStep& step, Analysed& analysed, const analysis::OutputResults& added) const;
  // With the lock held.
  [[nodiscard]] bool is_held(pool::OutputKey output) const;
  void begin_to_reduce();
  void begin_to_run(const analysis::Program& program);

  Consumers& consumers_;
  pool::Pool& pool_;
  Found found_;
  Triggers triggers_;
  mutable std::mutex mutex_;
  std::map<pool::OutputKey, Analysed> outputs_;
  std::optional<Consumers::Id> consumer_;   // for what this thread finds out
  std::vector<std::unique_ptr<UserAnalysis>> programs_;
  bool is_stopped_ = false;
  std::thread thread_;   // started with the first output
};

}  // namespace glean::drain
