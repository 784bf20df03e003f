// SPDX-License-Identifier: BSD-3-Clause
//
// The sidecar of a published file: its length, its layout and its checksums. docs/formats/sidecar.md
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/posix/system_calls.hpp"
#include "store/sums/checksum.hpp"

namespace glean::store {

struct Sidecar {
  Bytes file_bytes = 0;
  std::vector<std::byte> layout;   // FileLayout::encode(); empty: not known
  std::vector<StridedSum> sums;    // ascending by begin, disjoint; what none covers is a hole

  [[nodiscard]] std::vector<std::byte> encode() const;
  // Throws io, naming what is wrong, when `bytes` is not what encode() made.
  [[nodiscard]] static Sidecar decode(std::span<const std::byte> bytes);
  friend bool operator==(const Sidecar&, const Sidecar&) = default;
};

// ".NAME.glean-sums" beside the file: no pattern of a user matches it by accident. A long name is cut and told from
// others by its hash.
[[nodiscard]] std::string sidecar_path(const std::string& path);

// The sidecar of the file at `path`, whose symbolic links are followed; nothing if there is none. Throws io when it is damaged or
// cannot be read. Blocks.
[[nodiscard]] std::optional<Sidecar> read_sidecar(SystemCalls& calls, const std::string& path);

// Removes what there is, and makes that durable: no file may appear beside the sums of another. Throws. Blocks.
void remove_sidecar(SystemCalls& calls, const std::string& path);

// Removes the one that a killed process has prepared and not published, if there is one.
void remove_prepared_sidecar(SystemCalls& calls, const std::string& path);

// A sidecar that waits under a working name until its file is published.
class PreparedSidecar {
 public:
  // Writes and fsyncs it. Throws. Blocks.
  PreparedSidecar(SystemCalls& calls, std::string path, const Sidecar& sidecar);
  // Removes it unless it was published.
  ~PreparedSidecar();
  PreparedSidecar(const PreparedSidecar&) = delete;
  PreparedSidecar& operator=(const PreparedSidecar&) = delete;
  // Renames it and fsyncs the directory. Throws. Blocks.
  void publish();

 private:
  SystemCalls& calls_;
  std::string path_;
  std::string working_path_;
  bool published_ = false;
};

}  // namespace glean::store
