// SPDX-License-Identifier: BSD-3-Clause
#include "base/condition.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace glean::base {
namespace {

std::optional<Condition::Holds> holds(std::string_view text, const std::map<std::string, double>& numbers) {
  const auto condition = Condition::parse(text);
  EXPECT_TRUE(condition) << text;
  return condition->holds([&](const Condition::Operand& operand) -> std::optional<double> {
    const auto found = numbers.find(operand.name + "." + operand.number);
    return found == numbers.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(Condition, ComparesANamedNumber) {
  EXPECT_TRUE(holds("dens.nan > 0", {{"dens.nan", 1}}));
  EXPECT_FALSE(holds("dens.nan > 0", {{"dens.nan", 0}}));
  EXPECT_TRUE(holds("max(temp)>=1e9", {{"temp.max", 1e9}}));
  EXPECT_TRUE(holds(" mine.mass != -1.5 ", {{"mine.mass", 1.5}}));
  EXPECT_FALSE(holds("a.min < 3", {{"a.min", std::nan("")}}));
}

TEST(Condition, BindsAndMoreThanOr) {
  const std::map<std::string, double> numbers{{"a.min", 1}, {"b.min", 2}, {"c.min", 3}};
  EXPECT_TRUE(holds("a.min == 1 or b.min == 0 and c.min == 0", numbers));
  EXPECT_FALSE(holds("a.min == 0 or b.min == 2 and c.min == 0", numbers));
}

TEST(Condition, HoldsOnlyWhereItsNumbersAreKnown) {
  EXPECT_FALSE(holds("a.min > 0 and b.min > 0", {{"a.min", 1}}));
  const auto found = holds("b.min > 0 or a.min > 0", {{"a.min", 7}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->operand.name, "a");
  EXPECT_EQ(found->value, 7);
}

TEST(Condition, IsNotEverything) {
  for (const char* text : {"", "dens", "dens > 0", "dens.nan >", "> 0", "dens.nan > x", "dens.nan > 0 or", "max(temp > 0", "a.b = 1"}) {
    EXPECT_FALSE(Condition::parse(text)) << text;
  }
}

}  // namespace
}  // namespace glean::base
