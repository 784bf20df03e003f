// SPDX-License-Identifier: BSD-3-Clause
//
// Finds the blocks of a file by FLASH's names. Two dialects: that of glean::AmrGrid, which has `parent` and as many bounds as dimensions,
// and that of FLASH's own PnetCDF files, which have `gid` and three of everything.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "convert/semantics.hpp"

namespace glean::convert {
namespace {

constexpr std::uint64_t blocks_most = 1 << 24;   // what is known of each is held in memory

class BlockReader {
 public:
  explicit BlockReader(const Source& source) : source_(source), definitions_(source.definitions()) {}

  std::optional<Semantics> read(std::vector<std::string>& missing) {
    find_variables(missing);
    if (!missing.empty()) return std::nullopt;
    find_fields(missing);
    if (!missing.empty()) return std::nullopt;
    check_size();
    read_mesh();
    std::vector<std::string> defects = mesh::locate(blocks_.mesh, blocks_.positions);
    if (defects.empty()) blocks_.relations = mesh::relations_of(blocks_.mesh, blocks_.positions);
    read_tables(defects);
    if (!defects.empty()) {
      throw base::Error(base::Errc::io, fmt::format("cannot convert '{}': its mesh is inconsistent: {}", source_.path(), listed(defects)),
                        "--semantics none converts the arrays as they are");
    }
    semantics_.meaning = std::move(blocks_);
    return std::move(semantics_);
  }

 private:
  // Of a record.
  [[nodiscard]] mesh::Shape shape(int variable) const { return definitions_.shape(variable); }

  std::optional<int> find(const char* name) {
    const auto found = source_.find(name);
    if (found) semantics_.mesh.push_back(*found);
    return found;
  }

  void find_variables(std::vector<std::string>& missing) {
    const auto need = [&](std::optional<int> variable, const std::string& what, auto fits) {
      if (!variable) missing.push_back("there is no " + what);
      else if (source_.variable(*variable).external == mesh::Type::text || !fits(shape(*variable))) {
        missing.push_back(fmt::format("'{}' is no {}", source_.variable(*variable).name, what));
      } else if (definitions_.per_step(*variable) && source_.records() != 1) {
        missing.push_back(fmt::format("'{}' is another in each record", source_.variable(*variable).name));
      }
    };
    lrefine_ = find("lrefine");
    need(lrefine_, "variable lrefine(blocks)", [](const mesh::Shape& found) { return found.size() == 1; });
    block_count_ = lrefine_ && shape(*lrefine_).size() == 1 ? shape(*lrefine_)[0] : 0;
    const auto per_block = [this](const mesh::Shape& found) { return found.size() == 1 && found[0] == block_count_; };
    const auto of_width = [this](const mesh::Shape& found) { return found.size() == 2 && found[0] == block_count_; };
    bndbox_ = find("bndbox");
    need(bndbox_, "variable bndbox(blocks, dimensions, 2)", [this](const mesh::Shape& found) {
      return found.size() == 3 && found[0] == block_count_ && found[1] >= 1 && found[1] <= 3 && found[2] == 2;
    });
    parent_ = find("parent");
    gid_ = find("gid");
    if (!parent_ && !gid_) missing.emplace_back("there is neither a variable parent(blocks) nor a variable gid(blocks, relations)");
    if (parent_) need(parent_, "variable parent(blocks)", per_block);
    if (gid_) {
      need(gid_, "variable gid(blocks, 5, 9 or 15 relations)",
           [&](const mesh::Shape& found) { return of_width(found) && (found[1] == 5 || found[1] == 9 || found[1] == 15); });
    }
    for (const auto& [name, table] :
         {std::pair{"nodetype", &node_type_}, {"which_child", &which_child_}, {"processor_number", &processor_}}) {
      *table = find(name);
      if (*table) need(*table, fmt::format("variable {}(blocks)", name), per_block);
    }
    for (const char* name : {"coordinates", "blocksize", "bflags", "gsurr_blks"}) static_cast<void>(find(name));   // follow from the rest
    blocks_.scalars = find("scalars");
    blocks_.runtime_parameters = find("runtime_parameters");
    if (missing.empty()) choose_dimensions(missing);
  }

  void choose_dimensions(std::vector<std::string>& missing) {
    int dimensions = static_cast<int>(shape(*bndbox_)[1]);
    if (gid_) {
      const std::uint64_t relations = shape(*gid_)[1];
      dimensions = relations == 5 ? 1 : relations == 9 ? 2 : 3;
    } else if (blocks_.scalars) {
      const mesh::Attribute* said = source_.attribute(*blocks_.scalars, "dimensionality");
      if (said != nullptr) dimensions = integer_of(*said).value_or(dimensions);
    }
    if (dimensions < 1 || dimensions > 3 || static_cast<std::uint64_t>(dimensions) > shape(*bndbox_)[1]) {
      missing.push_back(fmt::format("'bndbox' has {} dimensions, and the mesh has {}", shape(*bndbox_)[1], dimensions));
    }
    blocks_.mesh.dimensions = dimensions;
  }

  // Along x, y, z; nothing where it is no array on blocks.
  [[nodiscard]] std::optional<std::array<std::uint64_t, 3>> cells_of(int variable) const {
    const mesh::Shape found = shape(variable);
    const auto dimensions = static_cast<std::size_t>(blocks_.mesh.dimensions);
    if (source_.variable(variable).external == mesh::Type::text || found.empty() || found[0] != block_count_) return std::nullopt;
    if (found.size() != dimensions + 1 && found.size() != 4) return std::nullopt;
    std::array<std::uint64_t, 3> cells{1, 1, 1};
    for (std::size_t d = 1; d < found.size(); ++d) {
      if (!std::in_range<std::int32_t>(found[d])) return std::nullopt;
      cells[found.size() - 1 - d] = found[d];
    }
    for (std::size_t axis = dimensions; axis < 3; ++axis) {
      if (cells[axis] != 1) return std::nullopt;
    }
    return cells;
  }

