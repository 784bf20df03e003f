// SPDX-License-Identifier: BSD-3-Clause
//
// Input::read_all reads what PnetCDF's collective reads do, whatever the decomposition, on one node and on several.
#include <pnetcdf.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <optional>
#include <random>

#include "ranks.hpp"

namespace glean::test {
namespace {

// Of all ranks, what they have read with system calls so far.
std::uint64_t bytes_read() {
  std::ifstream io("/proc/self/io");
  std::string word;
  std::uint64_t mine = 0, all = 0;
  io >> word >> mine;
  MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

void barrier() { MPI_Barrier(MPI_COMM_WORLD); }

class ReadAll : public Ranks {
 protected:
  // A fixed variable, a record variable of two steps, and one of single bytes, by PnetCDF.
  void write(const std::string& name, const std::array<MPI_Offset, 3>& shape) {
    if (rank_ == 0) {
      int file = -1, t = -1, dimensions[4] = {-1, -1, -1, -1}, fixed = -1, record = -1, small = -1;
      ASSERT_EQ(ncmpi_create(MPI_COMM_SELF, path(name).c_str(), NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file), NC_NOERR);
      ncmpi_def_dim(file, "t", NC_UNLIMITED, &t);
      dimensions[0] = t;
      for (std::size_t d = 0; d < 3; ++d) ncmpi_def_dim(file, std::string(1, "zyx"[d]).c_str(), shape[d], &dimensions[d + 1]);
      ncmpi_def_var(file, "odd", NC_BYTE, 1, &dimensions[3], &small);
      ncmpi_def_var(file, "fixed", NC_DOUBLE, 3, dimensions + 1, &fixed);
      ncmpi_def_var(file, "record", NC_FLOAT, 4, dimensions, &record);
      ncmpi_enddef(file);
      std::vector<double> values(static_cast<std::size_t>(2 * shape[0] * shape[1] * shape[2]));
      std::iota(values.begin(), values.end(), 0.0);
      const MPI_Offset start[4] = {0, 0, 0, 0}, count[4] = {2, shape[0], shape[1], shape[2]};
      const auto elements = static_cast<MPI_Offset>(values.size());
      EXPECT_EQ(ncmpi_put_vara_all(file, fixed, start, count + 1, values.data(), elements / 2, MPI_DOUBLE), NC_NOERR);
      EXPECT_EQ(ncmpi_put_vara_all(file, record, start, count, values.data(), elements, MPI_DOUBLE), NC_NOERR);
      const std::vector<signed char> bytes(static_cast<std::size_t>(shape[2]), 7);
      EXPECT_EQ(ncmpi_put_vara_all(file, small, start, count + 3, bytes.data(), shape[2], MPI_SIGNED_CHAR), NC_NOERR);
      EXPECT_EQ(ncmpi_close(file), NC_NOERR);
    }
    barrier();
  }

  [[nodiscard]] std::vector<float> read_with_pnetcdf(const std::string& name, const char* variable, const Box& box, int step) const {
    int file = -1, id = -1;
    EXPECT_EQ(ncmpi_open(MPI_COMM_WORLD, path(name).c_str(), NC_NOWRITE, MPI_INFO_NULL, &file), NC_NOERR);
    EXPECT_EQ(ncmpi_inq_varid(file, variable, &id), NC_NOERR);
    std::vector<MPI_Offset> start(box.start.begin(), box.start.end()), count(box.count.begin(), box.count.end());
    if (step >= 0) {
      start.insert(start.begin(), step);
      count.insert(count.begin(), 1);
    }
    std::vector<float> values(elements_of(box));
    EXPECT_EQ(ncmpi_get_vara_all(file, id, start.data(), count.data(), values.data(), static_cast<MPI_Offset>(values.size()), MPI_FLOAT),
              NC_NOERR);
    EXPECT_EQ(ncmpi_close(file), NC_NOERR);
    return values;
  }
  static std::size_t elements_of(const Box& box) {
    return std::accumulate(box.count.begin(), box.count.end(), std::size_t{1}, std::multiplies<>());
  }
  // In 3 dimensions, as MPI_Dims_create does it.
  [[nodiscard]] Box brick(const std::array<MPI_Offset, 3>& shape) const {
    int parts[3] = {0, 0, 0};
    MPI_Dims_create(size_, 3, parts);
    const int at[3] = {rank_ / (parts[1] * parts[2]), rank_ / parts[2] % parts[1], rank_ % parts[2]};
    Box box;
    for (int d = 0; d < 3; ++d) {
      const auto extent = static_cast<std::uint64_t>(shape[static_cast<std::size_t>(d)]);
      const std::uint64_t begin = extent * static_cast<std::uint64_t>(at[d]) / static_cast<std::uint64_t>(parts[d]);
      box.start.push_back(begin);
      box.count.push_back(extent * static_cast<std::uint64_t>(at[d] + 1) / static_cast<std::uint64_t>(parts[d]) - begin);
    }
    return box;
  }
};

TEST_F(ReadAll, ReadsWhatPnetcdfReadsForRandomBoxes) {
  std::mt19937 together(11), mine(static_cast<unsigned>(100 + rank_));   // the first one goes alike on all ranks
  const auto below = [](std::mt19937& random, std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(0, most - 1)(random);
  };
  Session session(MPI_COMM_WORLD, with({}));
  for (int repetition = 0; repetition < 12; ++repetition) {
    SCOPED_TRACE(repetition);
    std::array<MPI_Offset, 3> shape{};
    for (auto& extent : shape) extent = 1 + static_cast<MPI_Offset>(below(together, repetition % 4 == 0 ? 90 : 20));
    write("a.nc", shape);
    const Input in = session.open_input(path("a.nc"));
    Box box = brick(shape);
    if (repetition % 3 == 1) {   // and boxes that overlap, or are empty
      for (std::size_t d = 0; d < 3; ++d) {
        box.start[d] = below(mine, static_cast<std::uint64_t>(shape[d]));
        box.count[d] = below(mine, static_cast<std::uint64_t>(shape[d]) - box.start[d] + 1);
      }
    }
    std::vector<float> fixed(elements_of(box)), record(elements_of(box));

    in.read_all(in.find_variable("fixed"), 0, box, fixed);
    in.read_all(in.find_variable("record"), 1, box, record);

    EXPECT_EQ(fixed, read_with_pnetcdf("a.nc", "fixed", box, -1));
    EXPECT_EQ(record, read_with_pnetcdf("a.nc", "record", box, 1));
    barrier();
  }
}

TEST_F(ReadAll, TakesEachPartOfTheFileFromTheStorageOnceWhereNodesHaveBricks) {
  const std::array<MPI_Offset, 3> shape = {64, 64, 96};
  write("a.nc", shape);
  Session session(MPI_COMM_WORLD, with({{"topology.ranks_per_node", "1"}}));
  const Input in = session.open_input(path("a.nc"));
  const Variable fixed = in.find_variable("fixed");
  const Box box = brick(shape);
  std::vector<double> values(elements_of(box)), alone(values.size());
  const std::uint64_t array_bytes = 64 * 64 * 96 * 8;
  if (size_ < 4 || bytes_read() == 0) GTEST_SKIP() << "no bricks, or the kernel does not count";
  barrier();

  const std::uint64_t before = bytes_read();
  in.read_all(fixed, 0, box, values);
  const std::uint64_t after = bytes_read();

  in.read(fixed, 0, box, alone);
  EXPECT_EQ(values, alone);
  EXPECT_LT(after - before, array_bytes + array_bytes / 4);
  barrier();
}

TEST_F(ReadAll, TellsAllRanksWhatIsWrongOnOne) {
  const std::array<MPI_Offset, 3> shape = {8, 9, 10};
  write("a.nc", shape);
  Session session(MPI_COMM_WORLD, with({}));
  const Input in = session.open_input(path("a.nc"));
  const Variable fixed = in.find_variable("fixed"), record = in.find_variable("record");
  const bool last = rank_ == size_ - 1;
  const Box box = brick(shape);
  std::vector<double> values(elements_of(box));

  const Box too_far{{7, 0, 0}, {2, 1, 1}};
  std::vector<double> two(2);
  EXPECT_ERROR(in.read_all(fixed, 0, last ? too_far : box, last ? two : values), Errc::invalid_argument, "does not lie in");
  EXPECT_ERROR(in.read_all(last ? Variable{9} : fixed, 0, box, values), Errc::not_found, "no such variable");
  EXPECT_ERROR(in.read_all(record, last ? 2 : 0, box, values), Errc::not_found, "has no step 2");
  if (size_ > 1) EXPECT_ERROR(in.read_all(record, last ? 1 : 0, box, values), Errc::invalid_argument, "different variables, steps");
  EXPECT_ERROR(in.read_box_all(fixed, 0, box, last ? Type::text : Type::float64, values.data(), values.size()), Errc::invalid_argument,
               "float64 as text");
  std::vector<std::int8_t> small(values.size());
  EXPECT_ERROR(in.read_all(fixed, 0, box, small), Errc::out_of_range, "do not fit into int8");
  in.read_all(fixed, 0, box, values);   // and they go on together
  std::vector<double> alone(values.size());
  in.read(fixed, 0, box, alone);
  EXPECT_EQ(values, alone);
  barrier();
}

TEST_F(ReadAll, TellsAllRanksWhereTheyHaveOpenedDifferentFilesOfOneName) {
  write("a.nc", {8, 9, 10});
  Session session(MPI_COMM_WORLD, with({}));
  std::optional<Input> in;
  if (rank_ == 0) in.emplace(session.open_input(path("a.nc")));
  barrier();
  write("b.nc", {40, 30, 20});
  if (rank_ == 0) std::filesystem::rename(path("b.nc"), path("a.nc"));
  barrier();
  if (rank_ != 0) in.emplace(session.open_input(path("a.nc")));
  if (size_ == 1) GTEST_SKIP() << "all ranks have the same one";
  const Box box{{0, 0, static_cast<std::uint64_t>(rank_)}, {8, 9, 1}};
  std::vector<double> values(elements_of(box));

  EXPECT_ERROR(in->read_all(in->find_variable("fixed"), 0, box, values), Errc::invalid_argument, "different variables, steps or files");
  barrier();
}

TEST_F(ReadAll, NeedsTheSession) {
  write("a.nc", {4, 4, 4});
  Session session(MPI_COMM_WORLD, with({}));
  const Input in = session.open_input(path("a.nc"));
  session.close();
  std::vector<double> values(64);

  EXPECT_ERROR(in.read_all(in.find_variable("fixed"), 0, Box{{0, 0, 0}, {4, 4, 4}}, values), Errc::invalid_state, "");
  barrier();
}

}  // namespace
}  // namespace glean::test
