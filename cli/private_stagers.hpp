// SPDX-License-Identifier: BSD-3-Clause
//
// Stagers of one command: processes of this host that end with it.
#pragma once

#include <string>
#include <vector>

namespace glean::cli {

class PrivateStagers {
 public:
  // Starts so many, and sets the environment so that sessions find them. Their address file and key are in `directory`; they may write
  // wherever this user may. Throws base::Error when they do not start. Blocks.
  PrivateStagers(int stagers, const std::string& directory);
  // Ends those that are still there.
  ~PrivateStagers();
  PrivateStagers(const PrivateStagers&) = delete;
  PrivateStagers& operator=(const PrivateStagers&) = delete;

  // Lets them write what they have. False: some has left something in memory, and said so. Blocks.
  [[nodiscard]] bool finish();

 private:
  std::vector<int> processes_;
};

}  // namespace glean::cli
