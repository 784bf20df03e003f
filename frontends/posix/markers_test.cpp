// SPDX-License-Identifier: BSD-3-Clause
#include "markers.hpp"

#include <fnmatch.h>
#include <gtest/gtest.h>

namespace glean::posix {
namespace {

TEST(MarkedBy, IsTheNameWithoutSeparatorAndWord) {
  EXPECT_EQ(marked_by("/run/plt0.done"), "/run/plt0");
  EXPECT_EQ(marked_by("plt0.bin.md5"), "plt0.bin");
  EXPECT_EQ(marked_by("plt0.bin.md5sum"), "plt0.bin");
  EXPECT_EQ(marked_by("out.nc.sha256"), "out.nc");
  EXPECT_EQ(marked_by("out_DONE"), "out");
  EXPECT_EQ(marked_by("step-3-ok"), "step-3");
  for (const char* word : {"ready", "Complete", "SUCCESS", "sum"}) EXPECT_EQ(marked_by(std::string("a.") + word), "a") << word;
}

TEST(MarkedBy, IsNothingForOtherNames) {
  for (const char* name : {"", "done", "/run/done", ".done", "/run/_SUCCESS", "plt0.bin", "plt0.done.tmp", "undone", "a.ok2",
                           "x.done/plt0", "checksum", "a.md", "/"}) {
    EXPECT_EQ(marked_by(name), "") << name;
  }
}

TEST(Matches, AsTheShellDoes) {
  const auto patterns = {"*", "?", "a*", "*a", "*a*b*", "a?c", "[abc]", "[!abc]x", "[a-c]*", "*.flag", "DONE", "a[", "a\\*", "[]]", "[a-]",
                         "", "**", "*?*", "x[!]y]z"};
  const auto texts = {"", "a", "b", "ab", "abc", "aXbYb", "a*", "]", "-", "x.flag", "DONE", "dir/a", "a[", "dx", "ax", "xaz", "xyz",
                      "baab"};
  for (const char* pattern : patterns) {
    for (const char* text : texts) EXPECT_EQ(matches(pattern, text), fnmatch(pattern, text, 0) == 0) << pattern << " and " << text;
  }
}

TEST(MarkerPatterns, MatchNamesAndPaths) {
  const MarkerPatterns patterns("DONE,*/flags/*");
  EXPECT_TRUE(patterns.match("/run/DONE"));
  EXPECT_TRUE(patterns.match("/run/flags/step3"));
  EXPECT_FALSE(patterns.match("/run/DONE/step3"));
  EXPECT_FALSE(MarkerPatterns().match("/run/DONE"));
}

}  // namespace
}  // namespace glean::posix
