// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/npy/npy.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <iterator>
#include <string>

#include "base/error.hpp"
#include "store/format/contract.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::store {
namespace {

mesh::Definitions array_of(mesh::Type type, const mesh::Shape& shape, bool per_step) {
  mesh::Definitions definitions;
  mesh::VariableDefinition& variable = definitions.variables.emplace_back();
  variable.name = "array";
  variable.external = type;
  if (per_step) definitions.dimensions.push_back({"step", 0, true});
  for (const std::uint64_t length : shape) {
    definitions.dimensions.push_back({"d" + std::to_string(definitions.dimensions.size()), length, false});
  }
  for (std::size_t d = 0; d < definitions.dimensions.size(); ++d) variable.dimensions.push_back(static_cast<int>(d));
  return definitions;
}

std::vector<std::byte> content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// On a little-endian machine; one that is not has no test of this.
std::vector<std::byte> read_record(const std::string& path, bool per_step, std::uint64_t record) {
  const std::vector<std::byte> file = content_of(path);
  const auto header = read_npy_header(file);
  if (!header) return {};
  mesh::Shape shape = header->shape;
  if (per_step) shape.erase(shape.begin());
  const Bytes bytes = mesh::elements_of(shape) * mesh::size_of(header->external), begin = header->begin_bytes + record * bytes;
  EXPECT_EQ(file.size(), header->begin_bytes + header->record_bytes());
  return {file.begin() + static_cast<std::ptrdiff_t>(begin), file.begin() + static_cast<std::ptrdiff_t>(begin + bytes)};
}

TEST(Npy, KeepsTheContractOfFormats) {
  const TemporaryDirectory directory;
  const auto format = make_npy_format();
  for (int type = 0; type < mesh::type_count; ++type) {
    for (const mesh::Shape& shape : {mesh::Shape{}, mesh::Shape{5}, mesh::Shape{3, 4, 2}}) {
      for (const bool per_step : {false, true}) {
        const auto definitions = array_of(static_cast<mesh::Type>(type), shape, per_step);
        FormatContract contract(*format, definitions, directory / "a.npy", [&](const std::string& path, int, std::uint64_t record) {
          return read_record(path, per_step, record);
        });
        EXPECT_EQ(contract.play(), "") << mesh::name_of(static_cast<mesh::Type>(type)) << ", " << shape.size() << " dimensions";
      }
    }
  }
}

TEST(Npy, HasAHeaderAsNumpyWritesIt) {
  const auto format = make_npy_format();
  const FileImage image = format->image(array_of(mesh::Type::float64, {3, 4}, true), base::RangeRule::error);
  const Finished finished = format->finish(image, {2, 0});
  ASSERT_EQ(finished.patches.size(), 1U);
  const std::vector<std::byte>& header = finished.patches[0].bytes;
  const std::string text(reinterpret_cast<const char*>(header.data()) + 10, header.size() - 10);

  EXPECT_EQ(header.size() % 64, 0U);
  EXPECT_TRUE(text.starts_with("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3, 4), } ")) << text;
  EXPECT_EQ(text.back(), '\n');
  EXPECT_EQ(finished.size, header.size() + 2 * 3 * 4 * 8);
}

TEST(Npy, SaysAllThatItCannotHold) {
  mesh::Definitions definitions = array_of(mesh::Type::int32, {4}, false);
  definitions.attributes.push_back({0, "units", mesh::Type::text, {}});
  definitions.variables.push_back(definitions.variables[0]);
  try {
    static_cast<void>(make_npy_format()->image(definitions, base::RangeRule::error));
    FAIL() << "nothing was thrown";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::Errc::invalid_argument);
    const std::string what = error.what();
    EXPECT_NE(what.find("holds one variable, and 2 are defined"), what.npos) << what;
    EXPECT_NE(what.find("'units'"), what.npos) << what;
  }
}

TEST(Npy, RefusesAnArrayLargerThanAnyFile) {
  const std::uint64_t length = std::uint64_t{1} << 40;
  EXPECT_THROW(static_cast<void>(make_npy_format()->image(array_of(mesh::Type::int32, {length, length}, false), base::RangeRule::error)),
               base::Error);
}

}  // namespace
}  // namespace glean::store
