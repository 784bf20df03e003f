// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/cdf/header.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.hpp"
#include "store/format/cdf/test_header.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::store {
namespace {

template <class T>
mesh::Attribute header_attribute(int variable, const std::string& name, mesh::Type type, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {variable, name, type, {bytes.begin(), bytes.end()}};
}

mesh::Definitions all_of(CdfVersion version) {
  mesh::Definitions definitions;
  definitions.dimensions = {{"x", 5, false}, {"time", 0, true}, {"y", 3, false}};
  for (int type = 0; type < mesh::type_count; ++type) {
    const auto external = static_cast<mesh::Type>(type);
    const bool is_of_cdf5 = external == mesh::Type::uint8 || external == mesh::Type::uint16 || external == mesh::Type::uint32 ||
                            external == mesh::Type::int64 || external == mesh::Type::uint64;
    if (is_of_cdf5 && version != CdfVersion::cdf5) continue;
    const std::string name(mesh::name_of(external));
    definitions.variables.push_back({name, external, {2, 0}});
    definitions.variables.push_back({name + " of steps", external, {1, 0}});
  }
  definitions.variables.push_back({"scalar", mesh::Type::float64, {}});
  const std::string title = "tïtle";
  definitions.attributes = {header_attribute<char>(-1, "title", mesh::Type::text, {title.begin(), title.end()}),
                            header_attribute<double>(-1, "time", mesh::Type::float64, {1.5, -2}),
                            header_attribute<char>(-1, "nothing", mesh::Type::text, {}),
                            header_attribute<std::int16_t>(1, "range", mesh::Type::int16, {1, -300, 7})};
  return definitions;
}

std::string refusal(std::span<const std::byte> bytes, Bytes file_bytes) {
  try {
    return parse_cdf_header(bytes, file_bytes) ? "it is read" : "more is needed";
  } catch (const base::Error& error) {
    return error.what();
  }
}

TEST(CdfHeader, SaysWhatIsDefinedAndWhereItLies) {
  for (const CdfVersion version : {CdfVersion::cdf1, CdfVersion::cdf2, CdfVersion::cdf5}) {
    const mesh::Definitions definitions = all_of(version);
    const TestCdfHeader written(version, definitions, 7);

    const auto header = parse_cdf_header(written.bytes(), written.end(7));

    ASSERT_TRUE(header);
    EXPECT_EQ(header->version, version);
    EXPECT_EQ(header->records, 7U);
    EXPECT_EQ(header->definitions, definitions);
    EXPECT_EQ(header->layout.format, name_of(version));
    EXPECT_EQ(header->layout.header_bytes, written.bytes().size());
    ASSERT_EQ(header->layout.variables.size(), definitions.variables.size());
    for (std::size_t v = 0; v < definitions.variables.size(); ++v) {
      const VariableLayout& variable = header->layout.variables[v];
      const bool per_step = definitions.per_step(static_cast<int>(v));
      EXPECT_EQ(variable.begin_bytes, written.begin(v)) << variable.name;
      EXPECT_EQ(variable.record_stride_bytes, per_step ? written.stride() : 0) << variable.name;
      EXPECT_EQ(variable.shape, (per_step ? mesh::Shape{5} : definitions.shape(static_cast<int>(v)))) << variable.name;
      EXPECT_EQ(variable.stored, stored_in(version));
    }
  }
}

TEST(CdfHeader, OnlyOneVariableWithRecordsHasNoPadding) {
  mesh::Definitions definitions;
  definitions.dimensions = {{"time", 0, true}, {"x", 3, false}};
  definitions.variables = {{"a", mesh::Type::int8, {0, 1}}};
  EXPECT_EQ(parse_cdf_header(TestCdfHeader(CdfVersion::cdf1, definitions, 2).bytes(), 1000)->layout.variables[0].record_stride_bytes, 3U);
  definitions.variables.push_back({"b", mesh::Type::int8, {0, 1}});
  EXPECT_EQ(parse_cdf_header(TestCdfHeader(CdfVersion::cdf1, definitions, 2).bytes(), 1000)->layout.variables[1].record_stride_bytes, 8U);
}

TEST(CdfHeader, CountsTheRecordsOfAFileThatIsBeingWritten) {
  mesh::Definitions definitions;
  definitions.dimensions = {{"time", 0, true}};
  definitions.variables = {{"a", mesh::Type::float64, {0}}};
  const TestCdfHeader written(CdfVersion::cdf1, definitions, 0xffffffffU);
  EXPECT_EQ(parse_cdf_header(written.bytes(), written.bytes().size() + 5 * 8 + 3)->records, 5U);
}

TEST(CdfHeader, AsksForMoreUntilAllOfItIsThere) {
  const TestCdfHeader written(CdfVersion::cdf5, all_of(CdfVersion::cdf5), 1);
  for (std::size_t size = 0; size < written.bytes().size(); ++size) {
    const auto begin = std::span(written.bytes()).first(size);
    EXPECT_EQ(refusal(begin, 1 << 20), "more is needed") << size;
    EXPECT_NE(refusal(begin, size).find("is damaged: "), std::string::npos) << size;
  }
}

TEST(CdfHeader, IsReadFromAFileHoweverLongItIs) {
  const TemporaryDirectory directory;
  mesh::Definitions definitions = all_of(CdfVersion::cdf5);
  for (int i = 0; i < 9; ++i) {
    const std::vector<double> values(9000, i);
    definitions.attributes.push_back(header_attribute(-1, "table " + std::to_string(i), mesh::Type::float64, values));
  }
  std::stable_sort(definitions.attributes.begin(), definitions.attributes.end(),
                   [](const auto& a, const auto& b) { return a.variable < b.variable; });
  const TestCdfHeader written(CdfVersion::cdf5, definitions, 0);
  std::ofstream(directory / "a.nc", std::ios::binary)
      .write(reinterpret_cast<const char*>(written.bytes().data()), static_cast<std::streamsize>(written.bytes().size()));
  SystemCalls calls;

  EXPECT_EQ(read_cdf_header(InputFile(calls, directory / "a.nc")).definitions, definitions);
}

TEST(CdfHeader, OfSizesThatCannotBeIsRefusedAtOnce) {
  std::vector<std::byte> bytes = TestCdfHeader(CdfVersion::cdf5, all_of(CdfVersion::cdf5), 1).bytes();
  std::fill_n(bytes.begin() + 16, 8, std::byte{0x10});   // the number of dimensions
  EXPECT_NE(refusal(bytes, Bytes{1} << 50).find("dimensions, more than the file has room for"), std::string::npos);

  mesh::Definitions definitions;
  definitions.dimensions = {{"x", Bytes{1} << 40, false}, {"y", Bytes{1} << 40, false}};
  definitions.variables = {{"v", mesh::Type::int8, {0, 1}}};
  const auto large = TestCdfHeader(CdfVersion::cdf5, definitions, 0).bytes();
  EXPECT_NE(refusal(large, 1 << 20).find("'v' is larger than any file"), std::string::npos);
  definitions.dimensions = {{"time", 0, true}, {"y", Bytes{1} << 40, false}};
  const auto many = TestCdfHeader(CdfVersion::cdf5, definitions, Bytes{1} << 40).bytes();
  EXPECT_NE(refusal(many, 1 << 20).find("more than any file has room for"), std::string::npos);
}

TEST(CdfHeader, NamesEveryNameAndDimensionThatCannotBe) {
  mesh::Definitions definitions;
  definitions.dimensions = {{"x", 2, false}, {"x", 3, false}, {"t", 0, true}, {"u", 0, true}, {"a/b", 1, false}};
  definitions.variables = {{"v", mesh::Type::int8, {0, 2}}, {"v", mesh::Type::int8, {}}, {"\x1b[0m", mesh::Type::int8, {}}};
  EXPECT_EQ(refusal(TestCdfHeader(CdfVersion::cdf5, definitions, 0).bytes(), 1 << 20),
            "the header of the NetCDF file is damaged: there are two dimensions 'x'; dimension 'u' is the second that is unlimited; "
            "the name of a dimension 'a/b' cannot be: it has a slash; variable 'v' has the unlimited dimension, and not in front; "
            "there are two variables 'v'; the name of a variable '?[0m' cannot be: it begins neither with a letter nor with a digit or _");
}

TEST(CdfHeader, OtherFilesAreNamed) {
  const std::string hdf5 = "\211HDF\r\n\032\n........", other = "CDF\3....";
  EXPECT_EQ(refusal(std::as_bytes(std::span(hdf5)), 16), "it is no classic NetCDF file: it does not begin with CDF");
  EXPECT_EQ(refusal(std::as_bytes(std::span(other)), 8), "it is a NetCDF file of version 3, and only 1, 2 and 5 are known");
}

}  // namespace
}  // namespace glean::store
