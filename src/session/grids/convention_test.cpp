// SPDX-License-Identifier: BSD-3-Clause
//
// Conventions with ranks that are played one after the other.
#include "session/grids/convention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace glean::session {
namespace {

using mesh::Box;
using mesh::Shape;

// One program for each rank, and what they make of their file together.
class Ranks {
 public:
  explicit Ranks(int ranks) {
    for (int rank = 0; rank < ranks; ++rank) programs.emplace_back(rank, "file");
  }

  [[nodiscard]] Totals totals_of(const Convention& convention, std::size_t rank) const {
    Totals totals;
    for (std::size_t r = 0; r < programs.size(); ++r) {
      const Contribution mine = convention.contribution(programs[r]);
      totals.before.resize(mine.counts.size());
      totals.all.resize(mine.counts.size());
      totals.least.resize(mine.least.size(), std::numeric_limits<double>::infinity());
      for (std::size_t i = 0; i < mine.counts.size(); ++i) {
        totals.all[i] += mine.counts[i];
        if (r < rank) totals.before[i] += mine.counts[i];
      }
      for (std::size_t i = 0; i < mine.least.size(); ++i) totals.least[i] = std::min(totals.least[i], mine.least[i]);
    }
    return totals;
  }
  // The same definitions on all ranks.
  void view(const Convention& convention, const std::optional<std::string>& time_unit = std::nullopt) {
    for (std::size_t r = 0; r < programs.size(); ++r) {
      const Totals totals = totals_of(convention, r);
      views.push_back(convention.view(programs[r], totals, time_unit));
      EXPECT_EQ(views[r].definitions.fingerprint(), views[0].definitions.fingerprint()) << r;
    }
  }

  [[nodiscard]] int find(const std::string& name) const {
    const auto& variables = views.front().definitions.variables;
    const auto found = std::find_if(variables.begin(), variables.end(), [&](const auto& each) { return each.name == name; });
    return found == variables.end() ? -1 : static_cast<int>(found - variables.begin());
  }
  [[nodiscard]] Shape shape(const std::string& name) const { return views.front().definitions.shape(find(name)); }
  // All values that the library itself puts into a variable of one dimension, or of rows; every element once.
  template <class T>
  [[nodiscard]] std::vector<T> values(const std::string& name) const {
    const int variable = find(name);
    const Shape whole = views.front().definitions.shape(variable);
    std::vector<T> all(mesh::elements_of(whole));
    std::size_t given = 0;
    for (const FileView& view : views) {
      for (const FilePut& put : view.first_puts) {
        if (put.variable != variable) continue;
        const std::uint64_t row = mesh::elements_of(whole) / whole[0];
        EXPECT_EQ(put.values.size(), put.box.elements() * sizeof(T)) << name;
        std::memcpy(all.data() + put.box.start[0] * row, put.values.data(), put.values.size());
        given += put.box.elements();
      }
    }
    EXPECT_EQ(given, all.size()) << name;
    return all;
  }

