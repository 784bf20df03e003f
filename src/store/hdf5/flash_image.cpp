// SPDX-License-Identifier: BSD-3-Clause
#include "store/hdf5/flash_image.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "store/hdf5/placed_image.hpp"

namespace glean::store {
namespace {

constexpr std::size_t text_bytes = 80, long_text_bytes = 400;   // MAX_STRING_LENGTH, and that of commands
constexpr std::int32_t file_format_version = 9;
constexpr char making_flash[] = "cannot make the metadata of a FLASH file";

// In Fortran's manner. Not in the middle of a character.
std::string blank_padded(std::string text, std::size_t bytes) {
  std::size_t end = std::min(text.size(), bytes);
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  text.resize(end);
  text.resize(bytes, ' ');
  return text;
}

bool is_ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// As C's, with room for `bytes`.
Handle flash_text(std::size_t bytes, bool ascii) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose, making_flash);
  check(H5Tset_size(type.id(), bytes), making_flash);
  if (!ascii) check(H5Tset_cset(type.id(), H5T_CSET_UTF8), making_flash);
  return type;
}

// Records of named values, as a table. The order of the members is that of their names in `first_name`.
template <class T>
void write_list(const PlacedFile& file, const std::string& name, const std::vector<FlashParameter>& parameters) {
  constexpr bool is_text = std::is_same_v<T, std::string>;
  using Number = std::conditional_t<std::is_same_v<T, double>, double, std::int32_t>;
  const std::size_t value_bytes = is_text ? text_bytes : sizeof(Number);
  const std::size_t name_at = is_text ? value_bytes : 0,
                    value_at = is_text ? 0 : text_bytes;   // C's structure of texts begins with the value
  std::string records;
  bool names_are_ascii = true, values_are_ascii = true;
  hsize_t count = 0;
  for (const FlashParameter& parameter : parameters) {
    const T* value = std::get_if<T>(&parameter.value);
    if (value == nullptr) continue;
    std::string bytes;
    if constexpr (is_text) {
      bytes = blank_padded(*value, text_bytes);
      values_are_ascii = values_are_ascii && is_ascii(bytes);
    } else {
      const auto number = static_cast<Number>(*value);
      bytes.assign(reinterpret_cast<const char*>(&number), sizeof number);
    }
    const std::string named = blank_padded(parameter.name, text_bytes);
    names_are_ascii = names_are_ascii && is_ascii(named);
    records += is_text ? bytes + named : named + bytes;
    ++count;
  }
  const Handle of_name = flash_text(text_bytes, names_are_ascii), of_text = flash_text(text_bytes, values_are_ascii);
  const Handle type(H5Tcreate(H5T_COMPOUND, text_bytes + value_bytes), H5Tclose, making_flash);
  const hid_t of_value = is_text ? of_text.id() : std::is_same_v<T, double> ? H5T_IEEE_F64LE : H5T_STD_I32LE;
  const auto insert_name = [&] { check(H5Tinsert(type.id(), "name", name_at, of_name.id()), making_flash); };
  if (!is_text) insert_name();
  check(H5Tinsert(type.id(), "value", value_at, of_value), making_flash);
  if (is_text) insert_name();
  file.table(name, type.id(), {count}, type.id(), records.data());
}

void write_lists(const PlacedFile& file, const std::string& of, const std::vector<FlashParameter>& parameters) {
  write_list<std::int32_t>(file, "integer " + of, parameters);
  write_list<double>(file, "real " + of, parameters);
  write_list<std::string>(file, "string " + of, parameters);
  write_list<bool>(file, "logical " + of, parameters);
}

void write_simulation(const PlacedFile& file, const FlashSimulation& simulation) {
  const struct {
    const char* name;
    const std::string& value;
    std::size_t bytes;
  } members[] = {{"setup call", simulation.setup_call, long_text_bytes},
                 {"file creation time", simulation.file_creation_time, text_bytes},
                 {"flash version", simulation.flash_version, text_bytes},
                 {"build date", simulation.build_date, text_bytes},
                 {"build dir", simulation.build_dir, text_bytes},
                 {"build machine", simulation.build_machine, text_bytes},
                 {"cflags", simulation.cflags, long_text_bytes},
                 {"fflags", simulation.fflags, long_text_bytes},
                 {"setup time stamp", simulation.setup_time_stamp, text_bytes},
                 {"build time stamp", simulation.build_time_stamp, text_bytes}};
  std::string record(reinterpret_cast<const char*>(&file_format_version), sizeof file_format_version);
  for (const auto& member : members) record += blank_padded(member.value, member.bytes);
  const Handle type(H5Tcreate(H5T_COMPOUND, record.size()), H5Tclose, making_flash);
  check(H5Tinsert(type.id(), "file format version", 0, H5T_STD_I32LE), making_flash);
  std::size_t at = sizeof file_format_version;
  for (const auto& member : members) {
    const Handle text = flash_text(member.bytes, is_ascii(member.value));
    check(H5Tinsert(type.id(), member.name, at, text.id()), making_flash);
    at += member.bytes;
  }
  file.table("sim info", type.id(), {1}, type.id(), record.data());
}

