// SPDX-License-Identifier: BSD-3-Clause
//
// Meshes through the public interface: what ranks are told of each other's flaws, where puts go, time. What other programs read of such
// files is looked at in tests/meshes. COMMAND: `glean`, which verifies the checksums.
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>

#include "ranks.hpp"

namespace glean::test {

namespace {

class Meshes : public Ranks {
 protected:
  [[nodiscard]] std::uint64_t ranks() const { return static_cast<std::uint64_t>(size_); }
  [[nodiscard]] std::uint64_t mine() const { return static_cast<std::uint64_t>(rank_); }
  // A line of hexahedra, one on each rank.
  [[nodiscard]] Grid define_hexahedron(Output& out, double x = 0) const {
    const std::vector<double> points = {x, 0, 0, x + 1, 0, 0, x + 1, 1, 0, x, 1, 0, x, 0, 1, x + 1, 0, 1, x + 1, 1, 1, x, 1, 1};
    const CellType types[] = {CellType::hexahedron};
    const std::int64_t ids[] = {0, 1, 2, 3, 4, 5, 6, 7};
    return out.define_grid(UnstructuredMesh{points, types, {}, ids});
  }
  int verified(const std::string& name) const {
    const char* command = std::getenv("COMMAND");
    if (rank_ != 0 || command == nullptr) return 0;
    return std::system(("env -i " + std::string(command) + " verify --quiet '" + path(name) + "' >&2").c_str());
  }
};

constexpr Format mesh_formats[] = {Format::vtkhdf, Format::vtk, Format::cdf5, Format::hdf5};

TEST_F(Meshes, OfOneRankThatAreWrongAreToldToAll) {
  Session session(MPI_COMM_WORLD, with({}));
  for (const Format format : mesh_formats) {
    Output out = session.open(path("wrong"), format);
    if (rank_ == size_ - 1) {
      const std::vector<double> points = {0, 0, std::numeric_limits<double>::quiet_NaN()};
      const CellType types[] = {CellType::line};
      const std::int64_t ids[] = {0, 1};
      EXPECT_ERROR(out.define_grid(UnstructuredMesh{points, types, {}, ids}), Errc::invalid_argument, "cell 0 has point 1");
    } else {
      static_cast<void>(define_hexahedron(out));
    }
    EXPECT_ERROR(out.begin_step(), Errc::invalid_argument, "rank " + std::to_string(size_ - 1) + ": the unstructured mesh");
  }
  session.close();
  EXPECT_EQ(others(), std::vector<std::string>{});
}

// The rank does not come to what the others ask about the mesh, and no rank waits for it.
TEST_F(Meshes, AreNotAskedForWhereARankHasFailedBefore) {
  Session session(MPI_COMM_WORLD, with({}));
  for (const int failing : {0, size_ - 1}) {
    for (const Format format : mesh_formats) {
      Output out = session.open(path("failed"), format);
      if (rank_ == failing) {
        EXPECT_ERROR(out.define_dimension("x", 0), Errc::invalid_argument, "length 0");
      } else {
        static_cast<void>(define_hexahedron(out));
      }
      EXPECT_ERROR(out.begin_step(), Errc::invalid_argument, "rank " + std::to_string(failing) + ": dimension 'x'");
    }
  }
  // And the session goes on.
  Output out = session.open(path("good"), Format::vtk);
  const Variable value = out.define_variable("value", Type::int32, define_hexahedron(out));
  out.begin_step();
  out.put(value, std::vector<int>{rank_});
  out.end_step();
  out.close(Level::durable);
  session.close();
  EXPECT_TRUE(exists("good"));
}

// Rank 0 has nothing to ask the others, and has described the file when it learns that they have.
TEST_F(Meshes, ThatRankZeroDoesNotHaveLeaveNoOutputBehind) {
  if (size_ == 1) return;
  Session session(MPI_COMM_WORLD, with({}));
  Output out = session.open(path("a.nc"), Format::cdf5);
  if (rank_ == 0) static_cast<void>(out.define_dimension("x", 1));
  else static_cast<void>(define_hexahedron(out));
  EXPECT_ERROR(out.begin_step(), Errc::invalid_argument, "has defined it otherwise than rank 0");

  Output again = session.open(path("a.nc"), Format::cdf5);   // at once: no output of that name is open
  const Variable value = again.define_variable("value", Type::int32, define_hexahedron(again));
  again.begin_step();
  again.put(value, std::vector<int>{rank_});
  again.end_step();
  again.close(Level::durable);
  session.close();

  EXPECT_TRUE(exists("a.nc"));
}

TEST_F(Meshes, MustBeDefinedAlikeOnAllRanks) {
  if (size_ == 1) return;
  Session session(MPI_COMM_WORLD, with({}));
  Output out = session.open(path("unlike"), Format::vtkhdf);
  const Grid grid = define_hexahedron(out);
  if (rank_ == 1) static_cast<void>(out.define_variable("value", Type::int32, grid));
  EXPECT_ERROR(out.begin_step(), Errc::invalid_argument, "rank 1 has defined it otherwise than rank 0");
  session.close();
}

TEST_F(Meshes, AreNotWrittenInModesWithoutCapture) {
  for (const char* mode : {"passthrough", "collective"}) {
    for (const Format format : {Format::vtkhdf, Format::vtk}) {
      Session session(MPI_COMM_WORLD, with({{"mode", mode}}));
      Output out = session.open(path("direct"), format);
      static_cast<void>(define_hexahedron(out));
      EXPECT_ERROR(out.begin_step(), Errc::unsupported, "are not written by several ranks at once");
      session.close();
    }
  }
}

TEST_F(Meshes, SayAllThatAFileForVtkCannotHold) {
  Session session(MPI_COMM_WORLD, with({}));
  for (const Format format : {Format::vtkhdf, Format::vtk}) {
    Output out = session.open(path("full"), format);
    const Grid grid = define_hexahedron(out);
    static_cast<void>(out.define_grid(UniformGrid{{4}, {0}, {1}, {}, {}}));
    static_cast<void>(out.define_variable("series", Type::float64, grid, {.per_step = true}));
    const auto error = thrown([&] { out.begin_step(); });
    EXPECT_TRUE(says(error, "it holds one grid, and 2 are defined")) << (error ? error->what() : "nothing");
    EXPECT_TRUE(says(error, "it holds one step, and variable 'series' has a record for each")) << (error ? error->what() : "nothing");
  }
  Output out = session.open(path("slash"), Format::vtkhdf);
  EXPECT_ERROR(out.define_variable("a/b", Type::int8, define_hexahedron(out)), Errc::invalid_argument, "it has a slash");
  EXPECT_ERROR(out.begin_step(), Errc::invalid_argument, "it has a slash");
  Output curved = session.open(path("curved"), Format::vtkhdf);
  static_cast<void>(curved.define_grid(RectilinearGrid{{{0, 1}}, {}, {}}));
  EXPECT_ERROR(curved.begin_step(), Errc::invalid_argument, "the format vtk has them");
  Output amr = session.open(path("amr"), Format::vtk);
  static_cast<void>(amr.define_grid(AmrGrid{ranks(), mine(), {{1, -1, {rank_ * 1.0}, {rank_ + 1.0}}}, {4}}));
  EXPECT_ERROR(amr.begin_step(), Errc::invalid_argument, "the format vtkhdf does");
  session.close();
}

TEST_F(Meshes, OfAmrFitTogetherBetweenRanks) {
  Session session(MPI_COMM_WORLD, with({}));
  const auto grid = [&](std::uint64_t total, double x, double width) {
    return AmrGrid{total, mine(), {{1, -1, {x, 0}, {x + width, 1}}}, {4, 4}};
  };
  Output more = session.open(path("more"), Format::vtkhdf);
  static_cast<void>(more.define_grid(grid(ranks() + 1, rank_, 1)));
  EXPECT_ERROR(more.begin_step(), Errc::invalid_argument, "blocks, and blocks_total is " + std::to_string(size_ + 1));
  if (size_ > 1) {
    Output wide = session.open(path("wide"), Format::vtkhdf);
    static_cast<void>(wide.define_grid(grid(ranks(), 2.0 * rank_, rank_ == 1 ? 2 : 1)));
    EXPECT_ERROR(wide.begin_step(), Errc::invalid_argument, "cells of level 1 have widths from 0.25");
    Output shifted = session.open(path("shifted"), Format::vtkhdf);
    static_cast<void>(shifted.define_grid(grid(ranks(), rank_ == 1 ? 1.1 : rank_, 1)));
    EXPECT_ERROR(shifted.begin_step(), Errc::invalid_argument, "not whole ones");
  }
  session.close();
}

// Box by box, out of arrays with ghost cells, in any order.
TEST_F(Meshes, TakePutsOfPartsOfTheirBlocks) {
  const auto write = [&](const std::string& name, bool in_parts) {
    Session session(MPI_COMM_WORLD, with({}));
    Output out = session.open(path(name), Format::vtkhdf);
    AmrGrid mesh{3 * ranks(), 3 * mine(), {}, {4, 6}};
    for (int b = 0; b < 3; ++b) {
      const double x = 3.0 * rank_ + b;
      mesh.blocks.push_back(b < 2 ? AmrBlock{1, -1, {x, 0}, {x + 1, 1}} : AmrBlock{2, -1, {x, 0}, {x + 0.5, 0.5}});
    }
    const Grid grid = out.define_grid(mesh);
    const Variable field = out.define_variable("field", Type::float64, grid, {.components = 2});
    std::vector<double> values(3 * 4 * 6 * 2);
    std::iota(values.begin(), values.end(), 1000.0 * rank_);
    out.begin_step();
    if (!in_parts) {
      out.put(field, values);
    } else {
      std::vector<double> ghosts(3 * 6 * 8 * 2, -1);
      for (std::size_t b = 0; b < 3; ++b) {
        for (std::size_t y = 0; y < 4; ++y) {
          std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(((b * 4 + y) * 6) * 2), 12,
                      ghosts.begin() + static_cast<std::ptrdiff_t>(((b * 6 + y + 1) * 8 + 1) * 2));
        }
      }
      const std::ptrdiff_t strides[] = {6 * 8 * 2, 8 * 2, 2, 1};
      const auto first = [&](std::size_t b, std::size_t y, std::size_t x) { return ghosts.data() + ((b * 6 + y + 1) * 8 + x + 1) * 2; };
      out.put(field, Box{{3 * mine() + 1, 0, 0, 0}, {2, 4, 6, 2}}, first(1, 0, 0), strides);
      out.put(field, Box{{3 * mine(), 2, 1, 0}, {1, 2, 5, 2}}, first(0, 2, 1), strides);
      out.put(field, Box{{3 * mine(), 0, 0, 0}, {1, 4, 1, 2}}, first(0, 0, 0), strides);
      const std::vector<double> corner(values.begin() + 2, values.begin() + 2 + 2 * 5);
      out.put(field, Box{{3 * mine(), 0, 1, 0}, {1, 1, 5, 2}}, corner.data());
      out.put(field, Box{{3 * mine(), 1, 1, 0}, {1, 1, 5, 2}}, first(0, 1, 1), strides);
    }
    out.end_step();
    out.close(Level::durable);
    session.close();
  };
  write("whole", false);
  write("parts", true);
  expect_same_files("parts", "whole");
}

TEST_F(Meshes, PutPointsThatBlocksShareOnce) {
  Session session(MPI_COMM_WORLD, with({}));
  Output out = session.open(path("points"), Format::cdf5);
  const Grid grid = out.define_grid(UniformGrid{{ranks(), 4}, {0, 0}, {1, 1}, {{{mine(), 0}, {1, 2}}, {{mine(), 2}, {1, 2}}}, {}});
  const Variable point = out.define_variable("point", Type::int32, grid, {.centring = Centring::points});
  std::vector<int> values;
  for (const int first : {0, 2}) {
    for (int y = rank_; y <= rank_ + 1; ++y) {
      for (int x = first; x <= first + 2; ++x) values.push_back(100 * y + x);
    }
  }
  const Variable by_plane = out.define_variable("by_plane", Type::int32, grid, {.centring = Centring::points});
  out.begin_step();
  out.put(point, values);
  for (std::uint64_t x = 0; x <= 4; ++x) {   // what blocks share once
    const std::vector<int> plane{static_cast<int>(100 * mine() + x), static_cast<int>(100 * (mine() + 1) + x)};
    out.put(by_plane, Box{{mine(), x}, {2, 1}}, plane.data());
  }
  out.end_step();
  out.close();
  Input in = session.open_input(path("points"));
  EXPECT_EQ(in.read<int>(in.find_variable("by_plane")), in.read<int>(in.find_variable("point")));
  const auto found = in.read<int>(in.find_variable("point"));
  ASSERT_EQ(found.size(), 5 * (ranks() + 1));
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], static_cast<int>(100 * (i / 5) + i % 5));
  EXPECT_EQ(in.read<double>(in.find_variable("x_points")), (std::vector<double>{0, 1, 2, 3, 4}));
  session.close();
}

