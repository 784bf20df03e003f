// SPDX-License-Identifier: BSD-3-Clause
#include "convert/convert.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/error.hpp"
#include "convert/flash_parameters.hpp"
#include "store/format/cdf/test_header.hpp"
#include "store/posix/fault_plan.hpp"
#include "store/posix/file.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::convert {
namespace {

// Two blocks of 2 x 2 x 2 cells on a level, with one field.
mesh::Definitions two_blocks() {
  mesh::Definitions definitions;
  definitions.dimensions = {{"blocks", 2, false}, {"cells", 2, false}, {"ndim", 3, false}, {"two", 2, false}};
  definitions.variables = {{"lrefine", mesh::Type::int32, {0}},
                           {"parent", mesh::Type::int32, {0}},
                           {"bndbox", mesh::Type::float64, {0, 2, 3}},
                           {"dens", mesh::Type::float64, {0, 1, 1, 1}}};
  return definitions;
}

template <class T>
void put_big(std::ofstream& file, T value) {
  std::array<char, sizeof value> bytes{};
  std::memcpy(bytes.data(), &value, sizeof value);
  std::reverse(bytes.begin(), bytes.end());
  file.write(bytes.data(), bytes.size());
}

void write_two_blocks(const std::string& path) {
  const mesh::Definitions definitions = two_blocks();
  const store::TestCdfHeader header(store::CdfVersion::cdf5, definitions, 0);
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(header.bytes().data()), static_cast<std::streamsize>(header.bytes().size()));
  const auto at = [&](std::size_t variable) { file.seekp(static_cast<std::streamoff>(header.begin(variable))); };
  at(0);
  for (int block = 0; block < 2; ++block) put_big<std::int32_t>(file, 1);
  at(1);
  for (int block = 0; block < 2; ++block) put_big<std::int32_t>(file, -1);
  at(2);
  for (int block = 0; block < 2; ++block) {
    for (int axis = 0; axis < 3; ++axis) {
      for (int end = 0; end < 2; ++end) put_big<double>(file, end + (axis == 0 ? block : 0));
    }
  }
  at(3);
  for (int cell = 0; cell < 16; ++cell) put_big<double>(file, cell);
}

std::set<std::string> names_in(const std::string& directory) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) names.insert(entry.path().filename().string());
  return names;
}

Options to(base::CopyFormat format) {
  Options options;
  options.to = format;
  return options;
}

Options reduced(base::CopyFormat format) {
  Options options = to(format);
  options.operators = {"threshold dens=3:", "digits 2"};
  return options;
}

TEST(Convert, LeavesTheOldFileOrTheNewOneWhicheverCallFails) {
  for (const char* call : {"open", "pread", "write", "allocate", "fsync", "rename"}) {
    for (const Options& options : {to(base::CopyFormat::hdf5), to(base::CopyFormat::vtkhdf), reduced(base::CopyFormat::hdf5),
                                   reduced(base::CopyFormat::vtkhdf), reduced(base::CopyFormat::netcdf)}) {
      const store::TemporaryDirectory directory;
      write_two_blocks(directory / "a.nc");
      const std::string target = output_path(directory / "a.nc", options.to, !options.operators.empty());
      const std::string name = std::filesystem::path(target).filename().string();
      const std::string magic = options.to == base::CopyFormat::netcdf ? "CDF" : "\211HDF";
      std::size_t failed = 0;
      for (std::size_t k = 0;; ++k) {
        store::write_text(target, "old");
        store::FaultyCalls calls({store::on(call).number(k).fails(EIO)});
        try {
          static_cast<void>(convert(calls, directory / "a.nc", options));
          if (calls.count(call) <= k) break;   // it was not made so often; direct I/O that is refused is done without
        } catch (const base::Error& error) {
          EXPECT_EQ(error.code(), base::Errc::io) << call << ' ' << k << ": " << error.what();
          ++failed;
        }
        EXPECT_EQ(names_in(directory.string()), (std::set<std::string>{"a.nc", name})) << call << ' ' << k;
        const std::string found = store::read_text(target);
        EXPECT_TRUE(found == "old" || found.starts_with(magic)) << call << ' ' << k;
      }
      EXPECT_GT(failed, 0U) << call;
      EXPECT_TRUE(store::read_text(target).starts_with(magic)) << call;
    }
  }
}

TEST(Convert, OfADrainTakesTheWorkingFilesOfAKilledOne) {
  const store::TemporaryDirectory directory;
  write_two_blocks(directory / "a.nc");
  store::SystemCalls calls;
  for (Options options : {reduced(base::CopyFormat::vtkhdf), reduced(base::CopyFormat::netcdf), reduced(base::CopyFormat::hdf5)}) {
    options.is_of_drain = true;
    options.operators.emplace_back("subsample cells=1");
    const std::string target = output_path(directory / "a.nc", options.to, true);
    for (const char* left : {"copy", "reduced"}) store::write_text(store::working_path(target, base::Publish::rename, left), "left");

    EXPECT_EQ(convert(calls, directory / "a.nc", options).at(0).path, target);

    if (options.to != base::CopyFormat::vtkhdf) calls.unlink(store::working_path(target, base::Publish::rename, "reduced").c_str());
    calls.unlink(target.c_str());
    EXPECT_EQ(names_in(directory.string()), std::set<std::string>{"a.nc"});
  }
}

TEST(Convert, TwiceMakesTheSameBytes) {
  const store::TemporaryDirectory directory;
  write_two_blocks(directory / "a.nc");
  store::SystemCalls calls;
  for (const base::CopyFormat format : {base::CopyFormat::hdf5, base::CopyFormat::vtkhdf}) {
    const auto first = convert(calls, directory / "a.nc", to(format));
    const std::string bytes = store::read_text(first.at(0).path);
    EXPECT_EQ(store::read_text(convert(calls, directory / "a.nc", to(format)).at(0).path), bytes);
    EXPECT_EQ(first[0].blocks, 2U);
    EXPECT_EQ(first[0].levels, 1);
  }
}

TEST(FlashNames, HaveFourCharactersAndNoTwoAreAlike) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(flash_names({"dens", "c12", "h", "velx"}), (Names{"dens", "c12 ", "h   ", "velx"}));
  EXPECT_EQ(flash_names({"density", "densities", "dens", "den1"}), (Names{"dens", "den1", "den2", "den3"}));
  EXPECT_EQ(flash_names({"c12_", "ab__", "a_b_c"}), (Names{"c12 ", "ab  ", "a_b_"}));
  EXPECT_EQ(flash_names({"größe", "a/b"}), (Names{"gr__", "a_b "}));
  Names many(12, "temperature");
  const Names found = flash_names(many);
  EXPECT_EQ(found[9], "tem9");
  EXPECT_EQ(found[11], "te11");
}

TEST(OutputPath, HasTheExtensionOfTheFormat) {
  EXPECT_EQ(output_path("run/chk_0001.nc", base::CopyFormat::hdf5), "run/chk_0001.h5");
  EXPECT_EQ(output_path("run.d/chk_0001", base::CopyFormat::vtkhdf), "run.d/chk_0001.vtkhdf");
  EXPECT_EQ(output_path("chk.0001", base::CopyFormat::vtkhdf), "chk.0001.vtkhdf");
}

}  // namespace
}  // namespace glean::convert
