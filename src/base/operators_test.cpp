// SPDX-License-Identifier: BSD-3-Clause
#include "base/operators.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"

namespace glean::base {
namespace {

std::string refusal(std::string_view text) {
  try {
    static_cast<void>(parse_operator(text));
  } catch (const Error& error) {
    return error.what();
  }
  return "it is taken";
}

TEST(Operators, TakeIndicesAndCoordinatesOfDimensions) {
  const Operator region = parse_operator(" region x=10:20 y@0.25:0.75 z=-3: ");

  ASSERT_EQ(region.dimensions.size(), 3U);
  EXPECT_EQ(region.text, "region x=10:20 y@0.25:0.75 z=-3:");
  EXPECT_EQ(region.dimensions[0].begin, 10);
  EXPECT_EQ(region.dimensions[0].end, 20);
  EXPECT_TRUE(region.dimensions[1].by_coordinates);
  EXPECT_EQ(region.dimensions[1].high, 0.75);
  EXPECT_EQ(region.dimensions[2].begin, -3);
  EXPECT_EQ(region.dimensions[2].end, std::nullopt);
  EXPECT_EQ(parse_operator("subsample 2").number, 2);
  EXPECT_EQ(parse_operator("slice z@-0.5").dimensions.at(0).low, -0.5);
}

TEST(Operators, TakeValuesNamesAndNumbers) {
  EXPECT_EQ(parse_operator("threshold dens=0.1:1 temp=:5").values, (std::vector<ValueRange>{{"dens", 0.1, 1}, {"temp", -INFINITY, 5}}));
  const Operator speed = parse_operator("expression speed = sqrt(velx^2 + vely^2) == 1");
  EXPECT_EQ(speed.name, "speed");
  EXPECT_EQ(speed.formula, "sqrt(velx^2 + vely^2) == 1");
  EXPECT_EQ(parse_operator("precision float32 a, b").variables, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(parse_operator("tolerance 1e-3").number, 1e-3);
  EXPECT_EQ(parse_operator("deflate").number, 4);
}

TEST(Operators, SayAllThatIsWrongWithThem) {
  const std::string region = refusal("region x=5:2 y z=1:2 z=3:4 w@2:1");
  for (const char* part : {"'5:2' is no range that has something of 'x'", "'y' is no dimension with '=' or '@'", "'z' stands in it twice",
                           "'2:1' is no range", "for example: region"}) {
    EXPECT_NE(region.find(part), std::string::npos) << part << ": " << region;
  }
  EXPECT_NE(refusal("thresold dens=1:2").find("nearest: 'threshold'"), std::string::npos);
  for (const char* text : {"",
                           "region",
                           "slice z=",
                           "slice z=1.5",
                           "slice z@a",
                           "subsample 0",
                           "subsample x=0",
                           "subsample x@2",
                           "threshold",
                           "threshold dens=3:2",
                           "threshold dens=:",
                           "points a=1: b=2:",
                           "expression = 3",
                           "expression 2x = y",
                           "expression x =",
                           "precision float16",
                           "digits 16",
                           "bits 0",
                           "bits 1.5",
                           "tolerance 0",
                           "tolerance nan",
                           "deflate 10",
                           "deflate 3 a"}) {
    EXPECT_NE(refusal(text), "it is taken") << text;
  }
}

TEST(Operators, StandBehindEachOtherInOneText) {
  EXPECT_EQ(split_operators("slice z=1; ;digits 4 ;"), (std::vector<std::string>{"slice z=1", "digits 4"}));
}

}   // namespace
}   // namespace glean::base
