// SPDX-License-Identifier: BSD-3-Clause
//
// Stagers of one command: processes of this host that end with it.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace glean::cli {

class PrivateStagers {
 public:
  // Starts so many, and sets the environment so that sessions find them. Their address file and key are in `directory`; they may write
  // wherever this user may. One that is killed is started again, and goes on. `view`: as `glean stage --view` has it; the URL of each view
  // is said when it is there; empty: none. Throws base::Error when they do not start. Blocks.
  PrivateStagers(int stagers, const std::string& directory, const std::string& view);
  // Ends those that are still there.
  ~PrivateStagers();
  PrivateStagers(const PrivateStagers&) = delete;
  PrivateStagers& operator=(const PrivateStagers&) = delete;

  // Lets them write what they have. False: some has left something in memory, and said so. Blocks.
  [[nodiscard]] bool finish();

 private:
  void watch();
  void stop_to_watch();
  void tell_views();
  [[nodiscard]] int wait_for(int process);   // its status, when it has ended

  std::vector<std::string> words_, environment_;   // of a stager
  std::vector<int> processes_;
  int output_ = -1, their_output_ = -1;            // the ends of a pipe in which they say where their views are; none without views
  std::string said_;                               // the beginning of a line of it
  std::mutex mutex_;
  std::condition_variable ends_now_;
  bool ends_ = false;
  std::thread watcher_;                            // uses processes_ until it ends
};

}  // namespace glean::cli
