// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "convert/block_cells.hpp"
#include "convert/target.hpp"
#include "store/hdf5/placed_image.hpp"
#include "store/hdf5/vtkhdf_image.hpp"

namespace glean::convert {
namespace {

std::vector<store::VtkhdfField> vtkhdf_fields(const Source& source, const Selection& selection) {
  std::vector<store::VtkhdfField> fields;
  for (const int field : selection.fields) fields.push_back({source.variable(field).name, selection.type(source, field)});
  return fields;
}

// Cells are counted in 32 bits.
[[noreturn]] void refuse_size(const Source& source) {
  throw base::Error(base::Errc::unsupported,
                    fmt::format("cannot convert '{}' to VTKHDF: it is more than 2^31 cells of one level wide", source.path()));
}

Target of_uniform_grid(const Source& source, const UniformGrid& grid, const Selection& selection, std::uint64_t record, bool as_image,
                       std::optional<double> time) {
  Target target;
  if (as_image) {
    target.kind = "VTKHDF ImageData";
    target.image = store::make_vtkhdf_image(store::VtkhdfImageData{grid.origin, grid.spacing, grid.cells, vtkhdf_fields(source, selection),
                                                                   time});
  } else {
    target.kind = "VTKHDF OverlappingAMR";
    store::VtkhdfLevel level{grid.spacing, {store::VtkhdfBox{}}};
    for (std::size_t axis = 0; axis < grid.cells.size(); ++axis) {
      if (!std::in_range<std::int32_t>(grid.cells[axis])) refuse_size(source);
      level.boxes[0][2 * axis + 1] = static_cast<std::int32_t>(grid.cells[axis]) - 1;
    }
    target.image = store::make_vtkhdf_image(store::VtkhdfAmr{grid.origin, {level}, vtkhdf_fields(source, selection), time});
  }
  for (std::size_t i = 0; i < selection.fields.size(); ++i) {
    const store::VariableLayout& layout = target.image.layout.variables[i];
    target.copies.push_back({selection.fields[i], record, 0, mesh::elements_of(layout.shape), layout.begin_bytes, layout.external});
  }
  return target;
}

// Elements of blocks, one behind the other; blocks that follow each other in the source at once.
void copy_blocks(Target& target, const Blocks& blocks, const std::vector<std::size_t>& which, int field, std::uint64_t record,
                 const store::VariableLayout& layout) {
  const std::uint64_t cells = blocks.mesh.cells_per_block();
  Bytes offset = layout.begin_bytes;
  for (std::size_t i = 0; i < which.size();) {
    std::size_t end = i + 1;
    while (end < which.size() && which[end] == which[i] + (end - i)) ++end;
    const std::uint64_t count = (end - i) * cells;
    target.copies.push_back({field, record, which[i] * cells, count, offset, layout.external});
    offset += count * mesh::size_of(layout.external);
    i = end;
  }
}

using BlocksByLevel = std::vector<std::vector<std::size_t>>;

// Of each level that has some, from the coarsest on.
BlocksByLevel blocks_by_level(const mesh::BlockMesh& mesh) {
  const std::int32_t highest = *std::max_element(mesh.levels.begin(), mesh.levels.end());
  BlocksByLevel levels(static_cast<std::size_t>(highest));
  for (std::size_t block = 0; block < mesh.blocks(); ++block) levels[static_cast<std::size_t>(mesh.levels[block]) - 1].push_back(block);
  std::erase_if(levels, [](const auto& of_level) { return of_level.empty(); });
  return levels;
}

// Nothing where cells of the level cannot be counted in 32 bits.
std::optional<store::VtkhdfBox> box_of(const Blocks& blocks, std::size_t block) {
  store::VtkhdfBox box{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto cells = static_cast<std::int64_t>(blocks.mesh.cells[axis]);
    std::int64_t first = 0;
    if (__builtin_mul_overflow(blocks.positions.of_block[block][axis], cells, &first)) return std::nullopt;
    if (first < 0 || first > std::numeric_limits<std::int32_t>::max() - cells) return std::nullopt;
    box[2 * axis] = static_cast<std::int32_t>(first);
    box[2 * axis + 1] = static_cast<std::int32_t>(first + cells - 1);
  }
  return box;
}

std::optional<store::VtkhdfLevel> vtkhdf_level(const Blocks& blocks, const std::vector<std::size_t>& of_level) {
  store::VtkhdfLevel level{{1, 1, 1}, {}};
  for (int axis = 0; axis < blocks.mesh.dimensions; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    level.spacing[a] = blocks.positions.width(blocks.mesh.levels[of_level.front()], axis) / static_cast<double>(blocks.mesh.cells[a]);
  }
  for (const std::size_t block : of_level) {
    const auto box = box_of(blocks, block);
    if (!box) return std::nullopt;
    level.boxes.push_back(*box);
  }
  return level;
}

// VTK hides cells that finer ones cover if each finer block covers whole cells of the coarser level along all three axes; and ParaView 5.11
// ends at a block that lies beyond all blocks of the coarser level.
bool can_be_shown_on(const std::vector<store::VtkhdfBox>& coarser, const std::vector<store::VtkhdfBox>& finer, std::int64_t ratio) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto ascending = [axis](const auto& a, const auto& b) { return a[2 * axis] < b[2 * axis]; };
    const auto [first, last] = std::minmax_element(coarser.begin(), coarser.end(), ascending);
    const std::int64_t begin = ratio * (*first)[2 * axis], end = ratio * ((*last)[2 * axis + 1] + std::int64_t{1});
    for (const store::VtkhdfBox& box : finer) {
      const std::int64_t from = box[2 * axis], to = box[2 * axis + 1] + std::int64_t{1};
      if (from % ratio != 0 || to % ratio != 0 || from < begin || to > end) return false;
    }
  }
  return true;
}

