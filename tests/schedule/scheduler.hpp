// SPDX-License-Identifier: BSD-3-Clause
//
// Runs virtual processes on one thread, one at a time, and lets a chooser decide before each operation on a shared word
// which process goes on, dies, or wakes. The same choices give the same run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace glean::schedule {

enum class Fate { survives, may_die };

struct Process {
  std::string name;
  std::function<void()> body;
  Fate fate = Fate::survives;
};

// Some processes and what has to be true of them. Made anew for each schedule.
class Scenario {
 public:
  virtual ~Scenario() = default;
  [[nodiscard]] virtual std::vector<Process> processes() = 0;
  virtual void check_end() = 0;   // when all processes have ended or died: calls require()
  [[nodiscard]] virtual std::string name_of(const void* word) const = 0;
};

using MakeScenario = std::function<std::unique_ptr<Scenario>()>;

// What can happen next. The first option is the plain one: the process that runs goes on, or the next that can takes over.
struct Option {
  enum class Kind { run, wake_early, kill };
  Kind kind;
  int process;
};

class Chooser {
 public:
  virtual ~Chooser() = default;
  // One of `options`, of which there are two at least. `interrupts`: any but the first takes the processor away from
  // a process that could go on.
  [[nodiscard]] virtual std::size_t choose(const std::vector<Option>& options, bool interrupts) = 0;
};

enum class Waits { until_signalled, or_wake_early };
enum class Trace { no, yes };

struct Outcome {
  std::string failure;   // empty: none
  std::vector<std::string> trace;
  std::size_t points = 0;
  bool died = false;
};

// One schedule. At most one process dies. Fails when a condition does not hold, when a process sleeps that none will
// wake (only a death excuses that a sleep lasts until its time is over), and when it does not come to an end.
[[nodiscard]] Outcome run(Scenario& scenario, Chooser& chooser, Waits waits, Trace trace);

// For processes and check_end().
void require(bool condition, const std::string& what);   // ends the schedule as a failure
[[nodiscard]] bool is_dead(int process);
void wait_for_end(int process);                          // until it has ended or is dead

}  // namespace glean::schedule
