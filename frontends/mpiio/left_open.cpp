// SPDX-License-Identifier: BSD-3-Clause
#include "left_open.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "captured_file.hpp"

namespace glean::mpiio {
namespace {

bool is_there(const LeftOpen& file) {
  struct stat status {};
  return stat(file.path.c_str(), &status) == 0 && status.st_ino == file.file.st_ino && status.st_dev == file.file.st_dev;
}

}  // namespace

std::vector<LeftOpen> close_left_open(const std::vector<std::shared_ptr<CapturedFile>>& files) {
  std::vector<LeftOpen> left;
  for (const auto& file : files) {
    LeftOpen one = file->close_at_the_end();
    const auto known = std::find_if(left.begin(), left.end(), [&](const LeftOpen& other) { return other.path == one.path; });
    if (known != left.end()) known->has_failed |= one.has_failed;   // another handle on the same file
    else if (file->is_told_here()) left.push_back(std::move(one));
  }
  return left;
}

void tell_of(const std::vector<LeftOpen>& files) {
  for (const LeftOpen& file : files) {
    if (file.was_removed) {
      base::log(base::LogLevel::warning, "'{}' was removed and not closed before MPI_Finalize: it does not appear", file.path);
    } else if (file.is_in_place && file.has_failed) {
      base::log(base::LogLevel::error, "'{}' was not closed before MPI_Finalize, and does not have all that was written", file.path);
    } else if (file.has_failed || !is_there(file)) {
      base::log(base::LogLevel::error, "'{}' was not closed before MPI_Finalize, and does not appear: it is not complete", file.path);
    } else {
      base::log(base::LogLevel::warning, "'{}' was not closed before MPI_Finalize: closed now", file.path);
    }
  }
}

}  // namespace glean::mpiio
