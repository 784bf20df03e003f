// SPDX-License-Identifier: BSD-3-Clause
//
// Files written through the store's layout and converters, and by PassthroughFile, equal PnetCDF's byte for byte.
// Runs on any number of ranks. Arguments: the first seed and how many.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "scenario.hpp"
#include "store/format/contract.hpp"
#include "store/format/new_file.hpp"
#include "store/pnetcdf/image.hpp"
#include "store/pnetcdf/passthrough.hpp"
#include "store/pnetcdf/read_header.hpp"

namespace glean::test {

namespace {

namespace fs = std::filesystem;
using mesh::Type;
using store::CdfVersion;

std::uint64_t first_seed = 1;
std::uint64_t seeds = 150;

class Netcdf : public testing::Test {
 protected:
  void SetUp() override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    std::string name = (fs::temp_directory_path() / "glean-netcdf-XXXXXX").string();
    ASSERT_TRUE(rank_ != 0 || mkdtemp(name.data()) != nullptr);
    MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
    directory_ = name;
  }
  void TearDown() override {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == 0) fs::remove_all(directory_);
  }

  [[nodiscard]] std::string path(const std::string& name) const { return (directory_ / name).string(); }
  [[nodiscard]] std::string content(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void expect_equal(const std::string& name, std::string found, std::string expected) {
    EXPECT_EQ(found.size(), expected.size()) << name;
    if (found == expected) return;
    const auto at = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end()).first - found.begin();
    ADD_FAILURE() << name << " differs from PnetCDF's file at byte " << at;
  }
  void expect_valid(const std::string& name) {
    const std::string command = std::string(GLEAN_NCVALIDATOR) + " -q '" + path(name) + "' > /dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }

  // every: also those that were not written, which read as zeros. PnetCDF's file has them so if MPI-IO is told
  // to write nothing but what it was given.
  enum class Bytes { every, written };
  void compare(const Scenario& scenario, Bytes which) {
    setenv("PNETCDF_HINTS", which == Bytes::every ? "romio_ds_write=disable;romio_cb_write=disable" : "", 1);
    const int out_of_range = write_with_pnetcdf(MPI_COMM_WORLD, path("pnetcdf.nc"), scenario);
    write_with_passthrough(MPI_COMM_WORLD, path("passthrough.nc"), scenario);
    int total = 0;
    MPI_Allreduce(&out_of_range, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank_ == 0) {
      const Written written = write_plainly(path("plain.nc"), scenario);
      const auto seen = [&](const std::string& name) {
        return which == Bytes::every ? content(name) : only(written.extents, content(name));
      };
      EXPECT_EQ(written.puts_out_of_range, total);
      expect_equal("plain.nc", seen("plain.nc"), seen("pnetcdf.nc"));
      expect_equal("passthrough.nc", seen("passthrough.nc"), seen("pnetcdf.nc"));
      if (scenario.complete()) expect_valid("plain.nc");
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  // Zeros outside the extents.
  static std::string only(const std::vector<base::Extent>& extents, const std::string& whole) {
    std::string result(whole.size(), '\0');
    for (const base::Extent& extent : extents) {
      if (extent.begin >= whole.size()) continue;
      result.replace(extent.begin, extent.size(), whole, extent.begin, extent.size());
    }
    return result;
  }

  int rank_ = 0;
  fs::path directory_;
};

TEST_F(Netcdf, EqualsPnetcdfForEveryPairOfTypes) {
  for (const CdfVersion format : {CdfVersion::cdf1, CdfVersion::cdf2, CdfVersion::cdf5}) {
    for (const bool own_fill_values : {false, true}) {
      SCOPED_TRACE("format " + std::to_string(static_cast<int>(format) + 1));
      compare(every_pair_of_types(format, own_fill_values, first_seed), Bytes::every);
    }
  }
}

TEST_F(Netcdf, EqualsPnetcdfForRandomDefinitionsAndData) {
  int complete = 0;
  for (std::uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Scenario scenario = random_scenario(seed);
    complete += scenario.complete() ? 1 : 0;
    compare(scenario, Bytes::every);
  }
  EXPECT_TRUE(seeds < 50 || complete > 0);
}

TEST_F(Netcdf, EqualsPnetcdfInEveryWrittenByteWhateverMpiIoDoes) {
  for (std::uint64_t seed = first_seed; seed < first_seed + seeds / 2; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    compare(random_scenario(seed), Bytes::written);
  }
}

TEST_F(Netcdf, HeadersAreReadAsTheyWereCreatedAndSayHowLongAWholeFileIs) {
  int complete = 0;
  store::SystemCalls calls;
  for (std::uint64_t seed = first_seed; rank_ == 0 && seed < first_seed + seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Scenario scenario = random_scenario(seed);
    const store::FileImage image = store::make_netcdf_image(scenario.format, scenario.definitions, base::RangeRule::error);
    store::FileLayout created = image.layout;
    store::make_new_file(calls, {path("created.nc"), path("created.nc")}, image.metadata);
    for (auto& variable : created.variables) variable.fill = false, variable.fill_value = {};
    EXPECT_EQ(store::read_netcdf(path("created.nc")).layout, created);

    write_plainly(path("plain.nc"), scenario);
    const store::Header header = store::read_netcdf(path("plain.nc"));
    EXPECT_EQ(header.layout, created);
    if (!scenario.complete()) continue;
    ++complete;
    EXPECT_EQ(store::whole_size(header.layout, header.records), fs::file_size(path("plain.nc")));
  }
  EXPECT_TRUE(seeds < 50 || rank_ != 0 || complete > 0);
}

TEST_F(Netcdf, FilesThatAreNoneAreRefusedByReading) {
  if (rank_ != 0) return;
  const auto refused = [&](const std::string& content) {
    std::ofstream(path("none.nc"), std::ios::binary) << content;
    EXPECT_THROW((void)store::read_netcdf(path("none.nc")), base::Error) << content;
  };
  for (const std::string content : {"", "CDF", "CDF\x05", "\x89HDF\r\n\x1a\n and more", "not a file of numbers at all"}) {
    refused(content);
  }
  EXPECT_THROW((void)store::read_netcdf(path("missing.nc")), base::Error);
}

// --- what make_netcdf_image and PassthroughFile refuse ------------------------------------------------

// The message of the error that `call` throws, with its code.
template <class Call>
std::pair<base::Errc, std::string> refusal(const Call& call) {
  try {
    call();
  } catch (const base::Error& error) {
    return {error.code(), error.what()};
  }
  return {base::Errc::invalid_state, "nothing was thrown"};
}

mesh::Definitions one_variable(Type external) {
  mesh::Definitions definitions;
  definitions.dimensions = {{.name = "x", .length = 4}};
  definitions.variables = {{.name = "v", .external = external, .dimensions = {0}}};
  return definitions;
}

class NetcdfImage : public Netcdf {
 protected:
  std::pair<base::Errc, std::string> refusal_of(CdfVersion format, const mesh::Definitions& definitions) {
    return refusal([&] { (void)store::make_netcdf_image(format, definitions, base::RangeRule::error); });
  }
};

TEST_F(NetcdfImage, NamesTheVariableWhoseTypeTheFormatLacks) {
  const auto [code, message] = refusal_of(CdfVersion::cdf2, one_variable(Type::uint64));
  EXPECT_EQ(code, base::Errc::invalid_argument);
  EXPECT_NE(message.find("variable 'v'"), std::string::npos) << message;
}

TEST_F(NetcdfImage, NamesTheNameThatIsTooLongOrTakenOrIllegal) {
  mesh::Definitions definitions = one_variable(Type::float64);
  definitions.variables.push_back({.name = std::string(300, 'n'), .external = Type::float64, .dimensions = {0}});
  EXPECT_NE(refusal_of(CdfVersion::cdf5, definitions).second.find("variable 'nnnn"), std::string::npos);
  definitions.variables[1].name = "v";
  EXPECT_NE(refusal_of(CdfVersion::cdf5, definitions).second.find("variable 'v'"), std::string::npos);
  definitions.variables[1].name = "a/b";
  EXPECT_EQ(refusal_of(CdfVersion::cdf5, definitions).first, base::Errc::invalid_argument);
}

TEST_F(NetcdfImage, NamesTheDimensionWithoutLengthAndTheSecondUnlimitedOne) {
  mesh::Definitions definitions = one_variable(Type::float64);
  definitions.dimensions.push_back({.name = "empty", .length = 0});
  EXPECT_NE(refusal_of(CdfVersion::cdf5, definitions).second.find("dimension 'empty'"), std::string::npos);
  definitions.dimensions.back() = {.name = "t", .unlimited = true};
  definitions.dimensions.push_back({.name = "second", .unlimited = true});
  EXPECT_NE(refusal_of(CdfVersion::cdf5, definitions).second.find("dimension 'second'"), std::string::npos);
}

TEST_F(NetcdfImage, RefusesAnUnlimitedDimensionThatIsNotInFront) {
  mesh::Definitions definitions = one_variable(Type::float64);
  definitions.dimensions.push_back({.name = "t", .unlimited = true});
  definitions.variables[0].dimensions = {0, 1};
  EXPECT_EQ(refusal_of(CdfVersion::cdf5, definitions).first, base::Errc::invalid_argument);
}

TEST_F(NetcdfImage, NamesTheFillValueOfAnotherType) {
  mesh::Definitions definitions = one_variable(Type::float64);
  definitions.attributes = {{.variable = 0, .name = "_FillValue", .type = Type::int16, .values = {{}, {}}}};
  const auto [code, message] = refusal_of(CdfVersion::cdf5, definitions);
  EXPECT_EQ(code, base::Errc::invalid_argument);
  EXPECT_NE(message.find("attribute '_FillValue' of variable 'v'"), std::string::npos) << message;
}

TEST_F(NetcdfImage, RefusesAVariableThatTheFormatCannotHold) {
  mesh::Definitions definitions = one_variable(Type::float64);
  definitions.dimensions[0].length = std::uint64_t{1} << 31;
  EXPECT_EQ(refusal_of(CdfVersion::cdf1, definitions).first, base::Errc::invalid_argument);
}

TEST_F(NetcdfImage, IsNoMoreThanTheHeader) {
  mesh::Definitions definitions = one_variable(Type::float64);
  definitions.dimensions[0].length = std::uint64_t{1} << 40;
  definitions.variables[0].fill = true;

  const store::FileImage image = store::make_netcdf_image(CdfVersion::cdf5, definitions, base::RangeRule::error);

  ASSERT_EQ(image.metadata.size(), 1U);
  EXPECT_EQ(image.metadata[0].extent().end, image.layout.header_bytes);
  EXPECT_TRUE(image.layout.variables[0].fill);
  EXPECT_GE(image.layout.variables[0].begin_bytes, image.layout.header_bytes);
}

TEST_F(Netcdf, KeepsTheContractOfFormats) {
  for (std::uint64_t seed = first_seed; rank_ == 0 && seed < first_seed + seeds; ++seed) {
    Scenario scenario = random_scenario(seed);
    const auto format = store::make_cdf_format(scenario.format, store::make_netcdf_image);
    for (std::size_t a = seed % 3; a < scenario.definitions.attributes.size(); a += 3) {
      mesh::Attribute& attribute = scenario.definitions.attributes[a];
      attribute.changes = !attribute.values.empty();
    }
    EXPECT_EQ(store::FormatContract(*format, scenario.definitions, path("contract.nc"), read_with_pnetcdf).play(), "") << "seed " << seed;
  }
}

class Passthrough : public Netcdf {};

template <class T>
std::vector<std::byte> bytes_of(std::span<const T> values) {
  const auto bytes = std::as_bytes(values);
  return {bytes.begin(), bytes.end()};
}

TEST_F(Passthrough, RefusesTextAsNumbersAndGoesOn) {
  {
    store::PassthroughFile file(MPI_COMM_WORLD, path("p.nc"), CdfVersion::cdf5, one_variable(Type::float64));
    const mesh::Box box = mesh::whole({4});
    EXPECT_EQ(refusal([&] { file.put(0, 0, box, Type::text, bytes_of<char>({"abcd", 4})); }).first, base::Errc::invalid_argument);
    const double values[4] = {1, 2, 3, 4};
    if (rank_ == 0) file.put(0, 0, box, Type::float64, bytes_of<double>(values));
    file.end_step(0);
    file.close();
  }
  if (rank_ == 0) expect_valid("p.nc");
}

TEST_F(Passthrough, WritesTheRestOfAStepThatHadAValueOutOfRange) {
  store::PassthroughFile file(MPI_COMM_WORLD, path("p.nc"), CdfVersion::cdf5, one_variable(Type::int8));
  const int values[4] = {1, 2, 3000, 4};
  if (rank_ == 0) file.put(0, 0, mesh::whole({4}), Type::int32, bytes_of<int>(values));

  const auto [code, message] = refusal([&] { file.end_step(0); });
  file.close();

  EXPECT_EQ(code, rank_ == 0 ? base::Errc::out_of_range : base::Errc::invalid_state) << message;
  EXPECT_TRUE(rank_ != 0 || content("p.nc").ends_with("\x01\x02\x81\x04"));
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_F(Passthrough, LeavesAnAbandonedFileAsItIs) {
  {
    store::PassthroughFile file(MPI_COMM_WORLD, path("p.nc"), CdfVersion::cdf5, one_variable(Type::int8));
    const signed char values[4] = {1, 2, 3, 4};
    if (rank_ == 0) file.put(0, 0, mesh::whole({4}), Type::int8, bytes_of<signed char>(values));
    file.end_step(0);
    if (rank_ == 0) file.put(0, 0, mesh::whole({4}), Type::int8, bytes_of<signed char>(values));
  }
  if (rank_ == 0) expect_valid("p.nc");
}

}  // namespace

}  // namespace glean::test

int main(int argc, char** argv) {
  // Open MPI's own MPI-IO has written wrong bytes for interleaved ranks; ROMIO has not.
  setenv("OMPI_MCA_io", "^ompio", 0);
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) glean::test::first_seed = std::strtoull(argv[1], nullptr, 10);
  if (argc > 2) glean::test::seeds = std::strtoull(argv[2], nullptr, 10);
  int failed = RUN_ALL_TESTS(), failed_anywhere = 0;
  MPI_Allreduce(&failed, &failed_anywhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed_anywhere;
}
