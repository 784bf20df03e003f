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
  // wherever this user may. One that is killed is started again, and goes on. Throws base::Error when they do not start. Blocks.
  PrivateStagers(int stagers, const std::string& directory);
  // Ends those that are still there.
  ~PrivateStagers();
  PrivateStagers(const PrivateStagers&) = delete;
  PrivateStagers& operator=(const PrivateStagers&) = delete;

  // Lets them write what they have. False: some has left something in memory, and said so. Blocks.
  [[nodiscard]] bool finish();

 private:
  void watch();
  void stop_to_watch();

  std::vector<std::string> words_, environment_;   // of a stager
  std::vector<int> processes_;
  std::mutex mutex_;
  std::condition_variable ends_now_;
  bool ends_ = false;
  std::thread watcher_;                            // uses processes_ until it ends
};

}  // namespace glean::cli
