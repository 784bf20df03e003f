// SPDX-License-Identifier: BSD-3-Clause
//
// FileReader reads what PnetCDF reads, of files that PnetCDF has written.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/error.hpp"
#include "scenario.hpp"
#include "store/input/file_reader.hpp"

namespace glean::test {

namespace {

class Reader : public testing::Test {   // each rank has files of its own
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "glean-reader-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  [[nodiscard]] std::string path() const { return (directory_ / "a.nc").string(); }
  [[nodiscard]] store::FileReader reader(base::Bytes window_bytes = 4 * base::MiB) {
    return {calls_, path(), store::inspect_cdf, window_bytes};
  }

  std::filesystem::path directory_;
  store::SystemCalls calls_;
};

// The elements of a box of an array, one after the other.
std::vector<std::byte> cut_out(const std::vector<std::byte>& array, const mesh::Shape& shape, const mesh::Box& box,
                               std::size_t size) {
  std::vector<std::byte> part(box.elements() * size);
  const mesh::Rows rows(box, shape);
  for (std::uint64_t row = 0; row < rows.row_count(); ++row) {
    std::memcpy(part.data() + row * rows.row_elements() * size, array.data() + rows.position(row) * size,
                rows.row_elements() * size);
  }
  return part;
}

TEST_F(Reader, ReadsInPartsWhatPnetcdfReads) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Scenario scenario = random_scenario(seed);
    write_with_pnetcdf(MPI_COMM_SELF, path(), scenario);
    const store::FileReader parts = reader(24);

    ASSERT_EQ(parts.variables().size(), scenario.definitions.variables.size());
    for (int v = 0; v < static_cast<int>(parts.variables().size()); ++v) {
      const auto& variable = parts.variables()[static_cast<std::size_t>(v)];
      EXPECT_EQ(variable.name, scenario.definitions.variables[static_cast<std::size_t>(v)].name);
      EXPECT_EQ(variable.shape, scenario.definitions.shape(v));
      EXPECT_EQ(variable.per_step, scenario.definitions.per_step(v));
      const std::uint64_t records = variable.per_step ? parts.records() : 1;
      const std::size_t size = mesh::size_of(variable.external);
      for (std::uint64_t record = 0; record < records; ++record) {
        mesh::Box box = mesh::whole(variable.shape);
        const std::vector<std::byte> expected = read_with_pnetcdf(path(), v, record);
        std::vector<std::byte> found(box.elements() * size);
        parts.read(v, record, box, variable.external, found.data());
        EXPECT_EQ(found, expected) << variable.name;
        for (std::size_t d = 0; d < box.count.size(); ++d) {
          box.start[d] = box.count[d] / 3;
          box.count[d] -= box.start[d];
        }
        found.assign(box.elements() * size, std::byte{0});
        parts.read(v, record, box, variable.external, found.data());
        EXPECT_EQ(found, cut_out(expected, variable.shape, box, size)) << variable.name;
      }
    }
  }
}

TEST_F(Reader, ReadsTheOtherElementsWhenOneIsOutOfRange) {
  mesh::Definitions definitions;
  definitions.dimensions = {{"x", 16, false}};
  definitions.variables = {{"v", mesh::Type::int32, {0}, false}};
  Scenario scenario{definitions, {{{0, mesh::whole({16}), mesh::Type::int32, std::vector<std::byte>(64)}}}};
  for (std::int32_t i = 0; i < 16; ++i) {
    const std::int32_t value = i == 3 ? 1000 : i;
    std::memcpy(scenario.steps[0][0].data.data() + 4 * i, &value, 4);
  }
  write_with_pnetcdf(MPI_COMM_SELF, path(), scenario);
  const store::FileReader reader = this->reader(8);
  std::vector<std::int8_t> values(16);

  std::optional<base::Errc> code;
  try {
    reader.read(0, 0, mesh::whole({16}), mesh::Type::int8, reinterpret_cast<std::byte*>(values.data()));
  } catch (const base::Error& error) {
    code = error.code();
  }

  EXPECT_EQ(code, base::Errc::out_of_range);
  for (std::size_t i = 0; i < 16; ++i) {
    if (i == 3) continue;
    EXPECT_EQ(values[i], static_cast<std::int8_t>(i));
  }
}

// Not what PnetCDF's buffer holds, which may not even be in range.
TEST_F(Reader, ReadsZerosBehindTheEndOfTheFile) {
  Scenario scenario;
  scenario.definitions.dimensions = {{"y", 50, false}, {"x", 100, false}};
  scenario.definitions.variables = {{"v", mesh::Type::float64, {0, 1}, false}};
  const double one = 1;
  Put put{0, {{10, 20}, {1, 1}}, mesh::Type::float64, std::vector<std::byte>(8)};
  std::memcpy(put.data.data(), &one, 8);
  scenario.steps = {{put}};
  write_with_pnetcdf(MPI_COMM_SELF, path(), scenario);
  const store::FileReader reader = this->reader();
  const mesh::Box box{{9, 10}, {40, 80}};
  std::vector<std::int16_t> values(box.elements(), -1);

  reader.read(0, 0, box, mesh::Type::int16, reinterpret_cast<std::byte*>(values.data()));

  EXPECT_EQ(values[80 + 10], 1);
  EXPECT_TRUE(std::all_of(values.begin() + 80 + 11, values.end(), [](auto value) { return value == 0; }));
}

}  // namespace

}  // namespace glean::test
