// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace nekcem {
namespace {

Options parsed(std::vector<std::string> words, int ranks) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  return parse_options(arguments, ranks);
}

std::string refusal(const std::vector<std::string>& words, int ranks) {
  try {
    static_cast<void>(parsed(words, ranks));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Options, SetWritersAsideInRbioAndLetThemComputeInThreadedRbio) {
  const std::vector<Role> dedicated = parsed({"--output", "rbio", "--ratio", "3"}, 6).roles(6);
  const std::vector<Role> threaded = parsed({"--output", "threaded-rbio", "--ratio", "3"}, 6).roles(6);

  const Role writes = Role::set_aside, computes = Role::computes;
  EXPECT_EQ(dedicated, (std::vector<Role>{writes, computes, computes, writes, computes, computes}));
  EXPECT_EQ(threaded, std::vector<Role>(6, Role::computes));
}

TEST(Options, MakeGroupsThatCoverAllRanks) {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    for (int count = 1; count <= ranks; ++count) {
      const Groups groups(ranks, count);
      EXPECT_EQ(groups.first(0), 0);
      EXPECT_EQ(groups.first(count), ranks);
      int writers = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        EXPECT_TRUE(groups.first(groups.of(rank)) <= rank && rank < groups.first(groups.of(rank) + 1));
        writers += groups.is_writer(rank) ? 1 : 0;
      }
      EXPECT_EQ(writers, count);
    }
  }
}

TEST(Options, SayWhatTheyWantInstead) {
  EXPECT_EQ(refusal({"--output", "rbio", "--files", "3"}, 8), "--files of rbio is 1 or the number of writers, which is 2");
  EXPECT_EQ(refusal({"--files", "9"}, 8), "--files is at most the number of ranks, which is 8");
  EXPECT_EQ(refusal({"--output", "hdf5"}, 1), "--output is one of none, 1pfpp, coio, rbio, threaded-rbio, glean, not 'hdf5'");
  EXPECT_EQ(refusal({"--elements", "4,4"}, 1), "--elements wants three numbers, such as 4,2,8");
  EXPECT_EQ(refusal({"--order", "0"}, 1), "--order wants a number from 1 to 24, not '0'");
  EXPECT_EQ(refusal({"--mode", "te00"}, 1), "a TE mode needs m + n >= 1");
  EXPECT_EQ(refusal({"--steps"}, 1), "--steps wants a value");
  EXPECT_NE(refusal({"--output", "rbio", "--ratio", "1"}, 4), "");
  EXPECT_NE(refusal({"--mode", "tem"}, 1), "");
}

TEST(Options, LeaveFormatsAndShapesOfCellsToGlean) {
  const Options options = parsed({"--output", "glean", "--format", "vtkhdf", "--lagrange"}, 2);

  EXPECT_EQ(options.writer.format, FileFormat::vtkhdf);
  EXPECT_EQ(options.writer.cells, Cells::lagrange);
  const char* others = "--format and --lagrange are for --output glean: coio writes NekCEM's files";
  EXPECT_EQ(refusal({"--output", "coio", "--format", "vtk"}, 2), others);
  EXPECT_EQ(refusal({"--lagrange"}, 2), others);
  EXPECT_EQ(refusal({"--output", "glean", "--format", "hdf5"}, 2), "--format is vtk or vtkhdf, not 'hdf5'");
  EXPECT_EQ(refusal({"--output", "glean", "--files", "2"}, 2), "--files of glean is 1");
}

TEST(Options, ReadAModeWithItsWavelengths) {
  const WaveguideMode::Shape mode = parsed({"--mode", "tm21x3"}, 1).mode;

  EXPECT_EQ(mode.polarisation, Polarisation::tm);
  EXPECT_EQ(mode.m, 2);
  EXPECT_EQ(mode.n, 1);
  EXPECT_EQ(mode.waves, 3);
}

TEST(FileName, IsThatOfNekCEM) {
  EXPECT_EQ(file_name(Way::file_per_process, 4, 2, 3), "binary-NN-p000003-t00002.vtk");
  EXPECT_EQ(file_name(Way::collective, 1, 2, 0), "mpi-binary-N1-t00002.vtk");
  EXPECT_EQ(file_name(Way::collective, 4, 2, 1), "mpi-binary-NM-p000001-t00002.vtk");
  EXPECT_EQ(file_name(Way::reduced, 1, 0, 0), "mpi-binary-NM1-t00000.vtk");
  EXPECT_EQ(file_name(Way::reduced, 2, 12, 1), "mpi-binary-NMM-p000001-t00012.vtk");
  EXPECT_EQ(file_name(Way::glean, 1, 12, 0), "glean-t00012.vtk");
  EXPECT_EQ(file_name(Way::threaded_reduced, 2, 12, 1), "mpi-binary-NMM-thread-p000001-t00012.vtk");
}

}  // namespace
}  // namespace nekcem
