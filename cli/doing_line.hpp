// SPDX-License-Identifier: BSD-3-Clause
//
// What a command is about at the moment, on a terminal.
#pragma once

#include <unistd.h>

#include <iostream>
#include <string>
#include <string_view>
#include <utility>

namespace glean::cli {

class DoingLine {
 public:
  // `command`: "glean calibrate". It says nothing where standard error is no terminal, or not `tells`.
  explicit DoingLine(std::string command, bool tells = true) : command_(std::move(command)), tells_(tells && isatty(STDERR_FILENO) == 1) {}
  // Takes the line away again.
  ~DoingLine() {
    if (tells_) std::cerr << "\r\x1b[K" << std::flush;
  }
  DoingLine(const DoingLine&) = delete;
  DoingLine& operator=(const DoingLine&) = delete;
  void show(std::string_view what) const {
    if (tells_) std::cerr << "\r\x1b[K" << command_ << ": " << what << std::flush;
  }

 private:
  std::string command_;
  bool tells_;
};

}  // namespace glean::cli
