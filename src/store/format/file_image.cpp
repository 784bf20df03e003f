// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/file_image.hpp"

#include <limits>

#include "base/encoding.hpp"

namespace glean::store {

std::vector<std::byte> FileImage::encode() const {
  base::Encoder out;
  out.bytes(layout.encode());
  out.number(metadata.size());
  for (const Patch& part : metadata) {
    out.number(part.offset);
    out.bytes(part.bytes);
  }
  return out.take();
}

FileImage FileImage::decode(std::span<const std::byte> bytes) {
  base::Decoder in(bytes, "the image of a file");
  FileImage image;
  image.layout = FileLayout::decode(in.bytes());
  image.metadata.resize(in.count(2 * 8, "parts of metadata"));
  Bytes end = 0;
  for (Patch& part : image.metadata) {
    part.offset = in.number();
    const auto part_bytes = in.bytes();
    part.bytes.assign(part_bytes.begin(), part_bytes.end());
    if (part.offset < end || part.offset > std::numeric_limits<std::int64_t>::max() - part_bytes.size()) {
      in.reject("parts of the metadata are not in order");
    }
    end = part.extent().end;
  }
  in.expect_end();
  return image;
}

}  // namespace glean::store
