// SPDX-License-Identifier: BSD-3-Clause
//
// The value only; what a format makes of it is tested with the format.
#include "mesh/definitions.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "base/error.hpp"

namespace glean::mesh {

namespace {

Definitions example_definitions() {
  Definitions definitions;
  definitions.dimensions = {
      {.name = "step", .unlimited = true}, {.name = "y", .length = 3}, {.name = "x", .length = 4}};
  definitions.variables = {{.name = "dens", .external = Type::float64, .dimensions = {1, 2}},
                           {.name = "time", .external = Type::float32, .dimensions = {0}},
                           {.name = "rows", .external = Type::int32, .dimensions = {0, 1, 1}},
                           {.name = "scalar", .external = Type::int8, .dimensions = {}}};
  definitions.attributes = {
      {.variable = -1, .name = "title", .type = Type::text, .values = {std::byte{'a'}, std::byte{'b'}}},
      {.variable = 0, .name = "range", .type = Type::int16, .values = std::vector<std::byte>(4), .changes = true}};
  definitions.grids = {{.kind = GridKind::uniform, .dimensions = {1, 2}, .coordinates = {1}, .origin = {0, 1}, .spacing = {0.5, 2}}};
  definitions.variables[0].grid = 0;
  return definitions;
}

TEST(Definitions, TellWhatHasRecordsAndTheirShape) {
  const Definitions definitions = example_definitions();

  EXPECT_FALSE(definitions.per_step(0));
  EXPECT_TRUE(definitions.per_step(1));
  EXPECT_TRUE(definitions.per_step(2));
  EXPECT_FALSE(definitions.per_step(3));
  EXPECT_EQ(definitions.shape(0), (Shape{3, 4}));
  EXPECT_EQ(definitions.shape(1), Shape{});
  EXPECT_EQ(definitions.shape(2), (Shape{3, 3}));
  EXPECT_EQ(definitions.shape(3), Shape{});
}

TEST(Definitions, CountElementsOfAttributes) {
  EXPECT_EQ(example_definitions().attributes[0].count(), 2U);
  EXPECT_EQ(example_definitions().attributes[1].count(), 2U);
}

TEST(Definitions, HaveAnotherFingerprintAfterEveryChange) {
  const std::vector<std::function<void(Definitions&)>> changes = {
      [](Definitions& d) { d.dimensions[1].name = "z"; },
      [](Definitions& d) { d.dimensions[1].length = 4; },
      [](Definitions& d) { d.dimensions[0].unlimited = false; },
      [](Definitions& d) { d.dimensions.pop_back(); },
      [](Definitions& d) { std::swap(d.dimensions[1], d.dimensions[2]); },
      [](Definitions& d) { d.attributes[0].changes = true; },
      [](Definitions& d) { d.variables[0].name = "den"; },
      [](Definitions& d) { d.variables[0].external = Type::float32; },
      [](Definitions& d) { d.variables[0].dimensions = {2, 1}; },
      [](Definitions& d) { d.variables[0].fill = true; },
      [](Definitions& d) { d.variables[0].grid = -1; },
      [](Definitions& d) { d.variables[0].centring = Centring::points; },
      [](Definitions& d) { d.variables[0].components = 3; },
      [](Definitions& d) { d.variables.pop_back(); },
      [](Definitions& d) { d.grids[0].kind = GridKind::amr; },
      [](Definitions& d) { d.grids[0].dimensions = {2, 1}; },
      [](Definitions& d) { d.grids[0].coordinates = {0}; },
      [](Definitions& d) { d.grids.pop_back(); },
      [](Definitions& d) { d.attributes[0].variable = 1; },
      [](Definitions& d) { d.attributes[0].name = "titl"; },
      [](Definitions& d) { d.attributes[0].type = Type::int8; },
      [](Definitions& d) { d.attributes[0].values[1] = std::byte{'c'}; },
      [](Definitions& d) { d.attributes[0].counts_records = true; },
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

TEST(Definitions, AreTheSameOnRanksThatKnowOtherCoordinatesOfAGrid) {
  Definitions other = example_definitions();
  other.grids[0].origin = {5, 5};
  other.grids[0].spacing = {};
  EXPECT_EQ(other.fingerprint(), example_definitions().fingerprint());
}

TEST(Definitions, AreEncodedAndDecoded) {
  const Definitions definitions = example_definitions();
  EXPECT_EQ(Definitions::decode(definitions.encode()), definitions);
  EXPECT_EQ(Definitions::decode(Definitions{}.encode()), Definitions{});
}

TEST(Definitions, RefuseBytesThatAreCutOrLonger) {
  const std::vector<std::byte> bytes = example_definitions().encode();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW((void)Definitions::decode(std::span(bytes).first(size)), base::Error) << size;
  }
  std::vector<std::byte> longer = bytes;
  longer.push_back({});
  EXPECT_THROW((void)Definitions::decode(longer), base::Error);
}

TEST(Definitions, RefuseWhatSpeaksOfWhatIsNotDefined) {
  const std::vector<std::function<void(Definitions&)>> damages = {
      [](Definitions& d) { d.variables[0].dimensions = {3}; },
      [](Definitions& d) { d.variables[0].dimensions = {1, 0}; },   // an unlimited dimension is in front
      [](Definitions& d) { d.variables[0].grid = 1; },
      [](Definitions& d) { d.variables[0].components = 0; },
      [](Definitions& d) { d.attributes[0].variable = 4; },
      [](Definitions& d) { d.attributes[1].values.pop_back(); },
      [](Definitions& d) { d.attributes[1].counts_records = true; },
      [](Definitions& d) { d.grids[0].dimensions = {-1}; },
      [](Definitions& d) { d.grids[0].coordinates = {4}; }};
  for (const auto& damage : damages) {
    Definitions damaged = example_definitions();
    damage(damaged);
    EXPECT_THROW((void)Definitions::decode(damaged.encode()), base::Error);
  }
}

}  // namespace

}  // namespace glean::mesh
