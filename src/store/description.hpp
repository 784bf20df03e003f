// SPDX-License-Identifier: BSD-3-Clause
//
// What a drain must know of an output: what it means, where its file is, what a format has made of it, and which node writes what.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/request.hpp"
#include "mesh/definitions.hpp"
#include "plan/file_share.hpp"
#include "store/copies.hpp"
#include "store/format/format.hpp"
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
  std::vector<Patch> metadata{};   // of the file, beside `layout`: what is in it before anything is put
  Copies copies{};                 // that are made of it when it is complete
  analysis::Request analysis{};    // what is found out of its steps while they move
  Earlier earlier{};               // with bytes: the file is there, and gets records behind these; `layout` says where
  std::optional<mesh::Definitions> definitions{};   // what the program has said of it; of a raw output nothing

  // In two parts: what is known before there is a file, so that the process that comes after a killed one knows what to remove,
  // and all else.
  [[nodiscard]] std::vector<std::byte> encode_names() const;
  [[nodiscard]] std::vector<std::byte> encode_layout() const;
  // What encode_names() has. Throws io when `bytes` does not begin with what encode_names() made.
  [[nodiscard]] static OutputDescription decode_names(std::span<const std::byte> bytes);
  // Throws io when `bytes` is not what encode_names() and encode_layout() made.
  [[nodiscard]] static OutputDescription decode(std::span<const std::byte> bytes);
  [[nodiscard]] FileImage image() const { return {layout, metadata}; }
  // A raw output whose file a rank makes, and a node with ranks publishes: all but those that only stagers see.
  [[nodiscard]] bool is_made_by_ranks() const { return is_bytes && (share.first == 0 || share.publisher < share.first); }
  [[nodiscard]] bool adds_to_file() const { return earlier.bytes != 0; }
  // Which node writes which request of it, where several do: not of a raw output, of which each node writes what it has.
  [[nodiscard]] plan::FileWriters writers() const;
  friend bool operator==(const OutputDescription&, const OutputDescription&) = default;
};

// Where the records of a file are, and what is before them; the rest is not set.
[[nodiscard]] plan::FileDomains extents_of(const FileLayout& layout);

}  // namespace glean::store
