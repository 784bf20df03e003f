// SPDX-License-Identifier: BSD-3-Clause
//
// A program of the user's that looks at complete steps: a thread that consumes them and asks a process for each (hosting/host_process.hpp).
// What it pins is given back as soon as the process has answered, or is lost.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "analysis/results.hpp"
#include "drain/consumers.hpp"
#include "hosting/host_process.hpp"
#include "hosting/step_message.hpp"

namespace glean::drain {

class UserAnalysis {
 public:
  struct Calls {
    // Of which outputs it gets the steps.
    std::function<bool(const DrainedOutput& output)> wants;
    // What was found out of a step, before that is given back. From its thread, as the next.
    std::function<void(const CompleteStep& step, analysis::OutputResults results)> keep;
    // The step is given back.
    std::function<void(pool::OutputKey output)> found;
  };
  // Everything must outlive it. Throws where what it may pin is too much, and where there can be no thread.
  UserAnalysis(Consumers& consumers, pool::Pool& pool, const analysis::Program& program, Calls calls);
  ~UserAnalysis() { stop(); }
  UserAnalysis(const UserAnalysis&) = delete;
  UserAnalysis& operator=(const UserAnalysis&) = delete;

  [[nodiscard]] const analysis::Program& program() const { return program_; }
  // A step of the output waits for it. Any thread.
  [[nodiscard]] bool holds(pool::OutputKey output) const { return consumers_.holds(consumer_, output); }
  // Nothing more is looked at: the process is ended. Blocks.
  void stop();

 private:
  void run();
  // Does not throw.
  [[nodiscard]] analysis::OutputResults look_at(const CompleteStep& step);
  [[nodiscard]] analysis::ProgramResult ask(const hosting::SeenStep& step);
  void start();
  void has_lost(const std::string& why);
  void give_up(const std::string& why);
  void say(const std::string& line);

  Consumers& consumers_;
  pool::Pool& pool_;
  analysis::Program program_;
  Calls calls_;
  Consumers::Id consumer_ = 0;
  std::atomic<bool> is_stopping_{false};
  // -- its thread
  std::unique_ptr<hosting::HostProcess> process_;
  std::uint64_t lost_ = 0;          // processes
  std::string given_up_{};          // why; empty: it is not
  std::uint64_t said_since_ns_ = 0, said_ = 0, unsaid_ = 0;   // lines
  std::thread thread_;
};

// What a step is for a program: a raw output has one step, and its records are what the program counts as steps.
[[nodiscard]] std::vector<hosting::SeenStep> seen_steps(const CompleteStep& step);

}  // namespace glean::drain
