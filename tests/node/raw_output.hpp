// SPDX-License-Identifier: BSD-3-Clause
//
// Raw outputs, as a front end opens and writes them.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "mesh/pattern.hpp"
#include "pool/test_pool.hpp"
#include "store/description.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::tests {

// In place where both names are the same.
inline store::OutputDescription raw_output(const std::string& working_path, const std::string& final_path) {
  store::OutputDescription description;
  description.display_path = final_path;
  description.names = {working_path, final_path};
  description.is_bytes = true;
  return description;
}

// Described in the pool, with a working file, which is empty if it was not there.
inline pool::OutputKey open_raw_output(pool::TestPool& made, const store::OutputDescription& description) {
  const std::string& path = description.names.working_path;
  if (path != description.names.final_path || !std::filesystem::exists(path)) store::write_text(path, "");
  const pool::OutputKey key = made.claim_slot();
  made.pool.slot(key.slot).is_bytes = 1;
  pool::Recorder recorder(made.pool, 0, 30, [] { return "opening"; });
  recorder.describe(key, description.encode_names(), pool::Recorder::More::follow);
  recorder.describe(key, description.encode_layout(), pool::Recorder::More::none);
  return key;
}

// How a record has the pattern of a write.
inline mesh::Box box_of(const mesh::Pattern& pattern) {
  const auto words = pattern.encode();
  const auto middle = words.begin() + static_cast<std::ptrdiff_t>(words.size() / 2);
  return {{words.begin(), middle}, {middle, words.end()}};
}

}  // namespace glean::tests