TEST_F(Meshes, HaveATimeThatIsSetAtTheRightTime) {
  Session session(MPI_COMM_WORLD, with({}));
  Output none = session.open(path("none"), Format::cdf5);
  static_cast<void>(none.define_dimension("x", 1));
  none.end_definitions();
  EXPECT_ERROR(none.set_time(1), Errc::invalid_state, "it has no time");
  Output open = session.open(path("open"), Format::cdf5);
  open.set_time(1);
  open.begin_step();
  EXPECT_ERROR(open.set_time(2), Errc::invalid_state, "a step is open");
  Output infinite = session.open(path("infinite"), Format::cdf5);
  EXPECT_ERROR(infinite.set_time(std::numeric_limits<double>::infinity()), Errc::invalid_argument, "not a finite number");
  EXPECT_ERROR(infinite.begin_step(), Errc::invalid_argument, "not a finite number");
  static_cast<void>(thrown([&] { session.close(); }));   // they are abandoned
}

TEST_F(Meshes, HaveATimeInEachStep) {
  Session session(MPI_COMM_WORLD, with({}));
  Output out = session.open(path("series"), Format::cdf5);
  const Grid grid = out.define_grid(UniformGrid{{ranks()}, {0}, {1}, {{{mine()}, {1}}}, {}});
  const Variable value = out.define_variable("value", Type::int32, grid, {.per_step = true});
  out.set_time(0.5, "Myr");
  for (int step = 0; step < 3; ++step) {
    out.begin_step();
    out.put(value, std::vector<int>{step});
    out.end_step();
    if (step == 0) out.set_time(1.25 + (rank_ == 0 ? 0 : 100));   // rank 0's counts
  }
  out.close();
  Input in = session.open_input(path("series"));
  const Variable time = in.find_variable("time");
  EXPECT_EQ(in.read<double>(time, 0), std::vector<double>{0.5});
  EXPECT_EQ(in.read<double>(time, 1), std::vector<double>{1.25});
  EXPECT_EQ(in.read<double>(time, 2), std::vector<double>{1.25});
  const auto unit = in.attribute<char>(time, "units");
  EXPECT_EQ(std::string(unit.begin(), unit.end()), "Myr");
  session.close();
}

