// SPDX-License-Identifier: BSD-3-Clause
#include "drain/core_yielding.hpp"

namespace glean::drain {

bool CoreYielding::look(const CaptureLook& look) {
  has_been_full_ = has_been_full_ || look.is_full;
  const bool is_after_pause = last_ns_ == 0 || look.now_ns - last_ns_ >= pause_ns;
  if (look.captured != captured_ || look.is_closing) {
    captured_ = look.captured;
    last_ns_ = look.now_ns;
    if (is_after_pause) begin_ns_ = look.now_ns;
  } else if (is_after_pause) {
    return false;
  }
  return !has_been_full_ && look.fullest < most_share && look.now_ns - begin_ns_ < most_ns;
}

}  // namespace glean::drain
