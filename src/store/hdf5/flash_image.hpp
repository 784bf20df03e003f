// SPDX-License-Identifier: BSD-3-Clause
//
// The layout of FLASH's HDF5 files, version 9 (docs/formats/flash.md): checkpoints with elements in double precision, plot files in single.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "mesh/block_mesh.hpp"
#include "mesh/definitions.hpp"
#include "store/format/file_image.hpp"

namespace glean::store {

inline constexpr char flash_format[] = "flash-hdf5";
inline constexpr std::size_t flash_name_bytes = 4;   // of a field

struct FlashParameter {
  std::string name;
  std::variant<std::int32_t, double, std::string, bool> value;
  friend bool operator==(const FlashParameter&, const FlashParameter&) = default;
};

struct FlashField {
  std::string name;   // of flash_name_bytes bytes
  mesh::Type external = mesh::Type::float64;
  std::vector<mesh::Attribute> attributes;   // of its dataset, whatever `variable` says
};

// Of which build and run it is. Longer texts are cut.
struct FlashSimulation {
  std::string setup_call, file_creation_time, flash_version, build_date, build_dir, build_machine, cflags, fflags, setup_time_stamp,
      build_time_stamp;
};

struct FlashFile {
  mesh::BlockMesh mesh;                                            // with which nothing is wrong
  std::vector<std::int32_t> node_types, which_child, processors;   // of each block
  std::vector<std::int32_t> gid;   // [block][2 * dimensions + 1 + 2^dimensions]: neighbours, parent, children, from 1 on
  FlashSimulation simulation;
  std::vector<FlashParameter> scalars, runtime_parameters;
  std::vector<FlashField> fields;   // [block][nzb][nyb][nxb] each
};

// The `gid` of a mesh.
[[nodiscard]] std::vector<std::int32_t> flash_gid(const mesh::BlockMesh& mesh, const mesh::BlockRelations& relations);

// Variables of the layout are the fields, in their order. Holds tables of the blocks in memory, about 300 bytes for each. Local; of one
// thread at a time.
[[nodiscard]] FileImage make_flash_image(const FlashFile& file);

}  // namespace glean::store
