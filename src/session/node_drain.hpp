// SPDX-License-Identifier: BSD-3-Clause
//
// Who drains the node's pool: threads of this process, or a helper process. Only rank 0 has one.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "base/settings.hpp"
#include "drain/engine.hpp"
#include "session/termination.hpp"

namespace glean::session {

class NodeDrain {
 public:
  // Starts it, and with DrainPlace::process waits until the helper drains. Throws when that fails.
  NodeDrain(pool::Pool& pool, const plan::Plan& plan, const base::DrainSettings& settings);
  // Without finish(): threads are stopped and what is not finished is lost; a helper goes on, as long as it is needed.
  ~NodeDrain() = default;
  NodeDrain(const NodeDrain&) = delete;
  NodeDrain& operator=(const NodeDrain&) = delete;

  // If the helper is gone, threads of this process go on where it was. Local, one system call.
  void keep_alive();
  // All outputs are finished. Waits until the last thread or the helper has ended. Blocks.
  void finish();
  // A process of its own will finish what all ranks have captured.
  [[nodiscard]] bool is_helper() const { return engine_ == nullptr; }
  // Complete after finish().
  [[nodiscard]] drain::DrainTrace trace() const;

 private:
  void start_threads();
  void end_with_process();

  pool::Pool& pool_;
  plan::Plan plan_;
  store::SystemCalls calls_;
  std::mutex ending_;
  std::unique_ptr<drain::Engine> engine_;   // nullptr: a helper drains
  drain::DrainTrace of_helper_;
  std::optional<OnTermination> on_termination_;   // where threads drain; last: it refers to all of it
};

}  // namespace glean::session
