// SPDX-License-Identifier: BSD-3-Clause
//
// The view of a pool that is drained, served by the process that drains it (setting `view`).
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "drain/engine.hpp"
#include "pool/pool.hpp"
#include "view/live/live_source.hpp"
#include "view/server.hpp"

namespace glean::view {

class LiveView {
 public:
  // `where`: as the setting `view` has it; empty: nothing is served, and this does nothing. What goes wrong is logged: no run fails for a
  // view. Writes the URL, which lets in whatever reads it, into a file of the working directory that only this user reads, and logs where.
  LiveView(drain::Engine& engine, pool::Pool& pool, const std::string& where);
  // Both must still be there, and the engine not be stopped. Removes the file.
  ~LiveView();
  // In the working directory; empty: nothing is served.
  [[nodiscard]] const std::string& url_file() const { return url_file_; }
  LiveView(const LiveView&) = delete;
  LiveView& operator=(const LiveView&) = delete;

 private:
  void run();
  void write_url(const pool::Pool& pool);

  std::unique_ptr<LiveSource> source_;
  std::unique_ptr<Server> server_;
  std::string url_file_;
  std::atomic<bool> is_stopped_{false};
  std::thread thread_;
};

}  // namespace glean::view