  std::vector<Program> programs;
  std::vector<FileView> views;
};

// `cells` triangles in a fan.
mesh::UnstructuredMesh fan(std::size_t cells) {
  mesh::UnstructuredMesh fan;
  const std::size_t points = cells == 0 ? 0 : cells + 2;
  fan.points.bytes.resize(points * 3 * sizeof(double));
  fan.types.assign(cells, 5);
  for (std::size_t c = 0; c < cells; ++c) {
    for (const std::size_t point : {std::size_t{0}, c + 1, c + 2}) fan.connectivity.push_back(static_cast<std::int64_t>(point));
  }
  fan.offsets = mesh::offsets_of(fan.types);
  return fan;
}

Ranks fans(std::initializer_list<std::size_t> cells) {
  Ranks ranks(static_cast<int>(cells.size()));
  for (std::size_t r = 0; r < cells.size(); ++r) {
    Program& program = ranks.programs[r];
    const int grid = program.define_grid(fan(cells.begin()[r]), {});
    static_cast<void>(program.define_grid_variable("of_cells", mesh::Type::float64, grid, {}));
    static_cast<void>(program.define_grid_variable("of_points", mesh::Type::float32, grid,
                                                   {.centring = mesh::Centring::points, .components = 3}));
  }
  return ranks;
}

TEST(VtkhdfConvention, MakesAPartOfEachRankThatHasSomething) {
  Ranks ranks = fans({2, 0, 1});

  ranks.view(*make_vtkhdf_convention());

  EXPECT_EQ(ranks.values<std::uint64_t>("VTKHDF/NumberOfPoints"), (std::vector<std::uint64_t>{4, 3}));
  EXPECT_EQ(ranks.values<std::uint64_t>("VTKHDF/NumberOfCells"), (std::vector<std::uint64_t>{2, 1}));
  EXPECT_EQ(ranks.values<std::uint64_t>("VTKHDF/NumberOfConnectivityIds"), (std::vector<std::uint64_t>{6, 3}));
  EXPECT_EQ(ranks.values<std::int64_t>("VTKHDF/Connectivity"), (std::vector<std::int64_t>{0, 1, 2, 0, 2, 3, 0, 1, 2}));
  EXPECT_EQ(ranks.values<std::int64_t>("VTKHDF/Offsets"), (std::vector<std::int64_t>{0, 3, 6, 0, 3}));
  EXPECT_EQ(ranks.values<std::uint8_t>("VTKHDF/Types"), std::vector<std::uint8_t>(3, 5));
  EXPECT_EQ(ranks.shape("VTKHDF/Points"), (Shape{7, 3}));
  EXPECT_EQ(ranks.shape("VTKHDF/PointData/of_points"), (Shape{7, 3}));
  // Where the fields of the program go, and what of them each rank has.
  EXPECT_EQ(ranks.views[2].routes[0].variable, ranks.find("VTKHDF/CellData/of_cells"));
  EXPECT_EQ(ranks.programs[0].variables()[0].blocks, (std::vector<Box>{{{0}, {2}}}));
  EXPECT_TRUE(ranks.programs[1].variables()[0].blocks.empty());
  EXPECT_EQ(ranks.programs[2].variables()[1].blocks, (std::vector<Box>{{{4, 0}, {3, 3}}}));
}

TEST(VtkhdfConvention, MakesOnePartOfNothing) {
  Ranks ranks = fans({0, 0});
  ranks.view(*make_vtkhdf_convention());
  EXPECT_EQ(ranks.values<std::uint64_t>("VTKHDF/NumberOfCells"), std::vector<std::uint64_t>{0});
  EXPECT_EQ(ranks.values<std::int64_t>("VTKHDF/Offsets"), std::vector<std::int64_t>{0});
  EXPECT_EQ(ranks.shape("VTKHDF/Points"), (Shape{0, 3}));
}

TEST(VtkhdfConvention, HoldsMoreElementsThanIntegersOf32Bits) {
  Ranks ranks = fans({1});
  const auto convention = make_vtkhdf_convention();
  Totals totals = ranks.totals_of(*convention, 0);
  const std::uint64_t many = std::uint64_t{1} << 40;
  totals.before = {many, 2 * many, 3 * many, 5};
  totals.all = {2 * many, 3 * many, 4 * many, 7};
  ranks.views.push_back(convention->view(ranks.programs[0], totals, std::nullopt));
  EXPECT_EQ(ranks.shape("VTKHDF/Points"), (Shape{3 * many, 3}));
  EXPECT_EQ(ranks.shape("VTKHDF/Offsets"), Shape{2 * many + 7});
  EXPECT_EQ(ranks.views[0].first_puts[5].box, (Box{{many + 5}, {2}}));   // offsets
}

// Two blocks of level 2 on rank 0, one of level 1 and one of level 2 on rank 1; nothing on rank 2.
TEST(VtkhdfConvention, NumbersTheBlocksOfEachLevelByRank) {
  Ranks ranks(3);
  const std::vector<mesh::AmrBlock> blocks[] = {
      {{2, -1, {0, 0}, {1, 1}}, {2, -1, {1, 0}, {2, 1}}}, {{1, -1, {0, 2}, {2, 4}}, {2, -1, {0, 1}, {1, 2}}}, {}};
  for (std::size_t r = 0; r < 3; ++r) {
    const int grid = ranks.programs[r].define_grid(mesh::AmrGrid{4, std::min<std::uint64_t>(2 * r, 4), blocks[r], {2, 2}}, {});
    static_cast<void>(ranks.programs[r].define_grid_variable("dens", mesh::Type::float64, grid, {}));
  }

  ranks.view(*make_vtkhdf_convention());

  EXPECT_EQ(ranks.shape("VTKHDF/Level0/CellData/dens"), Shape{4});
  EXPECT_EQ(ranks.shape("VTKHDF/Level1/CellData/dens"), Shape{12});
  EXPECT_EQ(ranks.values<std::int32_t>("VTKHDF/Level0/AMRBox"), (std::vector<std::int32_t>{0, 1, 2, 3, 0, 0}));
  EXPECT_EQ(ranks.values<std::int32_t>("VTKHDF/Level1/AMRBox"),
            (std::vector<std::int32_t>{0, 1, 0, 1, 0, 0, 2, 3, 0, 1, 0, 0, 0, 1, 2, 3, 0, 0}));
  // Rank 1 puts its fine block behind those of rank 0.
  struct Last final : PutMap::Receiver {
    std::vector<std::pair<int, Box>> taken;
    void take(int variable, const Box& file, const Box&) override { taken.emplace_back(variable, file); }
  } last;
  ranks.views[1].routes[0].map->split(0, {{2, 0, 0}, {2, 2, 2}}, last);
  EXPECT_EQ(last.taken, (std::vector<std::pair<int, Box>>{{ranks.find("VTKHDF/Level0/CellData/dens"), {{0}, {4}}},
                                                          {ranks.find("VTKHDF/Level1/CellData/dens"), {{8}, {4}}}}));
}

TEST(VtkConvention, NumbersThePointsOfAllRanks) {
  Ranks ranks = fans({2, 0, 1});
  ranks.view(*make_vtk_convention(), "s");
  EXPECT_EQ(ranks.values<std::int64_t>("cells\1"), (std::vector<std::int64_t>{3, 0, 1, 2, 3, 0, 2, 3, 3, 4, 5, 6}));
  EXPECT_EQ(ranks.shape("points\1"), (Shape{7, 3}));
  EXPECT_EQ(ranks.views[0].time, ranks.find("TIME"));
}

TEST(VtkConvention, RefusesMorePointsThanItsNumbersCanName) {
  Ranks ranks = fans({1});
  const auto convention = make_vtk_convention();
  Totals totals = ranks.totals_of(*convention, 0);
  totals.all[1] = std::uint64_t{1} << 31;
  EXPECT_THROW(static_cast<void>(convention->view(ranks.programs[0], totals, std::nullopt)), base::Error);
  totals.all[1] -= 1;
  EXPECT_NO_THROW(static_cast<void>(convention->view(ranks.programs[0], totals, std::nullopt)));
}

TEST(PlainConvention, AsksNoRankAboutGridsThatAllKnow) {
  Program program(0, "file");
  const auto convention = make_plain_convention({});
  const int grid = program.define_grid(mesh::UniformGrid{{4}, {0}, {1}, {{{0}, {4}}}}, {});
  convention->describe(program, grid);
  static_cast<void>(program.define_grid_variable("dens", mesh::Type::float64, grid, {}));

  EXPECT_TRUE(convention->contribution(program).empty());
  const FileView view = convention->view(program, {}, std::nullopt);

  EXPECT_EQ(view.definitions, program.definitions());
  EXPECT_EQ(view.routes[1].variable, 1);
  EXPECT_EQ(view.routes[1].map, nullptr);
  ASSERT_EQ(view.first_puts.size(), 1U);   // the centres of cells
}

TEST(PlainConvention, ListsThePointsOfCellsOfAllRanks) {
  Ranks ranks = fans({2, 0, 1});
  ranks.view(*make_plain_convention({}), "s");
  EXPECT_EQ(ranks.values<std::int64_t>("mesh_connectivity"), (std::vector<std::int64_t>{0, 1, 2, 0, 2, 3, 4, 5, 6}));
  EXPECT_EQ(ranks.values<std::int64_t>("mesh_offsets"), (std::vector<std::int64_t>{0, 3, 6, 9}));
  EXPECT_EQ(ranks.views[0].definitions.variables[static_cast<std::size_t>(ranks.find("mesh_offsets"))].external, mesh::Type::int32);
}

TEST(PlainConvention, HasNumbersOf64BitsWhereTheyAreNeeded) {
  Ranks ranks = fans({1});
  for (const bool has_64_bits : {true, false}) {
    const auto convention = make_plain_convention({.has_64_bit_integers = has_64_bits});
    Totals totals = ranks.totals_of(*convention, 0);
    totals.all[2] = std::uint64_t{1} << 33;
    if (!has_64_bits) {
      EXPECT_THROW(static_cast<void>(convention->view(ranks.programs[0], totals, std::nullopt)), base::Error);
      continue;
    }
    ranks.views.push_back(convention->view(ranks.programs[0], totals, std::nullopt));
    EXPECT_EQ(ranks.views[0].definitions.variables[static_cast<std::size_t>(ranks.find("mesh_offsets"))].external, mesh::Type::int64);
  }
}

TEST(PlainConvention, RefusesNamesThatAGridHasTaken) {
  Ranks ranks = fans({1});
  static_cast<void>(ranks.programs[0].define_variable("mesh_x", mesh::Type::float64, {}, {}, {}));
  const auto convention = make_plain_convention({});
  const Totals totals = ranks.totals_of(*convention, 0);
  try {
    static_cast<void>(convention->view(ranks.programs[0], totals, std::nullopt));
    FAIL() << "nothing was thrown";
  } catch (const base::Error& error) {
    EXPECT_NE(std::string(error.what()).find("there are two variables 'mesh_x'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace glean::session
