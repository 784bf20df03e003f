// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of the C library that close files, for gathered_files.hpp: what is closed when they return is so after a kill, too. Files
// that end otherwise (dup2, munmap, exec, the end of a process) are found by the gatherer.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "gathered_files.hpp"

using glean::posix::Closing;

namespace {

template <class Function>
Function next_of(std::atomic<Function>& known, const char* name) {
  Function found = known.load(std::memory_order_relaxed);
  if (found == nullptr) known = found = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
  return found;
}

constinit std::atomic<int (*)(int)> next_close = nullptr;
constinit std::atomic<int (*)(FILE*)> next_fclose = nullptr;

[[gnu::constructor]] void find_closing_calls() {
  next_of(next_close, "close");
  next_of(next_fclose, "fclose");
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int close(int descriptor) {
  Closing closing(descriptor);
  const int result = next_of(next_close, "close")(descriptor);
  closing.done();
  return result;
}

extern "C" [[gnu::visibility("default")]] int fclose(FILE* stream) {
  Closing closing(stream == nullptr ? -1 : fileno(stream));
  const int result = next_of(next_fclose, "fclose")(stream);
  closing.done();
  return result;
}
