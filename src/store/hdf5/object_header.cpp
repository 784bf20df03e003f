// SPDX-License-Identifier: BSD-3-Clause
#include "store/hdf5/object_header.hpp"

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace glean::store {
namespace {

constexpr std::uint64_t dataspace_message = 1, layout_message = 8, continuation_message = 16;
constexpr std::uint64_t chunked = 2;

class Metadata {
 public:
  explicit Metadata(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[noreturn]] static void reject(const char* what) {
    throw base::Error(base::Errc::io, std::string("HDF5 has made metadata that are not known: ") + what,
                      "tell the project which version of HDF5 it is");
  }
  [[nodiscard]] std::uint64_t number(Bytes offset, std::size_t bytes) const {
    if (offset > bytes_.size() || bytes > bytes_.size() - offset) reject("something lies behind their end");
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value |= std::to_integer<std::uint64_t>(bytes_[offset + i]) << (8 * i);
    return value;
  }
  void expect(Bytes offset, std::size_t bytes, std::uint64_t value, const char* what) const {
    if (number(offset, bytes) != value) reject(what);
  }

 private:
  std::span<const std::byte> bytes_;
};

// Behind a version, the rank, flags and, in the first version, reserved bytes.
Bytes first_dimension(const Metadata& metadata, Bytes message) {
  const std::uint64_t version = metadata.number(message, 1);
  if (version != 1 && version != 2) Metadata::reject("a dataspace of another version");
  const Bytes offset = message + (version == 1 ? 8 : 4);
  metadata.expect(offset, 8, 0, "a dataset that should have no records");
  return offset;
}

Bytes index_address(const Metadata& metadata, Bytes message) {
  metadata.expect(message, 1, 3, "a data layout of another version");
  metadata.expect(message + 1, 1, chunked, "a data layout that is not chunked");
  metadata.expect(message + 3, 8, ~std::uint64_t{0}, "an index of chunks where none should be");
  return message + 3;
}

}  // namespace

RecordPlaces record_places(std::span<const std::byte> bytes, Bytes address) {
  const Metadata metadata(bytes);
  metadata.expect(address, 1, 1, "an object header of another version");
  std::uint64_t messages_left = metadata.number(address + 2, 2);
  std::vector<base::Extent> blocks{{address + 16, address + 16 + metadata.number(address + 8, 4)}};
  std::optional<Bytes> length, index;
  for (std::size_t block = 0; block < blocks.size() && messages_left > 0; ++block) {
    for (Bytes at = blocks[block].begin; at + 8 <= blocks[block].end && messages_left > 0; --messages_left) {
      const std::uint64_t type = metadata.number(at, 2), size = metadata.number(at + 2, 2);
      const Bytes message = at + 8;
      if (type == dataspace_message) length = first_dimension(metadata, message);
      if (type == layout_message) index = index_address(metadata, message);
      if (type == continuation_message) {
        const Bytes begin = metadata.number(message, 8);
        blocks.push_back({begin, begin + metadata.number(message + 8, 8)});
      }
      at = message + size;
    }
  }
  if (!length || !index) Metadata::reject("a dataset without a dataspace or a layout");
  return {*length, *index};
}

Bytes end_offset(std::span<const std::byte> bytes) {
  const Metadata metadata(bytes);
  constexpr char signature[] = "\211HDF\r\n\032\n";
  if (bytes.size() < 8 || std::memcmp(bytes.data(), signature, 8) != 0) Metadata::reject("they have no signature");
  const std::uint64_t version = metadata.number(8, 1);
  if (version > 1) Metadata::reject("a superblock of another version");
  metadata.expect(13, 2, 0x0808, "addresses and lengths that do not have 8 bytes");
  return 40 + (version == 1 ? 4 : 0);   // behind the addresses of the beginning and of free space
}

}  // namespace glean::store
