// SPDX-License-Identifier: BSD-3-Clause
#include "store/copies.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace glean::store {
namespace {

using base::CopyFormat;
using Words = std::vector<std::string>;

TEST(Copies, LieBesideTheFileUnderItsStem) {
  const Copy hdf5{CopyFormat::hdf5, {}}, vtkhdf{CopyFormat::vtkhdf, {}};

  EXPECT_EQ(hdf5.path("/run.d/sedov_chk_0001.nc"), "/run.d/sedov_chk_0001.h5");
  EXPECT_EQ(vtkhdf.path("/run.d/sedov.v2.nc"), "/run.d/sedov.v2.vtkhdf");
  EXPECT_EQ(vtkhdf.path("/run.d/sedov"), "/run.d/sedov.vtkhdf");
  EXPECT_EQ(hdf5.path("/run.d/chk.0001"), "/run.d/chk.0001.h5");
  EXPECT_EQ(hdf5.path("/run.d/.hidden"), "/run.d/.hidden.h5");
}

TEST(Copies, NeverTakeTheNameOfTheFileItself) {
  EXPECT_EQ((Copy{CopyFormat::hdf5, {}}.path("/run/data.h5")), "/run/data.h5.h5");
}

TEST(Copies, OfChosenVariablesAreNamedAsPlotFiles) {
  EXPECT_EQ((Copy{CopyFormat::hdf5, {"dens"}}.path("/run/sedov_chk_0001.nc")), "/run/sedov_chk_0001_plot.h5");
}

TEST(Copies, OfDifferentFilesHaveDifferentNames) {
  const Copy hdf5{CopyFormat::hdf5, {}};

  EXPECT_EQ(hdf5.path("/run/flame.1.000E-06"), "/run/flame.1.000E-06.h5");
  EXPECT_EQ(hdf5.path("/run/ckpt.a"), "/run/ckpt.a.h5");
}

TEST(Copies, AreThoseThatTheSettingsAskFor) {
  const base::CopySettings settings{
      .also = {CopyFormat::vtkhdf, CopyFormat::hdf5}, .format = CopyFormat::hdf5, .plot_variables = {"dens", "pres"}};

  const Copies copies = Copies::of(settings, {});

  EXPECT_TRUE(copies.instead);
  EXPECT_EQ(copies.each, (std::vector<Copy>{{CopyFormat::hdf5, {}}, {CopyFormat::vtkhdf, {}}, {CopyFormat::hdf5, {"dens", "pres"}}}));
  EXPECT_TRUE(Copies::of({}, {}).each.empty());
}

TEST(Copies, AreResultsOfAnalysesTooEachUnderANameOfItsOwn) {
  const std::vector<base::AnalysisTable> tables = {{"*", {"dens"}, {"slice z=1", "digits 4"}, CopyFormat::netcdf, "middle"},
                                                   {"a*", {}, {"subsample 2"}, CopyFormat::netcdf, "middle"}};

  const Copies copies = Copies::of({}, tables);

  ASSERT_EQ(copies.each.size(), 2U);
  EXPECT_FALSE(copies.instead);
  EXPECT_EQ(copies.each[0].path("/run/a.nc"), "/run/a_middle.nc");
  EXPECT_EQ(copies.each[1].path("/run/a.nc"), "/run/a_middle_2.nc");
  EXPECT_EQ(copies.words(copies.each[0], "/run/.a.part", "/run/a_middle.nc"),
            (Words{"glean", "convert", "--to", "netcdf", "--semantics", "auto", "--variables", "dens", "--run", "slice z=1", "--run",
                   "digits 4", "--drain", std::to_string(getpid()), "-o", "/run/a_middle.nc", "/run/.a.part"}));
}

TEST(Copies, AreAskedForInTheWordsOfGleanConvert) {
  const Copies copies{base::Semantics::flash, false, {{CopyFormat::hdf5, {"dens", "pres"}}}};

  EXPECT_EQ(copies.words(copies.each[0], "/run/.a.part", "/run/a_plot.h5"),
            (Words{"glean", "convert", "--to", "hdf5", "--semantics", "flash", "--single", "--variables", "dens,pres", "--drain",
                   std::to_string(getpid()), "-o", "/run/a_plot.h5", "/run/.a.part"}));
}

}  // namespace
}  // namespace glean::store
