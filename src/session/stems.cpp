// SPDX-License-Identifier: BSD-3-Clause
#include "session/stems.hpp"

#include <algorithm>
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
    if (pool.slot(slot).is_renamed.load(std::memory_order_acquire) == 1) {   // its new name is in the log alone
      const std::uint64_t directory = pool::path_mark(path.substr(0, std::max<std::size_t>(path.rfind('/'), 1)));
      if (pool.slot(slot).directory_mark.load(std::memory_order_relaxed) == directory) found |= pool::OutputSet{1} << slot;
      continue;
    }
    const pool::OutputKey key{slot, pool.slot(slot).generation.load(std::memory_order_acquire)};
    const std::string_view final_path = drain::final_path_of(pool, key, buffer);
    const bool begins = final_path.starts_with(path) && final_path.size() > path.size() && final_path[path.size()] == '.';
    if (begins && final_path.find_first_of("./", path.size() + 1) == std::string_view::npos) found |= pool::OutputSet{1} << slot;
  }
  return found;
}

}  // namespace glean::session
