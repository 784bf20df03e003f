// SPDX-License-Identifier: BSD-3-Clause
//
// The files that calibrating writes: in a directory of their own, and gone whatever ends the process, SIGKILL included.
#pragma once

#include <sys/types.h>

#include <mutex>
#include <string>
#include <vector>

namespace glean::calibrate {

class Scratch {
 public:
  // Makes `directory` if it is not there: several processes can share one. Starts a small process that waits for the end of this one and
  // then removes what is named below, and the directory if nothing of others is in it. Throws what the system says.
  explicit Scratch(const std::string& directory);
  // When it returns, all that was named is gone. Blocks.
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // The path of the file with a name, which will be removed. From any thread.
  [[nodiscard]] std::string file(const std::string& name);
  [[nodiscard]] const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
  std::mutex naming_;
  std::vector<std::string> names_;
  int to_remover_ = -1;
  pid_t remover_ = -1;
};

}  // namespace glean::calibrate
