// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/cdf/encode_header.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "store/format/cdf/test_header.hpp"

namespace glean::store {
namespace {

mesh::Definitions example(mesh::Type type, bool one_of_records) {
  mesh::Definitions definitions;
  definitions.dimensions = {{"time", 0, true}, {"y", 5, false}, {"x", 3, false}};
  definitions.variables = {{"dens", type, {0, 1, 2}}, {"level", mesh::Type::int16, {1}}, {"scalar", mesh::Type::float64, {}}};
  if (!one_of_records) definitions.variables.push_back({"name", mesh::Type::text, {0, 2}});
  definitions.attributes = {{-1, "title", mesh::Type::text, {std::byte{'a'}, std::byte{'b'}, std::byte{'c'}}},
                            {1, "unit", mesh::Type::int16, {std::byte{1}, std::byte{0}}}};
  return definitions;
}

TEST(EncodedCdfHeader, SaysTheSameAsTheSlowObviousEncoder) {
  for (const CdfVersion version : {CdfVersion::cdf1, CdfVersion::cdf2, CdfVersion::cdf5}) {
    for (const bool one_of_records : {false, true}) {
      const mesh::Definitions definitions = example(mesh::Type::float32, one_of_records);
      const TestCdfHeader slow(version, definitions, 4);

      const EncodedCdfHeader made = encode_cdf_header(version, definitions, 4);

      EXPECT_EQ(made.header, parse_cdf_header(slow.bytes(), slow.end(4)));
      EXPECT_EQ(made.bytes.size(), slow.bytes().size());
      EXPECT_EQ(made.header.version, version);
    }
  }
}

TEST(EncodedCdfHeader, IsOfANewerFormatWhereTheOlderOneCannotHoldIt) {
  EXPECT_EQ(encode_cdf_header(CdfVersion::cdf1, example(mesh::Type::uint64, false), 1).header.version, CdfVersion::cdf5);
  mesh::Definitions large = example(mesh::Type::float32, true);
  large.dimensions[2].length = 1 << 28;
  EXPECT_EQ(encode_cdf_header(CdfVersion::cdf2, large, 1).header.version, CdfVersion::cdf5);
  large.dimensions[2].length = 200'000'000;
  large.dimensions[1].length = 2;
  large.variables = {{"a", mesh::Type::float32, {1, 2}}, {"b", mesh::Type::float32, {1, 2}}, {"c", mesh::Type::float32, {2}}};
  EXPECT_EQ(encode_cdf_header(CdfVersion::cdf1, large, 0).header.version, CdfVersion::cdf2);
}

TEST(EncodedCdfHeader, NamesAllThatNetcdfCannotHave) {
  mesh::Definitions definitions = example(mesh::Type::float32, true);
  definitions.dimensions[1].name = "";
  definitions.variables[0].name = "a/b";

  try {
    static_cast<void>(encode_cdf_header(CdfVersion::cdf5, definitions, 0));
    FAIL() << "it is taken";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::Errc::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("dimension ''"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("variable 'a/b'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace glean::store
