// SPDX-License-Identifier: BSD-3-Clause
//
//   writer FORMAT MESH FILE [MESH FILE]...
//
// Writes meshes with fields that follow from where their points and cells are, so that a reader can work out each value from what it has
// read of the mesh. Of two ranks or more one has nothing.
#include <mpi.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "glean/glean.hpp"

namespace {

using glean::Box, glean::CellType, glean::Centring, glean::Type;
using Place = std::array<double, 3>;
using Places = std::vector<Place>;
using Index = std::uint64_t;

double value_at(const Place& p) { return p[0] + 10 * p[1] + 100 * p[2]; }

// What this rank has of a mesh, in the order in which it puts it.
struct Mesh {
  std::function<glean::Grid(glean::Output&)> define;
  Places cells, points;   // centres, and points themselves
};

int rank = 0, size = 1;
// The rank that has nothing: the last of an odd number, else the first.
bool has_nothing() { return size > 1 && rank == (size % 2 == 1 ? size - 1 : 0); }
int writers() { return size > 1 ? size - 1 : 1; }
int writer() { return size > 1 && size % 2 == 0 ? rank - 1 : rank; }

std::vector<double> flat(const Places& places) {
  std::vector<double> all;
  for (const Place& place : places) all.insert(all.end(), place.begin(), place.end());
  return all;
}

// Slabs along the slowest dimension, each cut into two blocks along the fastest. `at`: where point (i, j, k) along x, y, z is.
Mesh blocks_of(const std::vector<Index>& slowest_first, std::vector<Box>& blocks, const std::function<Place(Index, Index, Index)>& at) {
  const std::size_t dimensions = slowest_first.size();
  const Index rows = slowest_first[0] / static_cast<Index>(writers());
  if (!has_nothing()) {
    const Index begin = rows * static_cast<Index>(writer()), end = writer() + 1 == writers() ? slowest_first[0] : begin + rows;
    Box box{std::vector<Index>(dimensions, 0), slowest_first};
    box.start[0] = begin;
    box.count[0] = end - begin;
    if (dimensions == 1) {
      blocks.push_back(box);
    } else {
      const Index half = box.count.back() / 2;
      Box other = box;
      box.count.back() = half;
      other.start.back() = half;
      other.count.back() -= half;
      blocks = {box, other};
    }
  }
  Mesh mesh;
  const auto along = [&](const Box& box, std::size_t d, Index& begin, Index& count) {   // d: 0 is x
    const bool is_there = d < dimensions;
    begin = is_there ? box.start[dimensions - 1 - d] : 0;
    count = is_there ? box.count[dimensions - 1 - d] : 0;
  };
  for (const Box& box : blocks) {
    std::array<Index, 3> begin{}, count{};
    for (std::size_t d = 0; d < 3; ++d) along(box, d, begin[d], count[d]);
    for (Index k = 0; k <= count[2]; ++k) {
      for (Index j = 0; j <= count[1]; ++j) {
        for (Index i = 0; i <= count[0]; ++i) mesh.points.push_back(at(begin[0] + i, begin[1] + j, begin[2] + k));
      }
    }
    for (Index k = 0; k < std::max<Index>(count[2], 1); ++k) {
      for (Index j = 0; j < std::max<Index>(count[1], 1); ++j) {
        for (Index i = 0; i < count[0]; ++i) {
          Place centre{};
          int corners = 0;
          for (Index c = 0; c < 8; ++c) {
            if ((c >> 2 > 0 && count[2] == 0) || ((c >> 1 & 1) > 0 && count[1] == 0)) continue;
            const Place corner = at(begin[0] + i + (c & 1), begin[1] + j + (c >> 1 & 1), begin[2] + k + (c >> 2));
            for (std::size_t d = 0; d < 3; ++d) centre[d] += corner[d];
            ++corners;
          }
          for (double& x : centre) x /= corners;
          mesh.cells.push_back(centre);
        }
      }
    }
  }
  return mesh;
}

Mesh uniform(const std::vector<Index>& shape) {
  glean::UniformGrid grid{shape, std::vector<double>(shape.size(), -1), std::vector<double>(shape.size(), 0.5), {}, {}};
  grid.origin.back() = 2;
  const auto x0 = [](std::size_t d, std::size_t n) { return n == 0 || d >= n ? 0.0 : d == 0 ? 2.0 : -1.0; };
  const std::size_t n = shape.size();
  Mesh mesh = blocks_of(shape, grid.blocks, [&](Index i, Index j, Index k) {
    return Place{x0(0, n) + 0.5 * static_cast<double>(i), x0(1, n) + 0.5 * static_cast<double>(j), x0(2, n) + 0.5 * static_cast<double>(k)};
  });
  mesh.define = [grid](glean::Output& out) { return out.define_grid(grid); };
  return mesh;
}

Mesh rectilinear(const std::vector<Index>& shape) {
  glean::RectilinearGrid grid;
  for (const Index cells : shape) {
    auto& along = grid.coordinates.emplace_back();
    for (Index i = 0; i <= cells; ++i) along.push_back(static_cast<double>(i * i) * 0.25 + static_cast<double>(grid.coordinates.size()));
  }
  const auto& c = grid.coordinates;
  Mesh mesh = blocks_of(shape, grid.blocks, [&](Index i, Index j, Index k) {
    const auto n = c.size();
    return Place{c[n - 1][i], n > 1 ? c[n - 2][j] : 0, n > 2 ? c[n - 3][k] : 0};
  });
  mesh.define = [grid](glean::Output& out) { return out.define_grid(grid); };
  return mesh;
}

Mesh curvilinear(const std::vector<Index>& shape) {
  std::vector<Box> blocks;
  Mesh mesh = blocks_of(shape, blocks, [](Index i, Index j, Index k) {
    const double angle = 0.2 * static_cast<double>(i), radius = 1 + static_cast<double>(j);
    return Place{radius * std::cos(angle), radius * std::sin(angle), static_cast<double>(k) + 0.1 * static_cast<double>(j)};
  });
  mesh.define = [shape, blocks, points = flat(mesh.points)](glean::Output& out) {
    return out.define_grid(glean::CurvilinearGrid{shape, blocks, points, {}});
  };
  return mesh;
}

struct Cells {
  std::vector<CellType> types;
  std::vector<std::int64_t> offsets{0}, connectivity;
  void add(CellType type, const std::vector<std::int64_t>& points) {
    types.push_back(type);
    connectivity.insert(connectivity.end(), points.begin(), points.end());
    offsets.push_back(static_cast<std::int64_t>(connectivity.size()));
  }
};

Mesh unstructured(Places points, const Cells& cells, bool in_float = false) {
  Mesh mesh;
  for (std::size_t c = 0; c < cells.types.size(); ++c) {
    Place centre{};
    for (auto i = cells.offsets[c]; i < cells.offsets[c + 1]; ++i) {
      const Place& p = points[static_cast<std::size_t>(cells.connectivity[static_cast<std::size_t>(i)])];
      for (std::size_t d = 0; d < 3; ++d) centre[d] += p[d] / static_cast<double>(cells.offsets[c + 1] - cells.offsets[c]);
    }
    mesh.cells.push_back(centre);
  }
  mesh.points = std::move(points);
  mesh.define = [cells, all = flat(mesh.points), in_float](glean::Output& out) {
    // As a program has them that keeps other things beside: five numbers for each point.
    const std::size_t count = all.size() / 3;
    std::vector<double> wide(5 * count);
    std::vector<float> single(all.begin(), all.end());
    for (std::size_t i = 0; i < all.size(); ++i) wide[5 * (i / 3) + i % 3] = all[i];
    const glean::Points given = in_float ? glean::Points(single) : glean::Points(wide.data(), count, 5);
    return out.define_grid(glean::UnstructuredMesh{given, cells.types, cells.offsets, cells.connectivity});
  };
  return mesh;
}

// Two hexahedra, a wedge, a pyramid, a tetrahedron, a quad, a triangle, a pentagon, a line and a vertex, at another place on each rank.
Mesh mixed() {
  if (has_nothing()) return unstructured({}, {});
  const double x = 4.0 * writer();
  Places p;
  for (int k = 0; k < 3; ++k) {
    for (int j = 0; j < 2; ++j) {
      for (int i = 0; i < 2; ++i) p.push_back({x + i, 0.0 + j, 0.0 + k});
    }
  }
  p.push_back({x + 0.5, 0.5, 3});      // 12: on top
  p.push_back({x + 1.5, 0.5, 0});      // 13: beside
  p.push_back({x + 1.5, 0.5, 1});      // 14
  p.push_back({x + 0.5, 2, 0});        // 15
  Cells cells;
  cells.add(CellType::hexahedron, {0, 1, 3, 2, 4, 5, 7, 6});
  cells.add(CellType::hexahedron, {4, 5, 7, 6, 8, 9, 11, 10});
  cells.add(CellType::pyramid, {8, 9, 11, 10, 12});
  cells.add(CellType::wedge, {1, 3, 13, 5, 7, 14});
  cells.add(CellType::tetra, {2, 3, 15, 6});
  cells.add(CellType::quad, {8, 9, 11, 10});
  cells.add(CellType::triangle, {2, 3, 15});
  cells.add(CellType::polygon, {0, 1, 13, 3, 2});
  cells.add(CellType::line, {0, 15});
  cells.add(CellType::vertex, {12});
  return unstructured(std::move(p), cells);
}

// One of order 3, stretched so that its edges differ.
Mesh lagrange() {
  if (has_nothing()) return unstructured({}, {});
  constexpr std::size_t order = 3;
  Places p((order + 1) * (order + 1) * (order + 1));
  for (std::size_t k = 0; k <= order; ++k) {
    for (std::size_t j = 0; j <= order; ++j) {
      for (std::size_t i = 0; i <= order; ++i) {
        p[glean::lagrange_hexahedron_point(i, j, k, order)] = {5.0 * writer() + static_cast<double>(i), 0.5 * static_cast<double>(j),
                                                               0.25 * static_cast<double>(k)};
      }
    }
  }
  Cells cells;
  std::vector<std::int64_t> all;
  for (std::size_t i = 0; i < p.size(); ++i) all.push_back(static_cast<std::int64_t>(i));
  cells.add(CellType::lagrange_hexahedron, all);
  return unstructured(std::move(p), cells, true);
}

// A row of coarse blocks, each second one of which has finer blocks in it; a rank has the block and its children.
Mesh amr(std::size_t dimensions) {
  glean::AmrGrid grid;
  grid.cells_per_block.assign(dimensions, 4);
  const Index children = Index{1} << dimensions;
  const auto first_of = [&](Index column) { return column + (column + 1) / 2 * children; };
  const Index columns = 2 * static_cast<Index>(writers());
  grid.blocks_total = first_of(columns);
  const Index begin = has_nothing() ? 0 : 2 * static_cast<Index>(writer()), end = has_nothing() ? 0 : begin + 2;
  grid.first_block = has_nothing() ? 0 : first_of(begin);
  for (Index column = begin; column < end; ++column) {
    const double x = 4.0 * static_cast<double>(column);
    glean::AmrBlock coarse{1, -1, std::vector<double>(dimensions, 0), std::vector<double>(dimensions, 4)};
    coarse.lower[0] = x;
    coarse.upper[0] = x + 4;
    grid.blocks.push_back(coarse);
    for (Index child = 0; column % 2 == 0 && child < children; ++child) {
      glean::AmrBlock fine = coarse;
      fine.level = 2;
      fine.parent = static_cast<std::int64_t>(first_of(column));
      for (std::size_t d = 0; d < dimensions; ++d) {
        fine.lower[d] = coarse.lower[d] + 2.0 * static_cast<double>(child >> d & 1);
        fine.upper[d] = fine.lower[d] + 2;
      }
      grid.blocks.push_back(fine);
    }
  }
  Mesh mesh;
  for (const glean::AmrBlock& block : grid.blocks) {
    const double width = (block.upper[0] - block.lower[0]) / 4;
    const auto add = [&](Places& places, Index count, double first) {
      for (Index k = 0; k < (dimensions > 2 ? count : 1); ++k) {
        for (Index j = 0; j < (dimensions > 1 ? count : 1); ++j) {
          for (Index i = 0; i < count; ++i) {
            const Index at[] = {i, j, k};
            Place place{};
            for (std::size_t d = 0; d < dimensions; ++d) place[d] = block.lower[d] + width * (static_cast<double>(at[d]) + first);
            places.push_back(place);
          }
        }
      }
    };
    add(mesh.cells, 4, 0.5);
    if (dimensions == 3) add(mesh.points, 5, 0);
  }
  mesh.define = [grid](glean::Output& out) { return out.define_grid(grid); };
  return mesh;
}

Mesh mesh_of(const std::string& name) {
  if (name == "uniform") return uniform({6, 3, 4});
  if (name == "uniform_2d") return uniform({6, 4});
  if (name == "uniform_1d") return uniform({12});
  if (name == "large") return uniform({24, 40, 48});
  if (name == "one_cell") return uniform(std::vector<Index>{static_cast<Index>(writers()), 1, 2});
  if (name == "rectilinear") return rectilinear({6, 3, 4});
  if (name == "rectilinear_2d") return rectilinear({6, 4});
  if (name == "curvilinear") return curvilinear({6, 3, 4});
  if (name == "curvilinear_2d") return curvilinear({6, 4});
  if (name == "mixed") return mixed();
  if (name == "lagrange") return lagrange();
  if (name == "empty") return unstructured({}, {});
  if (name == "amr") return amr(3);
  if (name == "amr_2d") return amr(2);
  std::fprintf(stderr, "there is no mesh '%s'\n", name.c_str());
  std::exit(2);
}

struct Field {
  std::string name;
  Type external;
  Centring centring;
  int components;
  std::function<double(const Place&, int)> value;
};

std::vector<Field> fields() {
  const auto scalar = [](const Place& p, int) { return value_at(p); };
  const auto vector = [](const Place& p, int c) { return p[static_cast<std::size_t>(c)]; };
  const auto tensor = [](const Place& p, int c) { return value_at(p) + c; };
  const auto odd = [](const Place& p, int) {
    return p[0] > 2.6 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  };
  return {{"density", Type::float64, Centring::cells, 1, scalar},    {"velocity", Type::float32, Centring::cells, 3, vector},
          {"potential", Type::float64, Centring::points, 1, scalar}, {"place", Type::float64, Centring::points, 3, vector},
          {"stress", Type::float64, Centring::points, 9, tensor},    {"two", Type::float32, Centring::cells, 2, tensor},
          {"\xc3\xb6 d", Type::float64, Centring::cells, 1, odd},  {"number", Type::int64, Centring::cells, 1, scalar}};
}

std::vector<double> values_of(const Field& field, const Places& places, int step) {
  std::vector<double> values;
  for (const Place& place : places) {
    for (int c = 0; c < field.components; ++c) {
      const double value = field.value(place, c) + 1000 * step;
      values.push_back(field.external == Type::int64 ? std::floor(value) : value);
    }
  }
  return values;
}

void write(glean::Session& session, const std::string& name, glean::Format format, const std::string& path) {
  glean::Output out = session.open(path, format);
  const bool is_series = name == "series";
  const Mesh mesh = mesh_of(is_series ? "uniform" : name);
  out.define_attribute("title", "A mesh for readers");
  out.set_time(0.75, "s");
  const glean::Grid grid = mesh.define(out);
  std::map<std::string, glean::Variable> made;
  for (Field field : fields()) {
    if (format == glean::Format::cdf1 && field.external == Type::int64) field.external = Type::int32;
    if (field.centring == Centring::points && name == "amr_2d") continue;
    const glean::VariableOptions options{.per_step = is_series, .centring = field.centring, .components = field.components};
    made[field.name] = out.define_variable(field.name, field.external, grid, options);
    if (field.components == 1) out.define_attribute(made[field.name], "units", "g");
  }
  const glean::Dimension three = out.define_dimension("three", 3);
  const std::vector<Box> mine = rank == 0 ? std::vector<Box>{{{0}, {3}}} : std::vector<Box>{};
  const glean::Variable constants = out.define_variable("constants", Type::float64, std::span(&three, 1), mine);
  for (int step = 0; step < (is_series ? 3 : 1); ++step) {
    out.begin_step();
    for (const Field& field : fields()) {
      const auto found = made.find(field.name);
      const Places& places = field.centring == Centring::cells ? mesh.cells : mesh.points;
      if (found != made.end()) out.put(found->second, values_of(field, places, step));
    }
    if (rank == 0 && step == 0) out.put(constants, std::vector<double>{1, 2, 4});
    out.end_step();
    out.set_time(0.75 + step + 1);
  }
  out.close();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 4) return 2;
  const std::map<std::string, glean::Format> formats = {{"vtkhdf", glean::Format::vtkhdf}, {"vtk", glean::Format::vtk},
                                                        {"cdf5", glean::Format::cdf5},     {"cdf1", glean::Format::cdf1},
                                                        {"hdf5", glean::Format::hdf5}};
  int code = 0;
  try {
    glean::Session session(MPI_COMM_WORLD, {{"pool.budget", "32MiB"}, {"pool.deadline", "60s"}});
    for (int i = 2; i + 1 < argc; i += 2) write(session, argv[i], formats.at(argv[1]), argv[i + 1]);
    session.close();
  } catch (const std::exception& error) {
    if (rank == 0) std::fprintf(stderr, "%s\n", error.what());
    code = 1;
  }
  MPI_Finalize();
  return code;
}
