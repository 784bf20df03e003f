// SPDX-License-Identifier: BSD-3-Clause
//
// How far long work is, on standard error.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.hpp"

namespace glean::cli {

class ProgressLine {
 public:
  enum class When { terminal, always };   // only where standard error is a terminal, after a second; or at once, in lines
  // `bytes`: of all the work.
  ProgressLine(std::string what, base::Bytes bytes, When when);
  // Takes the line away again.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Says something a few times each second.
  void show(base::Bytes done);

 private:
  std::string what_;
  base::Bytes bytes_ = 0;
  bool is_line_ = true, is_shown_ = false, says_anything_ = false;
  std::uint64_t begin_ns_ = 0, next_ns_ = 0;
};

}  // namespace glean::cli
