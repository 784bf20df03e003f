// SPDX-License-Identifier: BSD-3-Clause
#include "service/stager_spill.hpp"

#include <cstring>

#include "base/error.hpp"

namespace glean::service {

std::optional<base::Bytes> StagerSpill::write(const pool::Recorder::Put& put, std::span<const std::byte> payload) {
  if (payload.empty() || !writer_.reserve(payload.size())) return std::nullopt;
  return writer_.write(put, payload.size(), [&](std::uint64_t, std::uint64_t, std::byte* target) {
    std::memcpy(target, payload.data(), payload.size());
  });
}

void spill_to(pool::Pool& pool, const std::string& directory, base::Bytes budget) {
  auto& place = pool.header().spill_directory;
  if (directory.size() + pool.name().size() + 32 > place.size()) {
    throw base::Error(base::Errc::invalid_argument, "the name of the spill directory '" + directory + "' is too long");
  }
  directory.copy(place.data(), directory.size());
  pool.header().spill_budget_bytes = budget;
}

}  // namespace glean::service
