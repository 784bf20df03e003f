// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/vtk/sections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"
#include "store/format/vtk/vtk.hpp"

namespace glean::store {
namespace {

// Of arrays; text has none.
constexpr std::array<std::string_view, mesh::type_count> vtk_types = {"signed_char", "unsigned_char", "short",         "unsigned_short",
                                                                      "int",         "unsigned_int",  "vtktypeint64", "vtktypeuint64",
                                                                      "float",       "double",        ""};
constexpr std::size_t title_most = 255;   // and the end of the line

std::string_view type_of(const mesh::VariableDefinition& variable) { return vtk_types[static_cast<std::size_t>(variable.external)]; }

// x first, with those that an array of fewer dimensions has not got.
template <class T>
std::array<T, 3> xyz_of(const std::vector<T>& slowest_first, T otherwise) {
  std::array<T, 3> xyz{otherwise, otherwise, otherwise};
  for (std::size_t d = 0; d < std::min<std::size_t>(slowest_first.size(), 3); ++d) xyz[d] = slowest_first[slowest_first.size() - 1 - d];
  return xyz;
}

class VtkText {
 public:
  explicit VtkText(const mesh::Definitions& definitions) : definitions_(definitions) {}

  std::vector<VtkSection> sections() {
    require_what_it_holds();
    text_ = "# vtk DataFile Version 3.0\n" + title() + "\nBINARY\n";
    add_grid();
    add_data(mesh::Centring::points, "POINT_DATA", points_);
    add_data(mesh::Centring::cells, "CELL_DATA", cells_);
    sections_.push_back({std::move(text_), -1});
    return std::move(sections_);
  }

 private:
  [[nodiscard]] const mesh::GridDefinition& grid() const { return definitions_.grids.front(); }
  [[nodiscard]] const mesh::VariableDefinition& variable(int id) const { return definitions_.variables[static_cast<std::size_t>(id)]; }
  [[nodiscard]] bool is_coordinate(int id) const {
    const auto& all = grid().coordinates;
    return std::find(all.begin(), all.end(), id) != all.end();
  }

  void require_what_it_holds() const {
    std::vector<std::string> problems;
    if (definitions_.grids.size() != 1) problems.push_back(fmt::format("it holds one grid, and {} are defined", definitions_.grids.size()));
    for (std::size_t v = 0; v < definitions_.variables.size(); ++v) {
      const mesh::VariableDefinition& each = definitions_.variables[v];
      if (definitions_.per_step(static_cast<int>(v))) problems.push_back("it holds one step, and variable '" + each.name + "' has records");
      if (each.external == mesh::Type::text) problems.push_back("it holds no text, and variable '" + each.name + "' is text");
      const bool is_array = definitions_.grids.size() == 1 && is_coordinate(static_cast<int>(v));
      if (!is_array && each.grid < 0 && each.dimensions.size() > 2) {
        problems.push_back("variable '" + each.name + "' is on no grid and has more than two dimensions");
      }
    }
    if (definitions_.grids.size() == 1) look_at_grid(problems);
    if (problems.empty()) return;
    throw base::Error(base::Errc::invalid_argument, fmt::format("a legacy VTK file cannot be made: {}", fmt::join(problems, "; ")),
                      "write other outputs as vtkhdf, NetCDF or HDF5");
  }

  void look_at_grid(std::vector<std::string>& problems) const {
    const std::size_t dimensions = grid().dimensions.size(), arrays = grid().coordinates.size();
    std::size_t expected = 0;
    switch (grid().kind) {
      case mesh::GridKind::uniform:
        if (grid().origin.size() != dimensions || grid().spacing.size() != dimensions) problems.push_back("its grid has no place in space");
        break;
      case mesh::GridKind::rectilinear: expected = dimensions; break;
      case mesh::GridKind::curvilinear: expected = 1; break;
      case mesh::GridKind::unstructured: expected = 3; break;
      case mesh::GridKind::amr: problems.push_back("it holds no AMR grids"); break;
    }
    if (dimensions == 0 || dimensions > 3) problems.push_back(fmt::format("its grid has {} dimensions, not one to three", dimensions));
    if (grid().kind != mesh::GridKind::amr && arrays != expected) problems.push_back("its grid has a wrong number of arrays");
  }

  // The line ends with the file's first control character.
  [[nodiscard]] std::string title() const {
    for (const mesh::Attribute& attribute : definitions_.attributes) {
      if (attribute.variable >= 0 || attribute.name != "title") continue;
      std::string text;
      for (const std::byte byte : attribute.values) {
        const char c = static_cast<char>(byte);
        text += static_cast<unsigned char>(c) < 32 ? ' ' : c;
      }
      if (text.size() > title_most) text.resize(title_most);
      if (!text.empty()) return text;
    }
    return "GLEAN";
  }

  // An array begins behind what was said.
  void array(int id) {
    sections_.push_back({std::move(text_), id});
    text_ = "\n";
  }

