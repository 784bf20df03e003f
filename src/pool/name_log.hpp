// SPDX-License-Identifier: BSD-3-Clause
//
// The log of names: files that the program has removed, replaced or renamed while what it closed before is still on its way to the
// storage. Such a change takes effect at once, and the log says what is left to do when that way has ended, well or not.
//
// The log is a file in shared memory beside the pool, so that a process that may only look at the pool can add to it. One process reads
// or changes it at a time. Nothing here allocates memory: a program may remove a file in a signal handler. The format is described in
// docs/formats/pool.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pool/pool.hpp"

namespace glean::pool {

// Outputs that were closed before something else, by slot: their generations. 0: none in that slot.
using Fence = std::array<std::uint32_t, output_slots>;
[[nodiscard]] bool is_empty(const Fence& fence) noexcept;

struct NameChange {
  enum class Kind : std::uint32_t {
    removed = 1,   // the file has the hidden name until the fence is durable, and gets its name back if the fence fails; an output that is
                   // not published yet appears under the hidden name, is given up, or appears under its own
    replaced,      // the same of a file whose name another one has got
    renamed,       // the output, closed and not yet published, becomes the file `path`; an empty path: it was removed
  };
  enum class State : std::uint32_t { free, waiting, stays };   // stays: under its hidden name, because its own is taken
  Kind kind{};
  State state = State::free;
  std::uint64_t device = 0, inode = 0;   // removed, replaced: of the file
  Fence fence{};                         // removed, replaced: what has to be durable
  OutputKey output;                      // renamed; removed: an output that was not published then, generation 0: none
  std::array<char, 4096> path{};         // removed, replaced: the file, absolute; renamed: where the output is to appear
  std::array<char, 4096> hidden{};       // removed, replaced: absolute; renamed: the new working path, empty: as before
};

// The name under which a removed file lives on, in its own directory: ".NAME.glean-JOB-NUMBER.removed", where JOB tells the session and
// the host. False: that is longer than a name may be.
[[nodiscard]] bool hidden_path(std::string_view path, std::string_view job, std::uint64_t number, std::array<char, 4096>& hidden) noexcept;
// The name that a file had whose name in its directory is `hidden`; empty: it is no such name. And the job.
struct HiddenName {
  std::string_view name, job;
};
[[nodiscard]] std::optional<HiddenName> parse_hidden(std::string_view hidden) noexcept;
// What stands for JOB in the hidden names of its session on this host. Local.
[[nodiscard]] std::string hidden_job(const std::string& pool);

class NameLog {
 public:
  // Opens the log of the pool and locks it; blocks while another process or thread has it. Without `make` there may be none.
  enum class Make { no, yes };
  NameLog(const std::string& pool, Make make) noexcept;
  ~NameLog();
  NameLog(const NameLog&) = delete;
  NameLog& operator=(const NameLog&) = delete;

  // False: there is no log, it cannot be opened, or this thread has it already (a signal handler has interrupted it).
  [[nodiscard]] bool is_there() const noexcept { return descriptor_ >= 0; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  // False: it could not be read, or written. A new change has the number count().
  [[nodiscard]] bool read(std::uint64_t number, NameChange& change) const noexcept;
  [[nodiscard]] bool write(std::uint64_t number, const NameChange& change) noexcept;
  // The number of the next hidden name of the session. It only grows.
  [[nodiscard]] std::uint64_t next_number() noexcept;
  // Nothing is left to do: the log begins anew.
  void clear() noexcept;

  // Takes the log away with its pool. Local.
  static void remove(const std::string& pool) noexcept;

 private:
  int descriptor_ = -1;
  std::uint64_t count_ = 0;
};

// What became of the name of an output since it was closed; nothing: it is as the description says. Local; a load where it is.
struct NewName {
  bool is_removed = false;
  std::string final_path, working_path;   // working_path empty: as before
};
[[nodiscard]] std::optional<NewName> new_name_of(const Pool& pool, OutputKey output);
// For a process that has locked the log.
[[nodiscard]] std::optional<NewName> new_name_in(const NameLog& log, OutputKey output);

}  // namespace glean::pool
