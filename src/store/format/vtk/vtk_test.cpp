// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/vtk/vtk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "store/format/contract.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::store {
namespace {

int add(mesh::Definitions& definitions, const std::string& name, mesh::Type type, const mesh::Shape& shape, int grid = -1,
        mesh::Centring centring = mesh::Centring::cells, std::uint32_t components = 1) {
  mesh::VariableDefinition& variable = definitions.variables.emplace_back();
  variable.name = name;
  variable.external = type;
  variable.grid = grid;
  variable.centring = centring;
  variable.components = components;
  for (const std::uint64_t length : shape) {
    variable.dimensions.push_back(static_cast<int>(definitions.dimensions.size()));
    definitions.dimensions.push_back({"d" + std::to_string(definitions.dimensions.size()), length, false});
  }
  return static_cast<int>(definitions.variables.size()) - 1;
}

// Of 3 x 2 cells, with every kind of array.
mesh::Definitions plane(mesh::Type type) {
  mesh::Definitions definitions;
  definitions.dimensions = {{"y", 2, false}, {"x", 3, false}};
  definitions.grids = {{mesh::GridKind::uniform, {0, 1}, {}, {-1, 0.5}, {2, 0.25}}};
  add(definitions, "cells", type, {2, 3}, 0);
  add(definitions, "points", type, {3, 4}, 0, mesh::Centring::points);
  add(definitions, "vector", type, {2, 3, 3}, 0, mesh::Centring::cells, 3);
  add(definitions, "tensor", type, {3, 4, 9}, 0, mesh::Centring::points, 9);
  add(definitions, "pair", type, {2, 3, 2}, 0, mesh::Centring::cells, 2);
  add(definitions, "free", type, {5});
  return definitions;
}

// Larger than any file may be is too large; that there are more than 2^31 elements is not.
mesh::Definitions mesh_of(std::uint64_t points, std::uint64_t cells, std::uint64_t ids) {
  mesh::Definitions definitions;
  definitions.dimensions = {{"cells", cells, false}};
  definitions.grids = {{mesh::GridKind::unstructured, {0}, {0, 1, 2}, {}, {}}};
  add(definitions, "xyz", mesh::Type::float32, {points, 3});
  add(definitions, "ids", mesh::Type::int32, {cells + ids});
  add(definitions, "types", mesh::Type::int32, {cells});
  add(definitions, "field", mesh::Type::float64, {points}, 0, mesh::Centring::points);
  return definitions;
}

std::string text_of(const FileImage& image) {
  std::string text;
  for (const Patch& part : image.metadata) text += std::string(reinterpret_cast<const char*>(part.bytes.data()), part.bytes.size());
  return text;
}

// The array begins behind a line that begins with the keyword and has the name; big-endian.
std::vector<std::byte> array_behind(const std::string& path, const VariableLayout& variable) {
  std::ifstream file(path, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  std::size_t name = all.find(" " + variable.name + " ");
  if (name == all.npos) name = all.find("\n" + variable.name + " ");
  if (name == all.npos) return {};
  std::size_t begin = all.find('\n', name + 1) + 1;
  if (all.compare(begin, 12, "LOOKUP_TABLE") == 0) begin = all.find('\n', begin) + 1;
  const std::size_t size = mesh::size_of(variable.external);
  std::vector<std::byte> values;
  for (std::size_t i = 0; i < variable.record_bytes(); i += size) {
    for (std::size_t b = size; b-- > 0;) values.push_back(static_cast<std::byte>(all[begin + i + b]));
  }
  return values;
}

TEST(Vtk, KeepsTheContractOfFormats) {
  const TemporaryDirectory directory;
  const auto format = make_vtk_format();
  for (int type = 0; type < mesh::type_count; ++type) {
    if (static_cast<mesh::Type>(type) == mesh::Type::text) continue;
    const mesh::Definitions definitions = plane(static_cast<mesh::Type>(type));
    const FileImage image = format->image(definitions, base::RangeRule::fill);
    FormatContract contract(*format, definitions, directory / "a.vtk", [&](const std::string& path, int variable, std::uint64_t) {
      return array_behind(path, image.layout.variables[static_cast<std::size_t>(variable)]);
    });
    EXPECT_EQ(contract.play(), "") << mesh::name_of(static_cast<mesh::Type>(type));
  }
}

TEST(Vtk, SaysWhatAGridIs) {
  mesh::Definitions definitions = plane(mesh::Type::float64);
  const std::string title = "A\ntitle";
  const auto bytes = std::as_bytes(std::span(title));
  definitions.attributes.push_back({-1, "title", mesh::Type::text, {bytes.begin(), bytes.end()}});

  const std::string text = text_of(make_vtk_format()->image(definitions, base::RangeRule::error));

  EXPECT_EQ(text,
            "# vtk DataFile Version 3.0\nA title\nBINARY\nDATASET STRUCTURED_POINTS\nFIELD FieldData 1\nfree 1 5 double\n\n"
            "DIMENSIONS 4 3 1\nORIGIN 0.5 -1 0\nSPACING 0.25 2 1\nPOINT_DATA 12\nSCALARS points double 1\nLOOKUP_TABLE default\n\n"
            "TENSORS tensor double\n\nCELL_DATA 6\nSCALARS cells double 1\nLOOKUP_TABLE default\n\nVECTORS vector double\n\n"
            "FIELD FieldData 1\npair 2 6 double\n\n");
}

TEST(Vtk, BeginsLargeArraysWithABlockOfTheFileSystem) {
  const FileImage image = make_vtk_format()->image(mesh_of(100'000, 10, 80), base::RangeRule::error);
  for (const VariableLayout& variable : image.layout.variables) {
    const bool is_large = variable.record_bytes() >= 64 * base::KiB;
    EXPECT_EQ(is_large, variable.begin_bytes % 4096 == 0) << variable.name;
  }
  // Readers skip empty lines, not zeros.
  Bytes end = 0;
  for (const Patch& part : image.metadata) {
    const auto& arrays = image.layout.variables;
    const bool follows = part.offset == end || std::any_of(arrays.begin(), arrays.end(), [&](const auto& each) {
      return each.begin_bytes == end && each.begin_bytes + each.record_bytes() == part.offset;
    });
    EXPECT_TRUE(follows) << part.offset;
    end = part.extent().end;
  }
}

TEST(Vtk, HoldsMoreThanTwoThousandMillionElements) {
  const std::uint64_t cells = std::uint64_t{3} << 30;
  const FileImage image = make_vtk_format()->image(mesh_of(std::uint64_t{1} << 31, cells, 8 * cells), base::RangeRule::error);
  EXPECT_NE(text_of(image).find("CELLS 3221225472 28991029248\n"), std::string::npos);
  EXPECT_GT(image.layout.variables[3].begin_bytes, 9 * cells * 4);
  EXPECT_EQ(FileImage::decode(image.encode()), image);
}

TEST(Vtk, WritesTheTextBetweenArraysWhenItIsFinished) {
  const auto format = make_vtk_format();
  const FileImage image = format->image(plane(mesh::Type::float32), base::RangeRule::error);
  const Finished finished = format->finish(image, {});
  EXPECT_EQ(finished.patches.size() + 1, image.metadata.size());
  EXPECT_EQ(finished.size, image.metadata.back().extent().end);
}

TEST(Vtk, WritesNamesSoThatTheyAreOneWord) {
  EXPECT_EQ(vtk_encoded("a_1"), "a_1");
  EXPECT_EQ(vtk_encoded("\xc3\xb6 100%\""), "%C3%B6%20100%25%22");
}

TEST(Vtk, SaysAllThatItCannotHold) {
  mesh::Definitions definitions = plane(mesh::Type::text);
  definitions.grids[0].kind = mesh::GridKind::amr;
  definitions.variables[5].dimensions = {0, 1, 2};
  try {
    static_cast<void>(make_vtk_format()->image(definitions, base::RangeRule::error));
    FAIL() << "nothing was thrown";
  } catch (const base::Error& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("no AMR grids"), what.npos) << what;
    EXPECT_NE(what.find("'free' is on no grid"), what.npos) << what;
    EXPECT_NE(what.find("'tensor' is text"), what.npos) << what;
  }
  EXPECT_THROW(static_cast<void>(make_vtk_format()->image(mesh_of(std::uint64_t{1} << 62, 1, 1), base::RangeRule::error)), base::Error);
}

}  // namespace
}  // namespace glean::store
