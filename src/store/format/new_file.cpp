// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/new_file.hpp"

#include <fcntl.h>

#include <cerrno>

#include "base/error.hpp"

namespace glean::store {
namespace {

// 0, or -errno.
int write_all(SystemCalls& calls, int descriptor, const Patch& part) {
  for (std::size_t done = 0; done < part.bytes.size();) {
    const auto offset = static_cast<off_t>(part.offset + done);
    const ssize_t result = calls.pwrite(descriptor, part.bytes.data() + done, part.bytes.size() - done, offset);
    if (result > 0) done += static_cast<std::size_t>(result);
    else if (result != -EINTR) return result == 0 ? -EIO : static_cast<int>(result);
  }
  return 0;
}

}  // namespace

void make_new_file(SystemCalls& calls, const FileNames& names, std::span<const Patch> metadata) {
  const bool is_in_place = names.working_path == names.final_path;
  const int descriptor = calls.open(names.working_path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (is_in_place ? O_TRUNC : 0), 0666);
  int result = descriptor;
  for (const Patch& part : metadata) {
    if (result >= 0) result = write_all(calls, descriptor, part);
  }
  if (descriptor >= 0) calls.close(descriptor);
  try {
    if (result < 0) throw base::system_error(-result, "cannot create '" + names.final_path + "'");
    hand_on_permissions(names);
  } catch (...) {
    if (descriptor >= 0 && !is_in_place) calls.unlink(names.working_path.c_str());
    throw;
  }
}

}  // namespace glean::store
