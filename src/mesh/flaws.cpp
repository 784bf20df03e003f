// SPDX-License-Identifier: BSD-3-Clause
#include "mesh/flaws.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace glean::mesh {

bool Flaws::count(const char* kind) {
  auto it = std::find_if(kinds_.begin(), kinds_.end(), [&](const Kind& each) { return std::string_view(each.name) == kind; });
  if (it == kinds_.end()) it = kinds_.insert(it, {kind, 0});
  return ++it->found <= shown_of_kind;
}

std::vector<std::string> Flaws::take() {
  for (const Kind& kind : kinds_) {
    if (kind.found <= shown_of_kind) continue;
    sentences_.push_back("there are " + std::to_string(kind.found - shown_of_kind) + " more " + kind.name);
  }
  kinds_.clear();
  return std::exchange(sentences_, {});
}

}  // namespace glean::mesh
