// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/file_image.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace glean::store {
namespace {

FileImage image_of_two_parts() {
  FileImage image;
  image.layout.header_bytes = 4;
  image.layout.variables = {{"v", mesh::Type::int8, {4}, 4, 0, false, {}}};
  image.metadata = {{0, std::vector<std::byte>(4)}, {8, std::vector<std::byte>(2)}};
  return image;
}

TEST(FileImage, IsTheSameAfterEncodingAndDecoding) {
  EXPECT_EQ(FileImage::decode(image_of_two_parts().encode()), image_of_two_parts());
  EXPECT_EQ(FileImage::decode(FileImage{}.encode()), FileImage{});
}

TEST(FileImage, RefusesMetadataThatOverlapsOrLeavesAnyFile) {
  FileImage image = image_of_two_parts();
  image.metadata[1].offset = 3;
  EXPECT_THROW(static_cast<void>(FileImage::decode(image.encode())), base::Error);
  image.metadata[1].offset = (Bytes{1} << 63) - 2;
  EXPECT_THROW(static_cast<void>(FileImage::decode(image.encode())), base::Error);
}

}  // namespace
}  // namespace glean::store
