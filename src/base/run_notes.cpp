// SPDX-License-Identifier: BSD-3-Clause
#include "base/run_notes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace glean::base {
namespace {

constexpr off_t limit = 64 * 1024;   // of a script that starts many processes the first ones will do

}  // namespace

void leave_note(std::string_view file, std::string_view text) noexcept {
  const char* directory = std::getenv(run_directory_variable);
  if (directory == nullptr) return;
  try {
    const std::string path = std::string(directory) + "/" + std::string(file);
    const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (descriptor < 0) return;
    if (lseek(descriptor, 0, SEEK_END) < limit) static_cast<void>(!write(descriptor, text.data(), text.size()));
    close(descriptor);
  } catch (const std::exception&) {
    // Out of memory: one note less.
  }
}

}  // namespace glean::base
