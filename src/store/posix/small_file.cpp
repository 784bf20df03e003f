// SPDX-License-Identifier: BSD-3-Clause
#include "store/posix/small_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>

#include "base/error.hpp"

namespace glean::store {
namespace {

base::Error cannot(const char* action, const std::string& path, int result) {
  return base::system_error(-result, fmt::format("cannot {} '{}'", action, path));
}

}  // namespace

void replace_small_file(SystemCalls& calls, const std::string& before, const std::string& path, std::string_view text) {
  const int descriptor = calls.open(before.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) throw cannot("create", path, descriptor);
  int failed = 0;
  for (std::size_t written = 0; written < text.size() && failed == 0;) {
    const ssize_t result = calls.pwrite(descriptor, text.data() + written, text.size() - written, static_cast<off_t>(written));
    if (result > 0) written += static_cast<std::size_t>(result);
    else if (result != -EINTR) failed = result == 0 ? -EIO : static_cast<int>(result);
  }
  if (failed == 0) failed = calls.fsync(descriptor);
  calls.close(descriptor);
  if (failed == 0) failed = calls.rename(before.c_str(), path.c_str());
  if (failed == 0) return;
  calls.unlink(before.c_str());
  throw cannot("write", path, failed);
}

}  // namespace glean::store
