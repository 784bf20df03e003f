// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.hpp"
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

// Blocks of each level that there is, from the coarsest on.
std::vector<std::vector<std::size_t>> blocks_by_level(const mesh::BlockMesh& mesh) {
  const std::int32_t highest = *std::max_element(mesh.levels.begin(), mesh.levels.end());
  std::vector<std::vector<std::size_t>> levels(static_cast<std::size_t>(highest));
  for (std::size_t block = 0; block < mesh.blocks(); ++block) levels[static_cast<std::size_t>(mesh.levels[block]) - 1].push_back(block);
  std::erase_if(levels, [](const auto& blocks) { return blocks.empty(); });
  return levels;
}

store::VtkhdfBox box_of(const Source& source, const Blocks& blocks, std::size_t block) {
  store::VtkhdfBox box{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto cells = static_cast<std::int64_t>(blocks.mesh.cells[axis]);
    std::int64_t first = 0;
    if (__builtin_mul_overflow(blocks.positions.of_block[block][axis], cells, &first) ||
        first > std::numeric_limits<std::int32_t>::max() - cells) {
      refuse_size(source);
    }
    box[2 * axis] = static_cast<std::int32_t>(first);
    box[2 * axis + 1] = static_cast<std::int32_t>(first + cells - 1);
  }
  return box;
}

Target of_blocks(const Source& source, const Blocks& blocks, const Selection& selection, std::uint64_t record, std::optional<double> time) {
  const auto levels = blocks_by_level(blocks.mesh);
  store::VtkhdfAmr amr{blocks.positions.lower, {}, vtkhdf_fields(source, selection), time};
  for (const auto& of_level : levels) {
    store::VtkhdfLevel& level = amr.levels.emplace_back();
    level.spacing = {1, 1, 1};
    for (int axis = 0; axis < blocks.mesh.dimensions; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      const double width = blocks.positions.width(blocks.mesh.levels[of_level.front()], axis);
      level.spacing[a] = width / static_cast<double>(blocks.mesh.cells[a]);
    }
    for (const std::size_t block : of_level) level.boxes.push_back(box_of(source, blocks, block));
  }
  Target target;
  target.kind = "VTKHDF OverlappingAMR";
  target.image = store::make_vtkhdf_image(amr);
  const std::uint64_t cells = blocks.mesh.cells_per_block();
  std::size_t variable = 0;
  for (const auto& of_level : levels) {
    for (const int field : selection.fields) {
      const store::VariableLayout& layout = target.image.layout.variables[variable++];
      Bytes offset = layout.begin_bytes;
      for (std::size_t i = 0; i < of_level.size();) {   // blocks that follow each other at once
        std::size_t end = i + 1;
        while (end < of_level.size() && of_level[end] == of_level[i] + (end - i)) ++end;
        const std::uint64_t count = (end - i) * cells;
        target.copies.push_back({field, record, of_level[i] * cells, count, offset, layout.external});
        offset += count * mesh::size_of(layout.external);
        i = end;
      }
    }
  }
  return target;
}

}   // namespace

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

}   // namespace glean::convert
