// SPDX-License-Identifier: BSD-3-Clause
#include "base/name_pattern.hpp"

#include <gtest/gtest.h>

namespace glean::base {
namespace {

bool matches(const char* pattern, const char* text) {
  NamePattern::Values values;
  return NamePattern(pattern).match(text, values);
}

std::string expanded(const char* pattern, const char* text, const char* into) {
  const NamePattern names(pattern);
  NamePattern::Values values;
  return names.match(text, values) ? names.expand(into, values, {"node", "7"}) : "no match";
}

TEST(NamePattern, HasDigitsForRanksAndSteps) {
  EXPECT_TRUE(matches("restart.{rank}", "restart.0"));
  EXPECT_TRUE(matches("restart.{rank}", "restart.00012"));
  EXPECT_FALSE(matches("restart.{rank}", "restart."));
  EXPECT_FALSE(matches("restart.{rank}", "restart.x"));
  EXPECT_FALSE(matches("restart.{rank}", "restart.1.tmp"));
  EXPECT_FALSE(matches("restart.{rank}", "a/restart.1"));
}

TEST(NamePattern, HasTextForOtherFieldsAndWhatTheShellHas) {
  EXPECT_TRUE(matches("rst.{part}.{step}", "rst.base.100"));
  EXPECT_FALSE(matches("rst.{part}.{step}", "rst..100"));
  EXPECT_TRUE(matches("processor{rank}/{time}/U", "processor3/0.1/U"));
  EXPECT_FALSE(matches("processor{rank}/{time}/U", "processor3/0/1/U"));
  EXPECT_TRUE(matches("[a-c]?_{rank}*", "bx_12.dat"));
  EXPECT_FALSE(matches("[a-c]?_{rank}*", "dx_12.dat"));
  EXPECT_TRUE(matches("{}{a-b}{rank}", "{}{a-b}3"));
}

TEST(NamePattern, GivesWhatItsFieldsStandFor) {
  EXPECT_EQ(expanded("rst.{rank}.{step}", "rst.3.100", "rst.{step}.sion"), "rst.100.sion");
  EXPECT_EQ(expanded("*.{rank}.*", "chk.3.bin", "{2}-{1}.sion"), "bin-chk.sion");
  EXPECT_EQ(expanded("r.{rank}", "r.3", "r.{node}.sion"), "r.7.sion");
}

TEST(NamePattern, SaysWhyFilesCannotBeGathered) {
  EXPECT_EQ(NamePattern("r.{rank}").defect("r.sion"), "");
  EXPECT_NE(NamePattern("r.*").defect("r.sion"), "");
  EXPECT_NE(NamePattern("r.{rank}").defect("r.{rank}.sion"), "");
  EXPECT_NE(NamePattern("r.{rank}").defect("r.{step}.sion"), "");
  EXPECT_NE(NamePattern("r.{rank}.{rank}").defect("r.sion"), "");
  EXPECT_NE(NamePattern("r.{rank}").defect(""), "");
}

}  // namespace
}  // namespace glean::base
