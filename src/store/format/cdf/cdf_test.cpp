// SPDX-License-Identifier: BSD-3-Clause
//
// How a file ends. That the formats keep the contract is tested in tests/netcdf, with the library that makes the header.
#include "store/format/cdf/cdf.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "store/format/formats.hpp"

namespace glean::store {
namespace {

FileLayout layout_with_a_filled_variable() {
  FileLayout layout;
  layout.header_bytes = 300;
  layout.variables = {
      {.name = "dens", .external = mesh::Type::float64, .shape = {4, 16, 16}, .begin_bytes = 512},
      {.name = "species", .external = mesh::Type::int16, .shape = {3}, .begin_bytes = 8704, .record_stride_bytes = 12,
       .fill = true, .fill_value = {std::byte{0x80}, std::byte{0x01}}},
      {.name = "time", .external = mesh::Type::float32, .shape = {}, .begin_bytes = 8712, .record_stride_bytes = 12}};
  return layout;
}

Bytes final_size(const FileLayout& layout, std::uint64_t records, Bytes end) {
  return make_cdf_format(CdfVersion::cdf5)->finish({layout, {}}, {records, end}).size;
}

TEST(Cdf, EndsWithTheLastPutIfNothingIsFilled) {
  FileLayout layout = layout_with_a_filled_variable();
  layout.variables[1].fill = false;

  EXPECT_EQ(final_size(layout, 0, 0), 300U);
  EXPECT_EQ(final_size(layout, 5, 600), 600U);
}

TEST(Cdf, EndsBehindWhatIsFilledWithoutPadding) {
  FileLayout layout = layout_with_a_filled_variable();

  EXPECT_EQ(final_size(layout, 0, 600), 600U);
  EXPECT_EQ(final_size(layout, 2, 600), 8704U + 12 + 6);
  EXPECT_EQ(final_size(layout, 2, 9000), 9000U);
  layout.variables[0].fill = true;
  EXPECT_EQ(final_size(layout, 0, 0), 8704U);
}

TEST(Cdf, DoesNotPassTheLargestFile) {
  FileLayout layout = layout_with_a_filled_variable();
  for (VariableLayout& variable : layout.variables) variable.fill = true;
  constexpr Bytes largest = ~Bytes{0} / 2;

  EXPECT_EQ(final_size(layout, largest, 0), largest);
  EXPECT_EQ(whole_size(layout, ~std::uint64_t{0}), largest);
}

TEST(Cdf, HasANumberOfRecordsThatIsBigEndianAndAsWideAsTheVersion) {
  const auto patch_of = [](CdfVersion version, std::uint64_t records) {
    return make_cdf_format(version)->finish({{}, {}}, {records, 0}).patches.at(0);
  };
  EXPECT_EQ(patch_of(CdfVersion::cdf2, 0x010203), (Patch{4, {std::byte{0}, std::byte{1}, std::byte{2}, std::byte{3}}}));
  EXPECT_EQ(patch_of(CdfVersion::cdf5, 0x0102030405), (Patch{4, {std::byte{0}, std::byte{0}, std::byte{0}, std::byte{1}, std::byte{2},
                                                                std::byte{3}, std::byte{4}, std::byte{5}}}));
}

TEST(Formats, AreFoundByTheirNamesAndOthersAreNamed) {
  for (const char* name : {"cdf1", "cdf2", "cdf5", "hdf5", "npy", "vtk"}) EXPECT_EQ(Formats::to_finish().find(name).name(), name);
  try {
    static_cast<void>(Formats::to_finish().find("hdf9"));
    FAIL() << "nothing was thrown";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::Errc::unsupported);
    EXPECT_STREQ(error.what(), "there is no file format 'hdf9' here, only cdf1, cdf2, cdf5, hdf5, npy, vtk");
  }
}

TEST(Formats, WithoutTheirLibraryMakeNoMetadata) {
  EXPECT_THROW(static_cast<void>(Formats::to_finish().find("cdf5").image({}, base::RangeRule::error)), base::Error);
}

}  // namespace
}  // namespace glean::store
