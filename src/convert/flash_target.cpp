// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "convert/flash_parameters.hpp"
#include "convert/target.hpp"
#include "store/hdf5/flash_image.hpp"
#include "store/hdf5/placed_image.hpp"

namespace glean::convert {
namespace {

std::vector<store::FlashField> fields_of(const Source& source, const Selection& selection, std::vector<std::string>& notes) {
  std::vector<std::string> names;
  for (const int field : selection.fields) names.push_back(source.variable(field).name);
  const std::vector<std::string> short_names = flash_names(names);
  std::vector<store::FlashField> fields;
  for (std::size_t i = 0; i < names.size(); ++i) {
    store::FlashField& field = fields.emplace_back(store::FlashField{short_names[i], selection.type(source, selection.fields[i]), {}});
    for (const mesh::Attribute& attribute : source.definitions().attributes) {
      if (attribute.variable == selection.fields[i]) field.attributes.push_back(attribute);
    }
    if (names[i].size() <= store::flash_name_bytes) continue;
    notes.push_back(fmt::format("'{}' is '{}'", names[i], short_names[i]));
    if (source.attribute(selection.fields[i], "long_name") != nullptr) continue;
    const auto bytes = std::as_bytes(std::span(names[i]));
    field.attributes.push_back({-1, "long_name", mesh::Type::text, {bytes.begin(), bytes.end()}});
  }
  return fields;
}

}  // namespace

Target make_flash_target(const Source& source, const Semantics& semantics, const Selection& selection, std::uint64_t record) {
  const auto& blocks = std::get<Blocks>(semantics.meaning);
  Target target;
  FlashParameters parameters = flash_parameters(source, blocks, time_of(source, semantics, record).value_or(0));
  const auto or_else = [](const std::vector<std::int32_t>& given, const auto& made) { return given.empty() ? made : given; };
  store::FlashFile file;
  file.mesh = blocks.mesh;
  file.node_types = or_else(blocks.node_types, blocks.relations.node_types);
  file.which_child = or_else(blocks.which_child, blocks.relations.which_child);
  file.processors = or_else(blocks.processors, std::vector<std::int32_t>(blocks.mesh.blocks(), 0));
  file.gid = blocks.gid.empty() ? store::flash_gid(blocks.mesh, blocks.relations) : blocks.gid;
  file.simulation = std::move(parameters.simulation);
  file.scalars = std::move(parameters.scalars);
  file.runtime_parameters = std::move(parameters.runtime_parameters);
  file.fields = fields_of(source, selection, target.notes);
  for (const std::string& name : parameters.left_out) {
    target.notes.push_back(fmt::format("the attribute '{}' is left out: it is not one number", name));
  }

  target.kind = "FLASH HDF5";
  target.image = store::make_flash_image(file);
  target.bytes = store::placed_file_bytes(target.image);
  for (std::size_t i = 0; i < selection.fields.size(); ++i) {
    const store::VariableLayout& layout = target.image.layout.variables[i];
    target.copies.push_back({selection.fields[i], record, 0, mesh::elements_of(layout.shape), layout.begin_bytes, layout.external});
  }
  return target;
}

}  // namespace glean::convert
