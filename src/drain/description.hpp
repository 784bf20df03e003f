// SPDX-License-Identifier: BSD-3-Clause
//
// What whoever drains must know of an output: where its file is and how it is laid out.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "plan/file_share.hpp"
#include "pool/name_log.hpp"
#include "pool/pool.hpp"
#include "store/layout.hpp"
#include "store/posix/file.hpp"

namespace glean::drain {

struct OutputDescription {
  std::string display_path;     // as the application named it
  store::FileNames names;
  base::DirectIo direct_io = base::DirectIo::automatic;
  store::FileLayout layout;
  plan::FileShare share{};      // which node writes what of it
  bool checksums = false;       // a sidecar is published with the file
  bool ranks_write = false;     // not only the drain does
  bool is_part = false;         // of several files, with an index beside it (docs/formats/part-index.md)
  bool nodes_drop = false;      // several nodes, and they may drop steps of it (pool/verdicts.hpp)
  bool is_bytes = false;        // no format and no variables: ranks write bytes where they like, and the latest write of a byte wins

  // In two parts: what is known before there is a file, so that whoever comes after a killed process knows what to remove,
  // and the layout with its share.
  [[nodiscard]] std::vector<std::byte> encode_names() const;
  [[nodiscard]] std::vector<std::byte> encode_layout() const;
  // All but layout and share. Throws io when `bytes` does not begin with what encode_names() made.
  [[nodiscard]] static OutputDescription decode_names(std::span<const std::byte> bytes);
  // Throws io when `bytes` is not what encode_names() and encode_layout() made.
  [[nodiscard]] static OutputDescription decode(std::span<const std::byte> bytes);
  friend bool operator==(const OutputDescription&, const OutputDescription&) = default;
};

// Where an output is and is to appear now: the program may have renamed it since it was closed. An empty final path: it has removed it.
// Throws io when it is not described. Local.
[[nodiscard]] store::FileNames current_names(const pool::Pool& pool, pool::OutputKey output);
// The same by a process that has locked the log of names.
[[nodiscard]] store::FileNames current_names(const pool::Pool& pool, pool::OutputKey output, const pool::NameLog& log);

}  // namespace glean::drain
