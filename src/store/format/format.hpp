// SPDX-License-Identifier: BSD-3-Clause
//
// The one interface to what a file format adds to the data: definitions in, metadata and placements out, and patches at the end.
//
// The process that writes the data needs nothing else: it writes the metadata, converted elements to their places, and the patches. No
// function of a format touches the target file or its file system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mesh/definitions.hpp"
#include "store/format/file_image.hpp"

namespace glean::store {

// What was in a file that is added to.
struct Earlier {
  std::uint64_t records = 0;
  Bytes bytes = 0;             // of the file; 0: it is new
  friend bool operator==(const Earlier&, const Earlier&) = default;
};

// What is known of a file when all of it is written.
struct Written {
  std::uint64_t records = 0;   // 1 + the last record of which something was put or filled
  Bytes highest_end = 0;       // of the last byte that was put or filled; 0 if none was
  bool goes_on = false;        // more will be put: the file is made readable as far as it is written
  Earlier earlier{};           // what was in a file that is added to: `records` are behind that
};

struct Finished {
  std::vector<Patch> patches;   // apart from all elements; the same bytes may be written again and again while the file grows
  Bytes size = 0;               // of the file: what is behind is cut off, and it is made longer if it is shorter
};

// Its functions may be called from any thread. Local.
class Format {
 public:
  Format() = default;
  virtual ~Format() = default;
  Format(const Format&) = delete;
  Format& operator=(const Format&) = delete;

  // By which Formats::find() finds it, and FileLayout::format is called.
  [[nodiscard]] virtual std::string_view name() const = 0;
  // What is wrong with the name of a dimension, variable or attribute, such as "it is empty"; nothing if it may be used.
  [[nodiscard]] virtual std::string flaw_of_name(std::string_view name) const = 0;
  // Elements are stored as in memory, and long variables begin at pages: the drain may write them from where they are captured.
  [[nodiscard]] virtual bool is_as_in_memory() const { return false; }
  // Throws what the format cannot hold, naming the dimension, variable or attribute; unsupported where this process has not got the
  // library that makes the metadata. May block.
  [[nodiscard]] virtual FileImage image(const mesh::Definitions& definitions, base::RangeRule range) const = 0;
  // Needs no library. Also for a file that goes on: then it can be read as far as it is written.
  [[nodiscard]] virtual Finished finish(const FileImage& image, const Written& written) const = 0;
  // The number of records that the first bytes of a file say, FileLayout::header_bytes of them. Changes them to what they were without
  // any, so that those of several files can be compared. Nothing if they are none of this format's.
  [[nodiscard]] virtual std::optional<std::uint64_t> take_records(const FileLayout& layout, std::span<std::byte> header) const = 0;
};

}  // namespace glean::store