  // Of the cells that most variables have: values on faces have one more.
  void find_fields(std::vector<std::string>& missing) {
    std::map<std::array<std::uint64_t, 3>, int> uses;
    std::array<std::uint64_t, 3> most{};
    const auto is_mesh = [this](int v) { return std::find(semantics_.mesh.begin(), semantics_.mesh.end(), v) != semantics_.mesh.end(); };
    const int variables = static_cast<int>(definitions_.variables.size());
    for (int v = 0; v < variables; ++v) {
      if (!is_mesh(v)) {
        if (const auto cells = cells_of(v)) ++uses[*cells];
      }
    }
    for (int v = 0, uses_of_most = 0; v < variables; ++v) {
      const auto cells = is_mesh(v) ? std::nullopt : cells_of(v);
      if (!cells || uses[*cells] <= uses_of_most) continue;
      most = *cells;
      uses_of_most = uses[*cells];
    }
    for (int v = 0; v < variables; ++v) {
      if (is_mesh(v)) continue;
      (cells_of(v) == most ? semantics_.fields : semantics_.others).push_back(v);
    }
    if (semantics_.fields.empty()) missing.emplace_back("there is no variable (blocks, cells…)");
    blocks_.mesh.cells = most;
  }

  void check_size() const {
    if (block_count_ <= blocks_most) return;
    throw base::Error(base::Errc::unsupported, fmt::format("cannot convert '{}': it has {} blocks, and at most {} can be", source_.path(),
                                                           block_count_, blocks_most));
  }

  [[nodiscard]] std::vector<std::int32_t> table(int variable) const {
    return source_.integers(variable, 0, 0, mesh::elements_of(shape(variable)));
  }

  [[nodiscard]] std::size_t relations() const {
    return static_cast<std::size_t>(2 * blocks_.mesh.dimensions + 1 + blocks_.mesh.children_per_block());
  }

  void read_mesh() {
    mesh::BlockMesh& mesh = blocks_.mesh;
    mesh.levels = table(*lrefine_);
    if (gid_) blocks_.gid = table(*gid_);
    if (parent_) {
      mesh.parents = table(*parent_);
    } else {
      for (std::size_t block = 0; block < mesh.blocks(); ++block) {
        const std::int32_t parent = blocks_.gid[block * relations() + static_cast<std::size_t>(2 * mesh.dimensions)];
        mesh.parents.push_back(parent > 0 ? parent - 1 : -1);   // from 1 on
      }
    }
    const std::size_t width = shape(*bndbox_)[1];
    const std::vector<double> bounds = source_.reals(*bndbox_, 0, 0, mesh::elements_of(shape(*bndbox_)));
    for (std::size_t block = 0; block < mesh.blocks(); ++block) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const bool is_there = axis < static_cast<std::size_t>(mesh.dimensions);
        for (std::size_t end = 0; end < 2; ++end) {
          mesh.bounds.push_back(is_there ? bounds[(block * width + axis) * 2 + end] : static_cast<double>(end));
        }
      }
    }
  }

  void read_tables(std::vector<std::string>& defects) {
    if (node_type_) blocks_.node_types = table(*node_type_);
    if (which_child_) blocks_.which_child = table(*which_child_);
    if (processor_) blocks_.processors = table(*processor_);
    if (gid_) check_gid(defects);
  }

  // What it says of parents and children; neighbours may be numbers of boundary conditions too.
  void check_gid(std::vector<std::string>& defects) const {
    const mesh::BlockMesh& mesh = blocks_.mesh;
    const auto sides = static_cast<std::size_t>(2 * mesh.dimensions);
    for (std::size_t block = 0; block < mesh.blocks(); ++block) {
      const std::int32_t* row = blocks_.gid.data() + block * relations();
      for (std::size_t i = 0; i < relations(); ++i) {
        if (row[i] > static_cast<std::int64_t>(mesh.blocks()))
          defects.push_back(fmt::format("block {}: its gid speaks of {}", block, row[i]));
      }
      if (const std::int32_t parent = row[sides] > 0 ? row[sides] - 1 : -1; parent != mesh.parents[block]) {
        defects.push_back(fmt::format("block {}: its parent is {} by 'gid' and {} by 'parent'", block, parent, mesh.parents[block]));
      }
      for (std::size_t i = sides + 1; i < relations(); ++i) {
        if (row[i] < 1 || row[i] > static_cast<std::int64_t>(mesh.blocks())) continue;
        const auto child = static_cast<std::size_t>(row[i] - 1);
        if (mesh.parents[child] == static_cast<std::int32_t>(block)) continue;
        defects.push_back(fmt::format("block {}: its child {} has the parent {}", block, child, mesh.parents[child]));
      }
    }
  }

  const Source& source_;
  const mesh::Definitions& definitions_;
  Semantics semantics_;
  Blocks blocks_;
  std::uint64_t block_count_ = 0;
  std::optional<int> lrefine_, bndbox_, parent_, gid_, node_type_, which_child_, processor_;
};

}  // namespace

std::optional<Semantics> read_blocks(const Source& source, std::vector<std::string>& missing) { return BlockReader(source).read(missing); }

}  // namespace glean::convert
