// SPDX-License-Identifier: BSD-3-Clause
//
// Watches the files of a node while its job runs, and gathers what is complete, in a thread.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gather/gathering.hpp"
#include "gather/known_containers.hpp"
#include "gather/node_files.hpp"

namespace glean::gather {

// The process runs, and has not begun to end.
[[nodiscard]] bool is_alive(pid_t process);

class Gatherer {
 public:
  // `ranks`: the processes of the node. While they all live, a file that nothing writes any more is one that the program has closed.
  Gatherer(const NodeFiles& files, std::vector<pid_t> ranks);
  ~Gatherer();
  Gatherer(const Gatherer&) = delete;
  Gatherer& operator=(const Gatherer&) = delete;

  // Ends the thread; then gathers everything that is closed, whether its container is complete or not. Returns a line for each container
  // that could not be written. Blocks.
  [[nodiscard]] std::vector<std::string> finish();
  // What has been gathered so far. When the thread has ended.
  struct Totals {
    std::uint64_t files = 0, bytes = 0, containers = 0;   // a file that was written again counts again
  };
  [[nodiscard]] Totals totals() const;
  // Ends the thread, and leaves everything as it is.
  void stop() noexcept;

 private:
  struct Progress {
    std::size_t changes = 0;        // closed and removed files
    std::uint64_t changed_ns = 0;   // when their number was another one
    std::uint64_t begun_ns = 0;     // when the first of them was there
    std::size_t in_container = 0;   // files, when this thread has written it
    std::uint64_t files = 0, bytes = 0;   // gathered
    std::uint64_t retry_ns = 0;
    std::uint64_t order = 0;        // in which they appeared
    std::size_t rule = 0;
  };
  void run();
  void look();
  [[nodiscard]] bool settle(const Family& family, Family::Otherwise otherwise);
  [[nodiscard]] bool is_complete(const Family& family, Progress& progress);
  [[nodiscard]] bool replaces_all(const Family& family, const std::vector<std::string>& closed, const std::vector<std::string>& removed);
  [[nodiscard]] std::string try_to_gather(const Family& family, Progress& progress);

  NodeFiles files_;
  GatherRules rules_;
  std::vector<pid_t> ranks_;
  std::map<std::string, Progress> progress_;   // by container
  KnownContainers containers_;
  std::uint64_t order_ = 0;
  std::mutex lock_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace glean::gather
