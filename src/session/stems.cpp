// SPDX-License-Identifier: BSD-3-Clause
#include "session/stems.hpp"

#include <array>
#include <bit>
#include <climits>

#include "drain/final_path.hpp"

namespace glean::session {

pool::OutputSet with_stem(const pool::Pool& pool, pool::OutputSet outputs, std::string_view path) noexcept {
  pool::OutputSet found = 0;
  std::array<char, PATH_MAX> buffer;
  for (; outputs != 0; outputs &= outputs - 1) {
    const auto slot = static_cast<std::uint32_t>(std::countr_zero(outputs));
    const pool::OutputKey key{slot, pool.slot(slot).generation.load(std::memory_order_acquire)};
    const std::string_view final_path = drain::final_path_of(pool, key, buffer);
    const bool begins = final_path.starts_with(path) && final_path.size() > path.size() && final_path[path.size()] == '.';
    if (begins && final_path.find_first_of("./", path.size() + 1) == std::string_view::npos) found |= pool::OutputSet{1} << slot;
  }
  return found;
}

}  // namespace glean::session