  void add_grid() {
    constexpr const char* names[] = {"STRUCTURED_POINTS", "", "RECTILINEAR_GRID", "STRUCTURED_GRID", "UNSTRUCTURED_GRID"};
    text_ += fmt::format("DATASET {}\n", names[static_cast<std::size_t>(grid().kind)]);
    add_field_data();
    mesh::Shape cells;
    for (const int id : grid().dimensions) cells.push_back(definitions_.dimensions[static_cast<std::size_t>(id)].length);
    if (grid().kind == mesh::GridKind::unstructured) return add_mesh();
    mesh::Shape points = cells;
    for (std::uint64_t& length : points) ++length;
    cells_ = mesh::elements_of(cells);
    points_ = mesh::elements_of(points);
    const auto xyz = xyz_of<std::uint64_t>(points, 1);
    text_ += fmt::format("DIMENSIONS {} {} {}\n", xyz[0], xyz[1], xyz[2]);
    if (grid().kind == mesh::GridKind::uniform) {
      const auto origin = xyz_of(grid().origin, 0.0), spacing = xyz_of(grid().spacing, 1.0);
      text_ += fmt::format("ORIGIN {:.17g} {:.17g} {:.17g}\nSPACING {:.17g} {:.17g} {:.17g}\n", origin[0], origin[1], origin[2], spacing[0],
                           spacing[1], spacing[2]);
    } else if (grid().kind == mesh::GridKind::curvilinear) {
      add_points(grid().coordinates[0]);
    } else {
      add_lines(xyz);
    }
  }

  void add_points(int id) {
    text_ += fmt::format("POINTS {} {}\n", points_, type_of(variable(id)));
    array(id);
  }

  void add_lines(const std::array<std::uint64_t, 3>& points) {
    for (std::size_t d = 0; d < 3; ++d) {
      if (d >= grid().coordinates.size()) {
        // One plane: its coordinate is eight zero bytes, which are text here.
        text_ += fmt::format("{}_COORDINATES 1 double\n", "XYZ"[d]) + std::string(8, '\0') + "\n";
        continue;
      }
      const int id = grid().coordinates[grid().coordinates.size() - 1 - d];
      text_ += fmt::format("{}_COORDINATES {} {}\n", "XYZ"[d], points[d], type_of(variable(id)));
      array(id);
    }
  }

  void add_mesh() {
    const int points = grid().coordinates[0], cells = grid().coordinates[1], types = grid().coordinates[2];
    points_ = definitions_.shape(points)[0];
    cells_ = definitions_.shape(types)[0];
    add_points(points);
    text_ += fmt::format("CELLS {} {}\n", cells_, definitions_.shape(cells)[0]);
    array(cells);
    text_ += fmt::format("CELL_TYPES {}\n", cells_);
    array(types);
  }

  // What is on no grid: a list, or one of tuples.
  void add_field_data() {
    std::vector<int> arrays;
    for (int v = 0; v < static_cast<int>(definitions_.variables.size()); ++v) {
      if (variable(v).grid < 0 && !is_coordinate(v)) arrays.push_back(v);
    }
    if (arrays.empty()) return;
    text_ += fmt::format("FIELD FieldData {}\n", arrays.size());
    for (const int v : arrays) {
      const mesh::Shape shape = definitions_.shape(v);
      add_field(v, shape.size() < 2 ? 1 : shape[1], shape.empty() ? 1 : shape[0]);
    }
  }

  void add_field(int v, std::uint64_t components, std::uint64_t tuples) {
    text_ += fmt::format("{} {} {} {}\n", vtk_encoded(variable(v).name), components, tuples, type_of(variable(v)));
    array(v);
  }

  void add_data(mesh::Centring centring, const char* keyword, std::uint64_t elements) {
    bool is_first = true;
    for (int v = 0; v < static_cast<int>(definitions_.variables.size()); ++v) {
      if (variable(v).grid < 0 || variable(v).centring != centring || is_coordinate(v)) continue;
      if (std::exchange(is_first, false)) text_ += fmt::format("{} {}\n", keyword, elements);
      const std::string name = vtk_encoded(variable(v).name);
      switch (variable(v).components) {
        case 1: text_ += fmt::format("SCALARS {} {} 1\nLOOKUP_TABLE default\n", name, type_of(variable(v))); break;
        case 3: text_ += fmt::format("VECTORS {} {}\n", name, type_of(variable(v))); break;
        case 9: text_ += fmt::format("TENSORS {} {}\n", name, type_of(variable(v))); break;
        default:
          text_ += "FIELD FieldData 1\n";
          add_field(v, variable(v).components, elements);
          continue;
      }
      array(v);
    }
  }

  const mesh::Definitions& definitions_;
  std::string text_;   // before the next array
  std::vector<VtkSection> sections_;
  std::uint64_t points_ = 0, cells_ = 0;
};

}  // namespace

std::vector<VtkSection> vtk_sections(const mesh::Definitions& definitions) { return VtkText(definitions).sections(); }

std::string vtk_encoded(std::string_view name) {
  std::string encoded;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = byte > 32 && byte < 127 && c != '"' && c != '%';
    encoded += is_plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return encoded;
}

}  // namespace glean::store
