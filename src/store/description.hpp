// SPDX-License-Identifier: BSD-3-Clause
//
// What a drain must know of an output: where its file is, how it is laid out, and which node writes what of it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "plan/file_share.hpp"
#include "store/layout.hpp"
#include "store/posix/file.hpp"

namespace glean::store {

struct OutputDescription {
  std::string display_path;     // as the application named it
  FileNames names;
  base::DirectIo direct_io = base::DirectIo::automatic;
  FileLayout layout;
  plan::FileShare share{};      // which node writes what of it
  bool checksums = false;       // a sidecar is published with the file
  bool ranks_write = false;     // not only the drain does
  bool is_part = false;         // of several files, with an index beside it (docs/formats/part-index.md)
  bool is_bytes = false;        // no format and no variables: ranks write bytes where they like, and the latest write of a byte wins

  // In two parts: what is known before there is a file, so that whoever comes after a killed process knows what to remove,
  // and the layout with its share.
  [[nodiscard]] std::vector<std::byte> encode_names() const;
  [[nodiscard]] std::vector<std::byte> encode_layout() const;
  // All but layout and share. Throws io when `bytes` does not begin with what encode_names() made.
  [[nodiscard]] static OutputDescription decode_names(std::span<const std::byte> bytes);
  // Throws io when `bytes` is not what encode_names() and encode_layout() made.
  [[nodiscard]] static OutputDescription decode(std::span<const std::byte> bytes);
  // Which node writes which request of it, where several do: not of a raw output, of which each node writes what it has.
  [[nodiscard]] plan::FileWriters writers() const;
  friend bool operator==(const OutputDescription&, const OutputDescription&) = default;
};

// Where the records of a file are, and what is before them; the rest is not set.
[[nodiscard]] plan::FileDomains extents_of(const FileLayout& layout);

}  // namespace glean::store
