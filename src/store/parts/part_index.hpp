// SPDX-License-Identifier: BSD-3-Clause
//
// What lies beside each of several files that an output was written to: docs/formats/part-index.md
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mesh/box.hpp"
#include "store/layout.hpp"
#include "store/posix/file.hpp"

namespace glean::store {

struct PartIndex {
  std::string output;     // the same in all parts of an output, and in no other's
  int part = 0, parts = 1;
  std::optional<std::uint64_t> steps;   // that are complete in it; not known before it is published
  FileLayout layout;      // of the whole; how values are converted is not kept
  std::vector<std::vector<mesh::Box>> boxes;   // of each variable: what is put into this part, if anything

  // JSON. decode() throws io, naming what is wrong, when `text` is not what encode() made.
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static PartIndex decode(const std::string& text);
  friend bool operator==(const PartIndex&, const PartIndex&) = default;
};

// "chk.nc.0of4"
[[nodiscard]] std::string part_path(const std::string& path, int part, int parts);
// What a name says that part_path() made.
struct PartName {
  std::string path;
  int part = 0, parts = 1;
  friend bool operator==(const PartName&, const PartName&) = default;
};
[[nodiscard]] std::optional<PartName> parse_part_path(const std::string& path);
// Beside a part, under whatever name it is.
[[nodiscard]] std::string index_path(const std::string& part);

// Writes and fsyncs the index of a part that is under its working name. Throws. Blocks.
void prepare_index(SystemCalls& calls, const FileNames& part, const PartIndex& index);
// Publishes the index just before the part gets its final name, which has so many steps then. The directory is not synchronized. Throws.
// Blocks.
void publish_index(SystemCalls& calls, const FileNames& part, std::uint64_t steps);
// Removes the index of a part that will not be published. Does not throw.
void discard_index(SystemCalls& calls, const FileNames& part) noexcept;
// Throws not_found, or io when it is damaged or cannot be read. Blocks.
[[nodiscard]] PartIndex read_index(SystemCalls& calls, const std::string& part);

}  // namespace glean::store