TEST_F(Meshes, AreVerifiedByTheirChecksums) {
  for (const Format format : {Format::vtkhdf, Format::vtk}) {
    Session session(MPI_COMM_WORLD, with({{"checksums", "true"}}));
    Output out = session.open(path("sums"), format);
    const std::uint64_t rows = 3 * ranks();
    const Grid grid = out.define_grid(UniformGrid{{rows, 5000}, {0, 0}, {1, 1}, {{{3 * mine(), 0}, {3, 5000}}}, {}});
    const Variable a = out.define_variable("a", Type::float64, grid);
    const Variable b = out.define_variable("b", Type::float32, grid, {.fill = Fill::on, .components = 3});
    out.begin_step();
    out.put(a, std::vector<double>(15000, 1.5 + rank_));
    if (rank_ == 0) out.put(b, std::vector<float>(45000, 2));
    out.end_step();
    out.close(Level::durable);
    session.close();
    EXPECT_EQ(verified("sums"), 0);
    if (format != Format::vtk || rank_ != 0 || std::getenv("COMMAND") == nullptr) continue;
    // The text between the arrays is in them.
    const std::size_t at = content("sums").find("VECTORS b");
    ASSERT_NE(at, std::string::npos);
    std::fstream file(path("sums"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file.put('v');
    file.close();
    EXPECT_NE(verified("sums"), 0);
  }
}

}  // namespace

}  // namespace glean::test
