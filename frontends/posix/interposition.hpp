// SPDX-License-Identifier: BSD-3-Clause
//
// A program that looks at a file that it has written by other means than MPI-IO (open, stat, rename, …), or that lets a process
// look which it has started, finds it finished: the call waits for the drain.
// A new file that ranks still have open has another name until they close it: a rank that looks at it is led there, when all that was
// captured so far is there.
//
// GLEAN's own calls do not wait, in no thread; they are known by where they come from, those of an MPI library that works for it by
// session/own_calls.hpp.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "markers.hpp"
#include "path_resolution.hpp"
#include "pool/pool.hpp"
#include "pool/published.hpp"
#include "session/byte_output.hpp"
#include "session/core.hpp"

namespace glean::posix {

// From now on the calls of this process wait, and those of the processes that it starts, for as long as something is written at least
// every pool.deadline. `core` has a pool, and must live until end_interposition(). Local.
void begin_interposition(session::Core& core);
// When nothing drains any more, before the pool goes. Local.
void end_interposition() noexcept;

// What the interposed calls of this process look into.
struct Interposition {
  Interposition(const pool::Pool& pool, int node_rank, double deadline_seconds, const std::string& markers, session::Core* core);

  pool::Draining draining;
  double deadline_seconds;
  MarkerPatterns markers;
  std::atomic<session::Core*> core;   // null in a child of the program: it has no part in the session
  std::array<char, 320> job{};   // in the names of files that live on when the program has removed them (pool/name_log.hpp)
};

// While it lives, the pool that this process looks into stays.
class Looking {
 public:
  Looking() noexcept;
  ~Looking();
  Looking(const Looking&) = delete;
  Looking& operator=(const Looking&) = delete;
  // Null: there is none.
  [[nodiscard]] Interposition* interposition() const { return interposition_; }

 private:
  Interposition* interposition_ = nullptr;
  bool is_counted_ = false;
};

inline constexpr double opening_seconds = 5;   // that a file takes the drain to open, at most

// What waits, for messages.
struct Told {
  const char* call;
  const char* path;
};
// Blocks until all of them are published, have failed or are given up, or nothing was written for the deadline.
void wait_for(const Interposition& interposition, pool::OutputSet outputs, Told told);

// A directory that an output is in is looked at in its own right, unless it is opened, listed, renamed or removed. link…: a symbolic
// link is looked at itself. removed: the same, without waiting for what was captured of a file that is open. any_file: whatever has been
// closed.
enum class Wanted { file, link, file_or_directory, link_or_directory, removed, directory_entries, any_file };

// The path as it is wanted, or 0 if it leads nowhere; and which outputs are meant by it.
[[nodiscard]] std::size_t resolve_wanted(int directory, const char* path, Wanted wanted, Path& resolved);
[[nodiscard]] pool::Draining::Names names_wanted(Wanted wanted);

// Around the program's `call` that looks at a path: it waits before, and the file keeps its name until after it. Any thread, also in a
// signal handler unless it looks at a file that is open; blocks. Costs a load if there is no session, and two more if nothing is open in
// it.
class Look {
 public:
  Look(const char* call, int directory, const char* path, Wanted wanted) noexcept;
  ~Look();
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;
  // Where it is: the path itself, or that of the working file, for calls that keep its name.
  [[nodiscard]] const char* path() const { return path_; }

 private:
  const char* path_;
  std::optional<Looking> looking_;
  std::unique_ptr<session::ByteOutput::KeptName> kept_;
};

// Before the program makes a file, or gives one this name, which may say that others are complete (markers.hpp): waits until those are
// published that it speaks of and that are closed. False, and errno is EIO, where one of them could not be completed: then it must not be
// made. Any thread, also in a signal handler; blocks. Costs a load if there is no session.
[[nodiscard]] bool may_make(const char* call, int directory, const char* path) noexcept;
// As may_make(), before a symbolic link `path` to `text` is made, for what it leads to.
[[nodiscard]] bool may_link(const char* call, const char* text, int directory, const char* path) noexcept;

}  // namespace glean::posix
