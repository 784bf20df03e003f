// SPDX-License-Identifier: BSD-3-Clause
#include "session/grids/file_builder.hpp"

#include <algorithm>

namespace glean::session {

int FileBuilder::named_dimension(const std::string& name, std::uint64_t length) {
  view_.definitions.dimensions.push_back({name, length, false});
  return static_cast<int>(view_.definitions.dimensions.size()) - 1;
}

int FileBuilder::dimension(std::uint64_t length) {
  const std::string name = "of " + std::to_string(length);
  const auto& known = view_.definitions.dimensions;
  const auto found = std::find_if(known.begin(), known.end(), [&](const auto& each) { return each.name == name && each.length == length; });
  return found != known.end() ? static_cast<int>(found - known.begin()) : named_dimension(name, length);
}

int FileBuilder::variable_over(const std::string& name, mesh::Type external, std::vector<int> dimensions) {
  mesh::VariableDefinition& definition = view_.definitions.variables.emplace_back();
  definition.name = name;
  definition.external = external;
  definition.dimensions = std::move(dimensions);
  view_.blocks.emplace_back();
  return static_cast<int>(view_.definitions.variables.size()) - 1;
}

int FileBuilder::variable(const std::string& name, mesh::Type external, const mesh::Shape& shape) {
  std::vector<int> dimensions;
  for (const std::uint64_t length : shape) dimensions.push_back(dimension(length));
  return variable_over(name, external, std::move(dimensions));
}

int FileBuilder::record_variable(const std::string& name, mesh::Type external, const mesh::Shape& shape) {
  const auto& known = view_.definitions.dimensions;
  const auto found = std::find_if(known.begin(), known.end(), [](const auto& each) { return each.unlimited; });
  const int records = static_cast<int>(found - known.begin());
  if (found == known.end()) view_.definitions.dimensions.push_back({"records", 0, true});
  std::vector<int> dimensions{records};
  for (const std::uint64_t length : shape) dimensions.push_back(dimension(length));
  return variable_over(name, external, std::move(dimensions));
}

void FileBuilder::counting_attribute(const std::string& name) {
  attribute(-1, name, mesh::Type::int64, std::vector<std::int64_t>{0});
  view_.definitions.attributes.back().counts_records = true;
}

void FileBuilder::attribute(int variable, const std::string& name, std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  view_.definitions.attributes.push_back({variable, name, mesh::Type::text, {bytes.begin(), bytes.end()}});
}

void FileBuilder::put_bytes(int variable, mesh::Box box, mesh::Type memory, std::span<const std::byte> values) {
  if (box.empty()) return;
  view_.blocks[static_cast<std::size_t>(variable)].push_back(box);
  view_.first_puts.push_back({variable, std::move(box), memory, {values.begin(), values.end()}});
}

}  // namespace glean::session
