// SPDX-License-Identifier: BSD-3-Clause
//
// Files that each rank writes for itself, and that are gathered in containers (src/gather): calls that have their names are led to where
// the files are. Only names are looked at, so that whatever a program does with an open file is the system's business.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "gather/listed_names.hpp"
#include "gather/placing.hpp"
#include "session/core.hpp"

namespace glean::posix {

// From now on the ranks' files that a rule names are gathered, if there is such a rule. Collective over the ranks of each node. Says what
// cannot be.
void begin_gathering(session::Core& core);
// Gathers what is closed. What is still open stays on the node until `glean run` or `glean recover` gathers it. Collective over all ranks.
void end_gathering(session::Core& core) noexcept;
// Where the ranks do not come together any more: gathers what is closed on this node, if this process watches it. Local, blocks.
void leave_gathering() noexcept;

// Around the program's call that looks at a path. Any thread; not in a signal handler. Costs a load where nothing is gathered, and else
// looking at the last part of the path.
class Led {
 public:
  // `path`: nullptr for a call that is not the program's.
  Led(int directory, const char* path, gather::Intent intent) noexcept;
  ~Led();
  Led(const Led&) = delete;
  Led& operator=(const Led&) = delete;
  // Where the file is; nullptr: where the program says.
  [[nodiscard]] const char* path() const { return is_led_ ? path_.c_str() : nullptr; }
  // The call has opened it: when this descriptor is closed, it may be complete.
  void opened(int descriptor) noexcept;
  void opened(FILE* stream) noexcept;

 private:
  std::string path_;
  std::optional<gather::NodeLock> lock_;
  bool is_led_ = false, writes_ = false;
};

// This process has such files. Costs a load.
[[nodiscard]] bool is_gathering() noexcept;
// What the directory has besides what the file system lists of it.
[[nodiscard]] std::vector<gather::ListedName> gathered_names(int directory, const char* path) noexcept;
// The path is a file on the node or in a container, which is not brought out of it.
[[nodiscard]] bool is_gathered(int directory, const char* path) noexcept;

// unlink() and rename(): true, they are done. `error`: 0, or what they fail with.
[[nodiscard]] bool removes_gathered(int directory, const char* path) noexcept;
[[nodiscard]] bool renames_gathered(int from_directory, const char* from, int to_directory, const char* to, int& error) noexcept;

// Around a call that closes a descriptor.
class Closing {
 public:
  explicit Closing(int descriptor) noexcept;
  // When the call has been made.
  void done() noexcept;

 private:
  std::optional<std::pair<std::uint64_t, std::uint64_t>> file_;   // device and inode
};

}  // namespace glean::posix
