// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler.hpp"

#include <cxxabi.h>
#include <ucontext.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "pool/futex.hpp"

namespace glean::schedule {
namespace {

constexpr std::size_t stack_bytes = 256 * 1024;
constexpr std::size_t points_max = 20'000;
constexpr int naps_max = 20;   // after a death

// What __cxa_get_globals() leads to: exceptions that are being handled, by this thread as the compiler sees it.
struct Exceptions {
  void* caught = nullptr;
  unsigned int uncaught = 0;
};

struct Fiber {
  enum class State { runnable, sleeps, joins, ended, dead };
  ucontext_t context{};
  Exceptions exceptions;
  State state = State::runnable;
  const void* word = nullptr;   // that it sleeps on
  int joined = -1;
};

class Scheduler {
 public:
  Scheduler(Scenario& scenario, Chooser& chooser, Waits waits, Trace trace)
      : scenario_(scenario), chooser_(chooser), waits_(waits), trace_(trace), processes_(scenario.processes()),
        fibers_(processes_.size()) {}

  Outcome run();
  [[nodiscard]] bool in_process() const { return current_ >= 0; }
  void point(const char* when, const char* operation, const void* word);
  void sleep(const void* word);
  void wake(const void* word);
  void join(int process);
  [[nodiscard]] bool is_dead(int process) const { return fiber(process).state == Fiber::State::dead; }
  [[noreturn]] void fail(std::string why);
  void note_operation(const char* operation, const void* word) {
    if (trace_ == Trace::yes) note(current_, std::string(operation) + " " + scenario_.name_of(word));
  }

 private:
  [[nodiscard]] Fiber& fiber(int process) { return fibers_[static_cast<std::size_t>(process)]; }
  [[nodiscard]] const Fiber& fiber(int process) const { return fibers_[static_cast<std::size_t>(process)]; }
  [[nodiscard]] const std::string& name(int process) const { return processes_[static_cast<std::size_t>(process)].name; }
  void note(int process, const std::string& what) {
    if (trace_ == Trace::yes) outcome_.trace.push_back(name(process) + ": " + what);
  }
  [[nodiscard]] std::string pending_of(int process) const;
  void prepare(int process);
  void find_options(bool can_go_on);
  void let_time_pass();
  [[nodiscard]] int decide();
  void leave(Fiber::State state);
  void switch_to(int process);
  static void enter();

