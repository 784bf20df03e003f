// SPDX-License-Identifier: BSD-3-Clause
//
// How a file says what a program means by its grids: dimensions, variables and attributes of the file, and where puts go.
//
// Pure: what ranks have together comes in as numbers, so that tests play any number of ranks.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mesh/definitions.hpp"
#include "session/grids/program.hpp"
#include "session/grids/put_map.hpp"

namespace glean::session {

// What a rank brings along; as many numbers on all ranks that have defined the same grids.
struct Contribution {
  std::vector<std::uint64_t> counts;   // to be added up
  std::vector<double> least;           // of which the least counts
  [[nodiscard]] bool empty() const { return counts.empty() && least.empty(); }
};
struct Totals {
  std::vector<std::uint64_t> before;   // of the ranks before this one
  std::vector<std::uint64_t> all;
  std::vector<double> least;
};

// Values that this library puts in the first step.
struct FilePut {
  int variable = -1;   // of the file
  mesh::Box box;
  mesh::Type memory = mesh::Type::float64;
  std::vector<std::byte> values;
};

// The file that is made of what a program has defined, with what this rank puts.
struct FileView {
  struct Route {
    int variable = -1;               // of the file: the same box of it
    std::unique_ptr<PutMap> map{};   // otherwise
  };
  mesh::Definitions definitions;
  std::vector<std::vector<mesh::Box>> blocks;   // of each variable of the file
  std::vector<Route> routes;                    // of each variable of the program
  std::vector<FilePut> first_puts;
  std::vector<int> level_of{};                  // of a variable of the file: the program's variable of which it has a level; -1: none
  int time = -1;                                // the variable that has the time, float64; rank 0 puts it
  std::vector<int> record_numbers{};            // variables of one int64 for each record, its number, which rank 0 puts
};

class Convention {
 public:
  virtual ~Convention() = default;

  // What is wrong with the name of a variable beyond what the format says; nothing if it may be used.
  [[nodiscard]] virtual std::string flaw_of_name(std::string_view name) const = 0;
  // A grid was defined: here a convention whose coordinates are variables of the program defines them.
  virtual void describe(Program& program, int grid) const = 0;
  // What must be known of all ranks. Nothing: definitions end without asking them.
  [[nodiscard]] virtual Contribution contribution(const Program& program) const = 0;
  // `time_unit`: there is a time in each step, and the unit may be empty. Throws all that the file cannot hold.
  [[nodiscard]] virtual FileView view(Program& program, const Totals& totals, const std::optional<std::string>& time_unit) const = 0;
};

// What a file format can hold.
struct FormatLimits {
  bool has_64_bit_integers = true;
  bool has_empty_dimensions = false;
};
// Dimensions, variables and attributes as NetCDF has them, with names of the conventions CF and UGRID: docs/meshes.md.
[[nodiscard]] std::unique_ptr<Convention> make_plain_convention(FormatLimits limits);
[[nodiscard]] std::unique_ptr<Convention> make_vtkhdf_convention();   // in files of the format hdf5
[[nodiscard]] std::unique_ptr<Convention> make_vtk_convention();      // in files of the format vtk

// -- for conventions

inline constexpr std::uint64_t largest_int32 = std::numeric_limits<std::int32_t>::max();

// The type that the points of an unstructured or curvilinear mesh have in the file: float32 if those of all ranks are. Totals::least says
// so, one number for each such mesh in the order of the grids, before all others.
void add_point_types(const Program& program, Contribution& contribution);
[[nodiscard]] mesh::Type point_type(double least);

// Of every unstructured mesh, in the order of the grids: cells, points, points of cells, and 1 if this rank has any.
struct MeshCounts {
  std::uint64_t cells = 0, points = 0, connectivity = 0, parts = 0;
  static constexpr std::size_t numbers = 4;
};
void add_mesh_counts(const Program& program, Contribution& contribution);
// The `index`-th such mesh, of the ranks before this one or of all.
[[nodiscard]] MeshCounts mesh_counts(std::span<const std::uint64_t> counts, std::size_t index);
// Tells the program of all of them.
void number_meshes(Program& program, const Totals& totals);

// For a variable over the points of a grid of boxes; `blocks`: of cells.
[[nodiscard]] std::unique_ptr<PutMap> own_points(int variable, const std::vector<mesh::Box>& blocks, const mesh::Shape& shape,
                                                 std::uint32_t components);

// Sentences of an error that has all of them.
void require_none(const std::vector<std::string>& problems, const std::string& what, const std::string& hint);

}  // namespace glean::session
