// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace phasta {
namespace {

Options parsed(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  return parse_options(arguments);
}

std::string refusal(const std::vector<std::string>& words) {
  try {
    static_cast<void>(parsed(words));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Options, AreTakenFromTheCommandLine) {
  const Options options = parsed({"--cubes", "4,2,3", "--levels", "9", "--output", "none", "--every", "5", "--fsync"});

  EXPECT_EQ(options.box.cubes, (std::array<int, 3>{4, 2, 3}));
  EXPECT_EQ(options.box.levels, 9);
  EXPECT_EQ(options.writer.way, Way::none);
  EXPECT_EQ(options.every, 5);
  EXPECT_EQ(options.writer.durability, Durability::fsync);
}

TEST(Options, SayWhatTheyWantInstead) {
  EXPECT_EQ(refusal({"--output", "syncio"}), "--output is one of posix, glean, none, not 'syncio'");
  EXPECT_EQ(refusal({"--output", "glean", "--format", "pht"}), "--format is one of vtkhdf, vtk, not 'pht'");
  EXPECT_EQ(refusal({"--format", "vtk"}), "--format is for --output glean");
  EXPECT_EQ(refusal({"--cubes", "4,2"}), "--cubes wants three numbers, such as 8,8,8");
  EXPECT_EQ(refusal({"--every", "0"}), "--every wants a number from 1 to 1000000000, not '0'");
  EXPECT_EQ(refusal({"--levels"}), "--levels wants a value");
  EXPECT_EQ(refusal({"--speed", "9"}), "unknown argument '--speed'; --help lists them");
}

// The numbers of a point of the lattice have 21 bits each.
TEST(Options, AllowNoMeshWhosePointsCannotBeTold) {
  const Options largest = parsed({"--cubes", "256,256,256", "--levels", "24"});

  EXPECT_LT(Forest({.cubes = {256, 1, 1}, .levels = largest.box.levels}).upper().x, 1 << 21);
}

}  // namespace
}  // namespace phasta
