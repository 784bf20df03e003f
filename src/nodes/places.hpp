// SPDX-License-Identifier: BSD-3-Clause
//
// How a node finds where the place of a stager is that does not come back.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace glean::nodes {

// Nothing blocks.
struct Places {
  std::function<void(int stager)> seek;                                   // its process is gone
  std::function<void(int stager)> end;                                    // it is back, or another one has its place
  std::function<std::vector<std::pair<int, std::string>>()> take_found;   // where they are now, as transport::Messages::look_at() has it
};

}  // namespace glean::nodes
