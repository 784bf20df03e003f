// SPDX-License-Identifier: BSD-3-Clause
//
// What calls of the C library on files ask for by their arguments, and the next function of a name. For calls.cpp and listing_calls.cpp.
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <type_traits>

#include "gathered_files.hpp"
#include "interposition.hpp"
#include "session/own_calls.hpp"

// The code of this library, as the linker knows it: its own calls do not wait, as the drain would wait for itself.
extern "C" {
[[gnu::visibility("hidden")]] extern const char __ehdr_start[];
[[gnu::visibility("hidden")]] extern const char etext[];
}

namespace glean::posix {

using gather::Intent;

// What a call returns that has failed.
template <class Result>
Result failed() {
  if constexpr (std::is_pointer_v<Result>) return nullptr;
  else return Result(-1);
}

inline bool makes(int flags) { return (flags & (O_CREAT | O_TRUNC)) != 0; }
inline bool makes(const char* mode) { return mode != nullptr && (mode[0] == 'w' || mode[0] == 'a'); }

inline Intent intent(int flags) {
  const bool creates = (flags & O_CREAT) != 0, truncates = (flags & O_TRUNC) != 0, writes = (flags & O_ACCMODE) != O_RDONLY;
  return {.writes = writes || truncates, .creates = creates, .truncates = truncates, .needs_new = creates && (flags & O_EXCL) != 0};
}
inline Intent intent(const char* mode) {
  const bool reads = mode == nullptr || mode[0] == 'r', updates = mode != nullptr && std::strchr(mode, '+') != nullptr;
  const bool needs_new = !reads && std::strchr(mode, 'x') != nullptr;
  return {.writes = !reads || updates, .creates = !reads, .truncates = !reads && mode[0] == 'w', .needs_new = needs_new};
}
// Memory has no direct I/O on Linux before 6.6: the call would fail.
inline int flags_there(const Led& led, int flags) { return led.path() == nullptr ? flags : flags & ~O_DIRECT; }
inline constexpr Intent looks{}, changes{.writes = true}, makes_anew{.writes = true, .creates = true, .truncates = true};

// What is no file of a call is opened by none.
template <class Result>
Result opened(Led& led, Result result) {
  led.opened(result);
  return result;
}

inline bool has_name(int directory, const char* path) {
  struct stat status {};
  return fstatat(directory, path, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

inline int is_there_already() {
  errno = EEXIST;
  return -1;
}

inline Wanted opened(int flags) { return (flags & O_NOFOLLOW) != 0 ? Wanted::link_or_directory : Wanted::file_or_directory; }

inline bool is_own(const void* caller) { return (caller >= __ehdr_start && caller < etext) || glean::session::OwnCalls::are_here(); }

inline bool only_reads(const char* mode) { return mode != nullptr && mode[0] == 'r' && std::strchr(mode, '+') == nullptr; }

// Found when the library is loaded, so that a signal handler does not come to look for it; earlier for callers that call earlier.
template <class Function>
class Next {
 public:
  constexpr Next() = default;
  Function* find(const char* name) {
    Function* found = found_.load(std::memory_order_relaxed);
    if (found == nullptr) found_ = found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
    return found;
  }

 private:
  std::atomic<Function*> found_ = nullptr;
};

}  // namespace glean::posix

// The call waits before.
#define GLEAN_WAIT(name, directory, path, wanted) \
  if (!glean::posix::is_own(__builtin_return_address(0))) static_cast<void>(glean::posix::Look(name, directory, path, wanted))

// One function: what it returns, its name, its parameters, noexcept or nothing, its arguments, and what it waits for.
#define GLEAN_NEXT(result, name, parameters, exceptions)                              \
  namespace {                                                                         \
  constinit glean::posix::Next<result parameters exceptions> next_##name;             \
  [[gnu::constructor]] void find_##name() { next_##name.find(#name); }                \
  }                                                                                   \
  extern "C" [[gnu::visibility("default")]] result name parameters exceptions;
#define GLEAN_INTERPOSE(result, name, parameters, exceptions, arguments, ...) \
  GLEAN_NEXT(result, name, parameters, exceptions)                            \
  result name parameters exceptions {                                         \
    __VA_ARGS__;                                                              \
    return next_##name.find(#name) arguments;                                 \
  }
