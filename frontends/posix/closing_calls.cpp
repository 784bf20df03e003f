// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of the C library that close files, for gathered_files.hpp: what is closed when they return is so after a kill, too. Files
// that end otherwise (dup2, munmap, exec, the end of a process) are found by the gatherer.
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "call_arguments.hpp"
#include "gathered_files.hpp"

using glean::posix::Closing;
using glean::posix::Next;

namespace {

constinit Next<int(int)> next_close;
constinit Next<int(FILE*)> next_fclose;

[[gnu::constructor]] void find_closing_calls() {
  next_close.find("close");
  next_fclose.find("fclose");
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int close(int descriptor) {
  Closing closing(descriptor);
  const int result = next_close.find("close")(descriptor);
  closing.done();
  return result;
}

extern "C" [[gnu::visibility("default")]] int fclose(FILE* stream) {
  const int before = errno;
  Closing closing(stream == nullptr ? -1 : fileno(stream));
  errno = before;   // a stream in memory has no descriptor, which is no error of this call
  const int result = next_fclose.find("fclose")(stream);
  closing.done();
  return result;
}
