// SPDX-License-Identifier: BSD-3-Clause
//
// Spilling at a stager: what its clients send goes on in a file on storage of its node when the pool is nearly full.
#pragma once

#include <string>

#include "capture/spill_writer.hpp"
#include "nodes/spill.hpp"

namespace glean::service {

class StagerSpill : public nodes::Spill {
 public:
  // `pool` and `calls` must live as long. A pool without a spill directory spills nothing.
  StagerSpill(pool::Pool& pool, store::SystemCalls& calls) : writer_(pool, 0, calls) {}
  [[nodiscard]] std::optional<base::Bytes> write(const pool::Recorder::Put& put, std::span<const std::byte> payload) override;

 private:
  capture::SpillWriter writer_;
};

// From now on this pool spills there: `directory` is absolute and can be written in. Before anything comes. Throws invalid_argument.
void spill_to(pool::Pool& pool, const std::string& directory, base::Bytes budget);

}  // namespace glean::service