void write_numbers(const PlacedFile& file, const char* name, std::vector<hsize_t> shape, const std::vector<std::int32_t>& values) {
  file.table(name, H5T_STD_I32LE, shape, H5T_STD_I32LE, values.data());
}

void write_mesh(const PlacedFile& file, const FlashFile& flash) {
  const mesh::BlockMesh& mesh = flash.mesh;
  const hsize_t blocks = mesh.blocks();
  write_numbers(file, "refine level", {blocks}, mesh.levels);
  write_numbers(file, "node type", {blocks}, flash.node_types);
  write_numbers(file, "which child", {blocks}, flash.which_child);
  write_numbers(file, "processor number", {blocks}, flash.processors);
  write_numbers(file, "bflags", {blocks, 1}, std::vector<std::int32_t>(blocks, -1));   // nothing is known of them: PARAMESH's own default
  write_numbers(file, "gid", {blocks, flash.gid.size() / blocks}, flash.gid);
  std::vector<double> coordinates(3 * blocks), sizes(3 * blocks);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    coordinates[i] = 0.5 * (mesh.bounds[2 * i] + mesh.bounds[2 * i + 1]);
    sizes[i] = mesh.bounds[2 * i + 1] - mesh.bounds[2 * i];
  }
  file.table("coordinates", H5T_IEEE_F64LE, {blocks, 3}, H5T_NATIVE_DOUBLE, coordinates.data());
  file.table("block size", H5T_IEEE_F64LE, {blocks, 3}, H5T_NATIVE_DOUBLE, sizes.data());
  file.table("bounding box", H5T_IEEE_F64LE, {blocks, 3, 2}, H5T_NATIVE_DOUBLE, mesh.bounds.data());
}

}  // namespace

std::vector<std::int32_t> flash_gid(const mesh::BlockMesh& mesh, const mesh::BlockRelations& relations) {
  const auto sides = static_cast<std::size_t>(2 * mesh.dimensions), children = static_cast<std::size_t>(mesh.children_per_block());
  const auto from_one = [](std::int32_t block) { return block < 0 ? -1 : block + 1; };
  std::vector<std::int32_t> gid;
  gid.reserve(mesh.blocks() * (sides + 1 + children));
  for (std::size_t block = 0; block < mesh.blocks(); ++block) {
    for (std::size_t side = 0; side < sides; ++side) gid.push_back(from_one(relations.neighbours[block * sides + side]));
    gid.push_back(from_one(mesh.parents[block]));
    for (std::size_t child = 0; child < children; ++child) gid.push_back(from_one(relations.children[block * children + child]));
  }
  return gid;
}

FileImage make_flash_image(const FlashFile& flash) {
  FileLayout layout;
  layout.format = flash_format;
  std::string names;
  for (const FlashField& field : flash.fields) {
    names += blank_padded(field.name, flash_name_bytes);
    VariableLayout& variable = layout.variables.emplace_back();
    variable.name = field.name;
    variable.external = field.external;
    variable.shape = {flash.mesh.blocks(), flash.mesh.cells[2], flash.mesh.cells[1], flash.mesh.cells[0]};
  }
  return make_placed_image(std::move(layout), [&](const PlacedFile& file) {
    write_simulation(file, flash.simulation);
    write_lists(file, "scalars", flash.scalars);
    write_lists(file, "runtime parameters", flash.runtime_parameters);
    const Handle of_name = flash_text(flash_name_bytes, is_ascii(names));
    file.table("unknown names", of_name.id(), {flash.fields.size(), 1}, of_name.id(), names.data());
    write_mesh(file, flash);
    for (std::size_t i = 0; i < flash.fields.size(); ++i) {
      file.data(flash.fields[i].name, i);
      for (const mesh::Attribute& attribute : flash.fields[i].attributes) file.attribute(flash.fields[i].name, attribute);
    }
  });
}

}  // namespace glean::store