// Nothing where VTK's levels cannot have them.
std::optional<std::vector<store::VtkhdfLevel>> vtkhdf_levels(const Blocks& blocks, const BlocksByLevel& by_level) {
  std::vector<store::VtkhdfLevel> levels;
  std::int32_t coarser = 0;
  for (const auto& of_level : by_level) {
    auto level = vtkhdf_level(blocks, of_level);
    if (!level) return std::nullopt;
    const std::int32_t number = blocks.mesh.levels[of_level.front()];
    if (!levels.empty() && !can_be_shown_on(levels.back().boxes, level->boxes, std::int64_t{1} << std::min(number - coarser, 32))) {
      return std::nullopt;
    }
    levels.push_back(*std::move(level));
    coarser = number;
  }
  return levels;
}

Target of_levels(const Source& source, const Blocks& blocks, const Selection& selection, std::uint64_t record, store::VtkhdfAmr amr,
                 const BlocksByLevel& by_level) {
  Target target;
  target.kind = "VTKHDF OverlappingAMR";
  amr.origin = blocks.positions.lower;
  amr.fields = vtkhdf_fields(source, selection);
  target.image = store::make_vtkhdf_image(amr);
  std::size_t variable = 0;
  for (const auto& of_level : by_level) {
    for (const int field : selection.fields)
      copy_blocks(target, blocks, of_level, field, record, target.image.layout.variables[variable++]);
  }
  return target;
}

Target of_cells(const Source& source, const Blocks& blocks, const Selection& selection, std::uint64_t record, std::optional<double> time) {
  const std::vector<std::size_t> shown = blocks_without_covered(blocks);
  BlockCells cells = cells_of_blocks(blocks, shown);
  std::vector<store::VtkhdfField> fields{{"level", mesh::Type::int32}};
  for (store::VtkhdfField& field : vtkhdf_fields(source, selection)) {
    if (field.name == "level") fields[0].name = "refinement level";
    fields.push_back(std::move(field));
  }
  Target target;
  target.kind = "VTKHDF UnstructuredGrid";
  target.image = store::make_vtkhdf_image(store::VtkhdfUnstructured{cells.points, cells.cells, cells.points_per_cell, fields, time});
  const auto& variables = target.image.layout.variables;
  for (std::size_t i = 0; i < cells.arrays.size(); ++i) {
    cells.arrays[i].offset = variables[i].begin_bytes;
    target.computed.push_back(std::move(cells.arrays[i]));
  }
  for (std::size_t i = 0; i < selection.fields.size(); ++i) {
    copy_blocks(target, blocks, shown, selection.fields[i], record, variables[cells.arrays.size() + i]);
  }
  target.notes.emplace_back(
      "cells without structure: VTK shows blocks of several levels only in three dimensions, with even numbers of cells, "
      "and above coarser blocks");
  if (shown.size() < blocks.mesh.blocks()) {
    target.notes.push_back(fmt::format("{} blocks that finer ones cover are left out", blocks.mesh.blocks() - shown.size()));
  }
  return target;
}

Target of_blocks(const Source& source, const Blocks& blocks, const Selection& selection, std::uint64_t record, std::optional<double> time) {
  const BlocksByLevel by_level = blocks_by_level(blocks.mesh);
  auto levels = vtkhdf_levels(blocks, by_level);
  if (!levels) return of_cells(source, blocks, selection, record, time);
  return of_levels(source, blocks, selection, record, store::VtkhdfAmr{{}, *std::move(levels), {}, time}, by_level);
}

}  // namespace

Target make_vtkhdf_target(const Source& source, const Semantics& semantics, const Selection& selection, std::uint64_t record,
                          bool as_image) {
  const auto time = time_of(source, semantics, record);
  Target target;
  if (const auto* blocks = std::get_if<Blocks>(&semantics.meaning)) {
    target = of_blocks(source, *blocks, selection, record, time);
  } else if (const auto* grid = std::get_if<UniformGrid>(&semantics.meaning)) {
    target = of_uniform_grid(source, *grid, selection, record, as_image, time);
  } else {
    const auto& why = std::get<Arrays>(semantics.meaning).why;
    throw base::Error(
        base::Errc::not_found,
        fmt::format("cannot convert '{}' to VTKHDF: it says of no mesh on which its arrays are{}{}", source.path(), why.empty() ? "" : ": ",
                    listed(why)),
        "needed are blocks by FLASH's names (lrefine, bndbox, and parent or gid), or evenly spaced coordinates: a variable x(x) for "
        "each dimension x");
  }
  target.bytes = store::placed_file_bytes(target.image);
  return target;
}

}  // namespace glean::convert
