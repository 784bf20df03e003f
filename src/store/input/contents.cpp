// SPDX-License-Identifier: BSD-3-Clause
#include "store/input/contents.hpp"

#include "base/encoding.hpp"

namespace glean::store {

std::vector<std::byte> FileContents::encode() const {
  base::Encoder out;
  out.number(records);
  out.number(variables.size());
  for (const Variable& variable : variables) {
    out.text(variable.name);
    out.byte(static_cast<std::uint8_t>(variable.external));
    out.byte(variable.per_step ? 1 : 0);
    out.number(variable.shape.size());
    for (const std::uint64_t extent : variable.shape) out.number(extent);
    for (const std::uint64_t number : {variable.records, variable.begin_bytes, variable.record_stride_bytes}) out.number(number);
    out.byte(static_cast<std::uint8_t>(variable.stored.order));
    out.byte(variable.stored.int8_holds_uint8 ? 1 : 0);
    out.number(variable.dimensions.size());
    for (const std::string& name : variable.dimensions) out.text(name);
    out.text(variable.why_not);
  }
  out.number(attributes.size());
  for (const mesh::Attribute& attribute : attributes) {
    out.number(static_cast<std::uint64_t>(attribute.variable + 1));
    out.text(attribute.name);
    out.byte(static_cast<std::uint8_t>(attribute.type));
    out.bytes(attribute.values);
  }
  return out.take();
}

FileContents FileContents::decode(std::span<const std::byte> bytes) {
  base::Decoder in(bytes, "contents of a file");
  FileContents contents;
  contents.records = in.number();
  contents.variables.resize(in.count(1, "variables"));
  for (Variable& variable : contents.variables) {
    variable.name = in.text();
    variable.external = in.choice<mesh::Type>(mesh::type_count, "type");
    variable.per_step = in.choice<std::uint8_t>(2, "way of steps") == 1;
    variable.shape.resize(in.count(8, "dimensions"));
    for (std::uint64_t& extent : variable.shape) extent = in.number();
    variable.records = in.number();
    variable.begin_bytes = in.number();
    variable.record_stride_bytes = in.number();
    variable.stored.order = in.choice<ByteOrder>(2, "byte order");
    variable.stored.int8_holds_uint8 = in.choice<std::uint8_t>(2, "rule for bytes") == 1;
    variable.dimensions.resize(in.count(1, "names"));
    for (std::string& name : variable.dimensions) name = in.text();
    variable.why_not = in.text();
  }
  contents.attributes.resize(in.count(1, "attributes"));
  for (mesh::Attribute& attribute : contents.attributes) {
    attribute.variable = static_cast<int>(in.number()) - 1;
    attribute.name = in.text();
    attribute.type = in.choice<mesh::Type>(mesh::type_count, "type");
    const auto values = in.bytes();
    attribute.values.assign(values.begin(), values.end());
  }
  in.expect_end();
  return contents;
}

FileContents contents_of(const CdfHeader& header) {
  FileContents contents;
  contents.records = header.records;
  contents.attributes = header.definitions.attributes;
  for (std::size_t v = 0; v < header.layout.variables.size(); ++v) {
    const VariableLayout& layout = header.layout.variables[v];
    FileContents::Variable variable{layout.name, layout.external, layout.per_step(), layout.shape, header.records, layout.begin_bytes,
                                    layout.record_stride_bytes, layout.stored, {}, {}};
    for (const int dimension : header.definitions.variables[v].dimensions) {
      variable.dimensions.push_back(header.definitions.dimensions[static_cast<std::size_t>(dimension)].name);
    }
    contents.variables.push_back(std::move(variable));
  }
  return contents;
}

}  // namespace glean::store
