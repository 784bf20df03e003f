// SPDX-License-Identifier: BSD-3-Clause
//
// What a program has defined of an output on this rank, checked as it comes: dimensions, variables, attributes, grids.
//
// Nothing here is collective: how many points and cells other ranks have of an unstructured mesh becomes known when definitions end, and
// until then its dimensions have length 0.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "mesh/definitions.hpp"
#include "mesh/meshes.hpp"

namespace glean::session {

struct VariableChoice {
  bool fill = false;
  bool per_step = false;
  mesh::Centring centring = mesh::Centring::cells;
  std::uint32_t components = 1;
};

class Program {
 public:
  struct VariableInfo {
    mesh::Shape shape;                // of one record
    std::vector<mesh::Box> blocks;    // of this rank, none of them empty
  };
  // Values of a variable of the program that this library puts in the first step: what a grid says about itself.
  struct Coordinates {
    int variable;
    std::vector<std::byte> values;    // of all blocks of this rank, in the variable's type
  };

  // `path` is for messages.
  Program(int rank, std::string path) : rank_(rank), path_(std::move(path)) {}

  // All throw invalid_argument or not_found, and return what the program calls it. Names that a file cannot have are the caller's affair.
  int define_dimension(std::string_view name, std::uint64_t length, bool unlimited);
  int define_variable(std::string_view name, mesh::Type external, std::span<const int> dimensions, std::vector<mesh::Box> blocks,
                      const VariableChoice& choice);
  int define_grid_variable(std::string_view name, mesh::Type external, int grid, const VariableChoice& choice);
  void define_attribute(int variable, std::string_view name, mesh::Type type, std::span<const std::byte> values);
  // With the names of its dimensions, none: the usual ones. Throws all its flaws at once.
  int define_grid(mesh::Mesh mesh, std::vector<std::string> names);

  // A variable with values that are put in the first step. Returns it.
  template <class T>
  int add_coordinates(std::string_view name, std::span<const int> dimensions, mesh::Box box, std::span<const T> values) {
    const int variable = define_variable(name, type_of(T{}), dimensions, {std::move(box)}, {});
    const auto bytes = std::as_bytes(values);
    coordinates_.push_back({variable, {bytes.begin(), bytes.end()}});
    return variable;
  }

  // Finds the dimension, or defines it.
  int dimension_for(const std::string& name, std::uint64_t length);
  // Of the points of a grid of boxes, beside those of its cells; of an unstructured mesh, its points.
  [[nodiscard]] std::vector<int> point_dimensions(int grid);
  // That it was defined with; defined where a variable with records needs one. -1: there is none.
  [[nodiscard]] int unlimited_dimension() const;

  // What all ranks have of an unstructured mesh is known now.
  struct Numbers {
    std::uint64_t first_cell = 0, cells = 0, first_point = 0, points = 0;   // `cells` and `points`: of all ranks
  };
  void number(int grid, const Numbers& numbers);

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const mesh::Definitions& definitions() const { return definitions_; }
  [[nodiscard]] mesh::Definitions& definitions() { return definitions_; }
  [[nodiscard]] const std::vector<VariableInfo>& variables() const { return variables_; }
  [[nodiscard]] const mesh::Mesh& mesh(int grid) const { return meshes_[static_cast<std::size_t>(grid)]; }
  // When definitions have ended, they are not needed any more.
  void forget_meshes() { meshes_.clear(); }
  [[nodiscard]] std::vector<Coordinates>& coordinates() { return coordinates_; }
  [[nodiscard]] int points_dimension_of_mesh(int grid) const { return points_of_mesh_[static_cast<std::size_t>(grid)]; }

 private:
  static constexpr mesh::Type type_of(double) { return mesh::Type::float64; }
  static constexpr mesh::Type type_of(std::int32_t) { return mesh::Type::int32; }
  [[nodiscard]] std::vector<mesh::Box> blocks_of(int grid, const VariableChoice& choice) const;

  int rank_;
  std::string path_;
  mesh::Definitions definitions_;
  std::vector<VariableInfo> variables_;
  std::vector<mesh::Mesh> meshes_;           // of each grid, what this rank has
  std::vector<int> points_of_mesh_;          // of each grid; -1 unless it is unstructured
  std::vector<Coordinates> coordinates_;
};

}  // namespace glean::session
