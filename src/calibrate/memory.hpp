// SPDX-License-Identifier: BSD-3-Clause
//
// What copying in memory and sending over this node's own network interface give.
#pragma once

#include "calibrate/figure.hpp"

namespace glean::calibrate {

// Bytes per second that one core copies from memory to memory; the pages are there. Local.
[[nodiscard]] Figure copy_rate(double seconds);

// Bytes per second that so many threads copy at once, all together. Local.
[[nodiscard]] double copied_per_second(int threads, double seconds);

struct Loopback {
  Figure link_rate;        // one connection
  Figure receive_rate;     // one thread takes in what four send
  Figure message_time;     // half of a small message there and back
};
// TCP within this node. Local. Throws io where there is no loopback interface.
[[nodiscard]] Loopback measure_loopback(double seconds);

}  // namespace glean::calibrate
