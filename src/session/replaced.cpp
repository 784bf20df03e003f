// SPDX-License-Identifier: BSD-3-Clause
#include "session/replaced.hpp"

#include <unistd.h>

#include "session/core.hpp"
#include "store/copies.hpp"

namespace glean::session {

std::optional<std::string> replaced_by(const Core& core, const std::string& path) {
  const store::Copies copies = store::Copies::of(core.settings().copies_of_output(path), core.settings().results_of_output(path));
  if (!copies.instead || access(path.c_str(), F_OK) == 0) return std::nullopt;
  const std::string copy = copies.each.front().path(path);
  return access(copy.c_str(), F_OK) == 0 ? std::optional(copy) : std::nullopt;
}

}  // namespace glean::session
