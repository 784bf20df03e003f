// SPDX-License-Identifier: BSD-3-Clause
//
// What whoever drains must know of an output: where its file is and how it is laid out.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "store/layout.hpp"
#include "store/posix/file.hpp"

namespace glean::drain {

struct OutputDescription {
  std::string display_path;     // as the application named it
  store::FileNames names;
  base::DirectIo direct_io = base::DirectIo::automatic;
  store::FileLayout layout;
  bool checksums = false;       // a sidecar is published with the file

  [[nodiscard]] std::vector<std::byte> encode() const;
  // Throws io when `bytes` is not what encode() made.
  [[nodiscard]] static OutputDescription decode(std::span<const std::byte> bytes);
  friend bool operator==(const OutputDescription&, const OutputDescription&) = default;
};

}  // namespace glean::drain
