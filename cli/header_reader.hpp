// SPDX-License-Identifier: BSD-3-Clause
//
// Reads headers with the format library in a child process.
#pragma once

#include <sys/types.h>

#include <string>

#include "store/pnetcdf/read_header.hpp"

namespace glean::cli {

// The format library needs MPI, and an MPI that cannot start, or an unforeseen header, may end the process:
// so both run in a child, which is started for the first header and again for the next one when it was lost.
class HeaderReader {
 public:
  HeaderReader() = default;
  ~HeaderReader();
  HeaderReader(const HeaderReader&) = delete;
  HeaderReader& operator=(const HeaderReader&) = delete;

  // Throws base::Error with the library's words, or saying that there is no MPI here or that the library has ended. Blocks.
  [[nodiscard]] store::Header read(const std::string& path);

 private:
  void start();
  void stop();

  pid_t child_ = -1;
  int socket_ = -1;
  bool useless_ = false;   // MPI does not start here
};

}  // namespace glean::cli
