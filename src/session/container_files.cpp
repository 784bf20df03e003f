// SPDX-License-Identifier: BSD-3-Clause
#include "session/container_files.hpp"

namespace glean::session {
namespace {

// Each write that goes into the pool takes a record there, and a system call where nothing is captured.
constexpr std::size_t collected_most = 64 * base::KiB;

}  // namespace

void ContainerFiles::append(std::span<const std::byte> bytes, base::Bytes offset) {
  const bool follows = !collected_.empty() && collected_offset_ + collected_.size() == offset;
  if (!follows || collected_.size() + bytes.size() > collected_most) write_collected();
  if (collected_.empty() && bytes.size() >= collected_most) return write(file_, bytes, offset);
  if (collected_.empty()) collected_offset_ = offset;
  collected_.insert(collected_.end(), bytes.begin(), bytes.end());
}

void ContainerFiles::write_collected() {
  if (collected_.empty()) return;
  write(file_, collected_, collected_offset_);
  collected_.clear();
}

}  // namespace glean::session