  Scenario& scenario_;
  Chooser& chooser_;
  Waits waits_;
  Trace trace_;
  std::vector<Process> processes_;
  std::vector<Fiber> fibers_;
  Fiber main_;
  int current_ = -1;   // -1: none, the scheduler itself
  int turn_ = -1;      // that ran last
  std::vector<Option> options_;
  int naps_ = 0;
  Outcome outcome_;
};

Scheduler* running = nullptr;

// Processes are abandoned, not unwound: the next schedule takes their stacks.
std::byte* stack_of(std::size_t process) {
  static std::vector<std::unique_ptr<std::byte[]>> stacks;
  while (stacks.size() <= process) stacks.push_back(std::make_unique_for_overwrite<std::byte[]>(stack_bytes));
  return stacks[process].get();
}

void Scheduler::prepare(int process) {
  Fiber& fiber = this->fiber(process);
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = stack_of(static_cast<std::size_t>(process));
  fiber.context.uc_stack.ss_size = stack_bytes;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, &Scheduler::enter, 0);
}

void Scheduler::enter() {
  Scheduler& self = *running;
  const auto& process = self.processes_[static_cast<std::size_t>(self.current_)];
  try {
    process.body();
  } catch (const std::exception& error) {
    self.fail(process.name + " threw: " + error.what());
  }
  self.leave(Fiber::State::ended);
}

Outcome Scheduler::run() {
  running = this;
  for (int process = 0; process < static_cast<int>(fibers_.size()); ++process) prepare(process);
  switch_to(decide());
  if (outcome_.failure.empty()) {
    try {
      scenario_.check_end();
    } catch (const std::exception& error) {
      outcome_.failure = std::string("at the end: ") + error.what();
    }
  }
  running = nullptr;
  return std::move(outcome_);
}

void Scheduler::switch_to(int process) {
  if (process == current_) return;
  Fiber& from = current_ < 0 ? main_ : fiber(current_);
  Fiber& to = process < 0 ? main_ : fiber(process);
  current_ = process;
  if (process >= 0) turn_ = process;
  auto* exceptions = reinterpret_cast<Exceptions*>(abi::__cxa_get_globals());
  from.exceptions = *exceptions;
  *exceptions = to.exceptions;
  swapcontext(&from.context, &to.context);
}

void Scheduler::fail(std::string why) {
  if (current_ < 0) throw std::runtime_error(why);
  outcome_.failure = std::move(why);
  switch_to(-1);
  std::abort();   // no process comes back here
}

void Scheduler::point(const char* when, const char* operation, const void* word) {
  if (++outcome_.points > points_max) fail("does not come to an end");
  const int self = current_;
  const int next = decide();
  if (is_dead(self) && trace_ == Trace::yes) {
    note(self, std::string("is killed ") + when + " " + operation + " " + scenario_.name_of(word));
  }
  switch_to(next);
}

void Scheduler::leave(Fiber::State state) {
  fiber(current_).state = state;
  if (state == Fiber::State::ended) note(current_, "ends");
  switch_to(decide());
}

void Scheduler::sleep(const void* word) {
  fiber(current_).word = word;
  if (trace_ == Trace::yes) note(current_, "sleeps on " + scenario_.name_of(word));
  leave(Fiber::State::sleeps);
}

void Scheduler::wake(const void* word) {
  for (Fiber& fiber : fibers_) {
    if (fiber.state == Fiber::State::sleeps && fiber.word == word) fiber.state = Fiber::State::runnable;
  }
}

void Scheduler::join(int process) {
  fiber(current_).joined = process;
  leave(Fiber::State::joins);
}

void Scheduler::find_options(bool can_go_on) {
  using State = Fiber::State;
  const int count = static_cast<int>(fibers_.size());
  options_.clear();
  for (Fiber& fiber : fibers_) {
    if (fiber.state != State::joins) continue;
    const State joined = this->fiber(fiber.joined).state;
    if (joined == State::ended || joined == State::dead) fiber.state = State::runnable;
  }
  for (int step = can_go_on ? 0 : 1; step < count + (can_go_on ? 0 : 1); ++step) {
    const int process = (turn_ + step + count) % count;
    if (fiber(process).state == State::runnable) options_.push_back({Option::Kind::run, process});
  }
  if (options_.empty()) return;
  if (waits_ == Waits::or_wake_early) {
    for (int process = 0; process < count; ++process) {
      if (fiber(process).state == State::sleeps) options_.push_back({Option::Kind::wake_early, process});
    }
  }
  if (can_go_on && !outcome_.died && processes_[static_cast<std::size_t>(current_)].fate == Fate::may_die) {
    options_.push_back({Option::Kind::kill, current_});
  }
}

std::string Scheduler::pending_of(int process) const {
  const Fiber& fiber = this->fiber(process);
  if (fiber.state == Fiber::State::sleeps) return name(process) + " sleeps on " + scenario_.name_of(fiber.word);
  return name(process) + " waits for " + name(fiber.joined);
}

// No process can run: the sleeps of all that are left time out.
void Scheduler::let_time_pass() {
  std::string waiting;
  bool any_sleeps = false;
  for (int process = 0; process < static_cast<int>(fibers_.size()); ++process) {
    Fiber& fiber = this->fiber(process);
    if (fiber.state != Fiber::State::sleeps && fiber.state != Fiber::State::joins) continue;
    waiting += (waiting.empty() ? "" : ", ") + pending_of(process);
    if (fiber.state == Fiber::State::joins) continue;
    any_sleeps = true;
    fiber.state = Fiber::State::runnable;
    note(process, "has slept long enough");
  }
  if (waiting.empty()) return;
  if (!any_sleeps) fail("deadlock: " + waiting);
  if (!outcome_.died) fail("no process will wake them: " + waiting);
  if (++naps_ > naps_max) fail("a process died, and the others are never woken: " + waiting);
}

// The process that goes on; -1 when all have ended.
int Scheduler::decide() {
  for (;;) {
    const bool can_go_on = current_ >= 0 && fiber(current_).state == Fiber::State::runnable;
    find_options(can_go_on);
    if (options_.empty()) {
      let_time_pass();
      find_options(current_ >= 0 && fiber(current_).state == Fiber::State::runnable);
      if (options_.empty()) return -1;
    }
    const Option chosen = options_[options_.size() == 1 ? 0 : chooser_.choose(options_, can_go_on)];
    switch (chosen.kind) {
      case Option::Kind::run: return chosen.process;
      case Option::Kind::wake_early:
        fiber(chosen.process).state = Fiber::State::runnable;
        note(chosen.process, "wakes early");
        return chosen.process;
      case Option::Kind::kill:
        fiber(chosen.process).state = Fiber::State::dead;
        outcome_.died = true;
    }
  }
}

}  // namespace

void point(const char* operation, const void* word) {
  if (running == nullptr || !running->in_process()) return;
  running->point("before", operation, word);
  running->note_operation(operation, word);
}

void point_after(const char* operation, const void* word) {
  if (running != nullptr && running->in_process()) running->point("after", operation, word);
}

Outcome run(Scenario& scenario, Chooser& chooser, Waits waits, Trace trace) {
  return Scheduler(scenario, chooser, waits, trace).run();
}

void require(bool condition, const std::string& what) {
  if (!condition) running->fail(what);
}

bool is_dead(int process) { return running->is_dead(process); }
void wait_for_end(int process) { running->join(process); }

}  // namespace glean::schedule

// In place of src/pool/futex.cpp.
namespace glean::pool {

void futex_wait(Atomic<std::uint32_t>& word, std::uint32_t expected, std::uint64_t /*timeout_ns*/) {
  // No process comes in between the look and the sleep.
  if (word.load(std::memory_order_relaxed) == expected) schedule::running->sleep(&word);
}

void futex_signal(Atomic<std::uint32_t>& word) {
  word.fetch_add(1);
  schedule::point("wake", &word);
  schedule::running->wake(&word);
}

}  // namespace glean::pool
