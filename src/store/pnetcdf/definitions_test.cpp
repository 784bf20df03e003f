// SPDX-License-Identifier: BSD-3-Clause
//
// The value only; what PnetCDF makes of it is tested in tests/netcdf, where there are ranks.
#include "store/pnetcdf/definitions.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace glean::store {

namespace {

using mesh::Type;

Definitions example_definitions() {
  Definitions definitions;
  definitions.format = Format::cdf5;
  definitions.dimensions = {
      {.name = "step", .unlimited = true}, {.name = "y", .length = 3}, {.name = "x", .length = 4}};
  definitions.variables = {{.name = "dens", .external = Type::float64, .dimensions = {1, 2}},
                           {.name = "time", .external = Type::float32, .dimensions = {0}},
                           {.name = "rows", .external = Type::int32, .dimensions = {0, 1, 1}},
                           {.name = "scalar", .external = Type::int8, .dimensions = {}}};
  definitions.attributes = {
      {.variable = -1, .name = "title", .type = Type::text, .values = {std::byte{'a'}, std::byte{'b'}}},
      {.variable = 0, .name = "range", .type = Type::int16, .values = std::vector<std::byte>(4)}};
  return definitions;
}

TEST(Definitions, TellWhatHasRecordsAndTheirShape) {
  const Definitions definitions = example_definitions();

  EXPECT_FALSE(definitions.per_step(0));
  EXPECT_TRUE(definitions.per_step(1));
  EXPECT_TRUE(definitions.per_step(2));
  EXPECT_FALSE(definitions.per_step(3));
  EXPECT_EQ(definitions.shape(0), (mesh::Shape{3, 4}));
  EXPECT_EQ(definitions.shape(1), mesh::Shape{});
  EXPECT_EQ(definitions.shape(2), (mesh::Shape{3, 3}));
  EXPECT_EQ(definitions.shape(3), mesh::Shape{});
}

TEST(Definitions, CountElementsOfAttributes) {
  EXPECT_EQ(example_definitions().attributes[0].count(), 2U);
  EXPECT_EQ(example_definitions().attributes[1].count(), 2U);
}

TEST(Definitions, HaveAnotherFingerprintAfterEveryChange) {
  const std::vector<std::function<void(Definitions&)>> changes = {
      [](Definitions& d) { d.format = Format::cdf2; },
      [](Definitions& d) { d.dimensions[1].name = "z"; },
      [](Definitions& d) { d.dimensions[1].length = 4; },
      [](Definitions& d) { d.dimensions[0].unlimited = false; },
      [](Definitions& d) { d.dimensions.pop_back(); },
      [](Definitions& d) { std::swap(d.dimensions[1], d.dimensions[2]); },
      [](Definitions& d) { d.variables[0].name = "den"; },
      [](Definitions& d) { d.variables[0].external = Type::float32; },
      [](Definitions& d) { d.variables[0].dimensions = {2, 1}; },
      [](Definitions& d) { d.variables[0].fill = true; },
      [](Definitions& d) { d.variables.pop_back(); },
      [](Definitions& d) { d.attributes[0].variable = 1; },
      [](Definitions& d) { d.attributes[0].name = "titl"; },
      [](Definitions& d) { d.attributes[0].type = Type::int8; },
      [](Definitions& d) { d.attributes[0].values[1] = std::byte{'c'}; },
      // Bytes that move from one field to the next.
      [](Definitions& d) { d.attributes[0].name = "titleab"; d.attributes[0].values = {}; },
      [](Definitions& d) { d.attributes.pop_back(); }};
  std::set<std::uint64_t> fingerprints = {example_definitions().fingerprint()};

  for (const auto& change : changes) {
    Definitions changed = example_definitions();
    change(changed);
    fingerprints.insert(changed.fingerprint());
  }

  EXPECT_EQ(fingerprints.size(), changes.size() + 1);
  EXPECT_EQ(example_definitions().fingerprint(), example_definitions().fingerprint());
}

}  // namespace

}  // namespace glean::store
