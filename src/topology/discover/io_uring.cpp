// SPDX-License-Identifier: BSD-3-Clause
#include <linux/io_uring.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "topology/discover/discover.hpp"

namespace glean::topology {

Availability discover_io_uring() {
#ifndef GLEAN_HAVE_LIBURING
  return {false, "built without liburing"};
#else
  io_uring_params parameters{};
  const long descriptor = syscall(__NR_io_uring_setup, 1, &parameters);
  if (descriptor >= 0) {
    close(static_cast<int>(descriptor));
    return {true, {}};
  }
  switch (errno) {
    case ENOSYS: return {false, "the kernel does not have it"};
    case EPERM: return {false, "the kernel forbids it (kernel.io_uring_disabled, or a container's filter)"};
    case ENOMEM: return {false, "the limit of locked memory is too low (ulimit -l)"};
    default: return {false, std::generic_category().message(errno)};
  }
#endif
}

}  // namespace glean::topology
