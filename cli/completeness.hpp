// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a file is a complete one.
#pragma once

#include <string>

#include "base/bytes.hpp"
#include "cli/header_reader.hpp"

namespace glean::cli {

enum class Depth { all_sums, length_only };   // of a file that has a sidecar

struct Judgement {
  bool complete = false;
  std::string by;       // what says so: "checksums", "length" (the one that was recorded), "header"
  std::string reason;   // why it is refused
  std::string note;     // what else there is to say
};

// With a sidecar: by its length and its checksums. Without one, and unless `sums_required`: by its header, if it is a
// classic NetCDF file. Never throws because of the file. Blocks.
[[nodiscard]] Judgement judge(const std::string& path, Depth depth, bool sums_required, HeaderReader& headers);

}  // namespace glean::cli
