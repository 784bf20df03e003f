// SPDX-License-Identifier: BSD-3-Clause
//
// What drains the node's pool: threads of this process, or a helper process. Only rank 0 has one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/settings.hpp"
#include "drain/engine.hpp"
#include "session/termination.hpp"

namespace glean::view {
class LiveView;
}

namespace glean::session {

class NodeDrain {
 public:
  // Starts it, and with DrainPlace::process waits until the helper drains; another process that does already is as good as a
  // helper. Throws when that fails; not if the helper is killed there, see keep_alive().
  // A helper that does not begin for so long, 30 s at most, is an error.
  // `view`: the setting.
  NodeDrain(pool::Pool& pool, const plan::NodePlan& plan, const base::DrainSettings& settings, double deadline_seconds,
            const std::string& view = {});
  // Without finish(): threads are stopped and what is not finished is lost; a helper goes on, as long as it is needed.
  ~NodeDrain();
  NodeDrain(const NodeDrain&) = delete;
  NodeDrain& operator=(const NodeDrain&) = delete;

  // If the helper is gone, threads of this process go on where it was; where they cannot be started, a later call tries again. Of
  // several nodes no process can. What cannot be is said once. Local, one system call.
  void keep_alive();
  // All outputs are finished. Waits until the last thread or the helper has ended. Blocks.
  void finish(drain::Engine::Unfinished unfinished = drain::Engine::Unfinished::discard);
  // Where threads drain, and ranks were killed or the other nodes cannot be talked to: when no other rank is left, and until then
  // 5 s at most, what all ranks have captured is completed; else, and of several nodes always, it stays for `glean recover`.
  // Nothing the second time. Any thread. Blocks.
  void end_without_ranks(const char* why);
  // Nothing more is written at once, for storage that hangs: what all ranks have captured stays for `glean recover`, or a helper completes
  // it when they are gone. As above.
  void leave_unfinished(const char* why);
  // A process of its own will finish what all ranks have captured.
  [[nodiscard]] bool is_helper() const;
  // Opens the files of new outputs here and now. False: a helper does that, which has not been told.
  [[nodiscard]] bool adopt_now();
  // Where threads of this process drain.
  [[nodiscard]] drain::Engine& engine() { return *engine_; }
  // The pool is not this process's to remove: a helper still needs it, or has been left to `glean recover`.
  [[nodiscard]] bool leaves_the_pool() const;
  // Complete after finish().
  [[nodiscard]] drain::DrainTrace trace() const;

 private:
  void start_threads();
  void start_to_watch();
  void watch();
  void stop_to_watch();

  pool::Pool& pool_;
  plan::NodePlan plan_;
  std::string command_;   // setting drain.command
  std::string view_;      // setting view
  store::SystemCalls calls_;
  std::mutex ending_;
  bool keeps_some_ = false;   // after finish(): outputs that the storage has refused
  std::atomic<bool> ended_without_ranks_ = false;
  std::unique_ptr<drain::Engine> engine_;   // nullptr: a helper drains
  std::unique_ptr<view::LiveView> live_view_;   // while the engine drains
  drain::DrainTrace of_helper_;

  // Ranks may wait for the drain while this one is in a call of MPI, waiting for them: so a thread sees that the helper is
  // gone. It and the application's thread take turns with what is above.
  bool is_lost_ = false;
  mutable std::mutex taking_over_;
  std::condition_variable watched_enough_;
  bool ends_ = false;
  std::thread watcher_;
  std::optional<OnTermination> on_termination_;   // where threads drain; last: it refers to all of it
};

}  // namespace glean::session
