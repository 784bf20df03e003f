// SPDX-License-Identifier: BSD-3-Clause
#include "drain/current_names.hpp"

#include <string>

#include "pool/description.hpp"
#include "store/description.hpp"

namespace glean::drain {

store::FileNames current_names(const pool::Pool& pool, pool::OutputKey output) {
  const bool is_renamed = pool.slot(output.slot).is_renamed.load(std::memory_order_acquire) != 0;
  return current_names(pool, output, pool::NameLog(is_renamed ? pool.name() : std::string(), pool::NameLog::Make::no));
}

store::FileNames current_names(const pool::Pool& pool, pool::OutputKey output, const pool::NameLog& log) {
  store::FileNames names = store::OutputDescription::decode_names(pool::read_description(pool, output).bytes).names;
  const bool is_renamed = pool.slot(output.slot).is_renamed.load(std::memory_order_acquire) != 0;
  const auto now = is_renamed ? pool::new_name_in(log, output) : std::nullopt;
  if (now) names.final_path = now->final_path;
  if (now && !now->working_path.empty()) names.working_path = now->working_path;
  return names;
}

}  // namespace glean::drain
