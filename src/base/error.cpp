// SPDX-License-Identifier: BSD-3-Clause
#include "base/error.hpp"

#include <cerrno>
#include <system_error>

namespace glean::base {

Error system_error(int errno_value, const std::string& what) {
  const std::string message = what + ": " + std::generic_category().message(errno_value);
  switch (errno_value) {
    case ENOSPC:
    case EDQUOT: return {Errc::no_space, message, "free some space or choose another directory"};
    case EACCES:
    case EPERM:
    case EROFS: return {Errc::permission, message, "check the permissions of the file and its directory"};
    case EEXIST: return {Errc::exists, message, {}};
    case ENOENT:
    case ENOTDIR: return {Errc::not_found, message, "create the directory first"};
    case EMFILE: return {Errc::io, message, "close files that are not needed, or let the process have more: ulimit -n"};
    default: return {Errc::io, message, {}};
  }
}

}  // namespace glean::base
