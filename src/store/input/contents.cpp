// SPDX-License-Identifier: BSD-3-Clause
#include "store/input/contents.hpp"

#include <utility>

#include "base/encoding.hpp"

namespace glean::store {
namespace {

void encode_names(base::Encoder& out, const std::vector<std::string>& names) {
  out.number(names.size());
  for (const std::string& name : names) out.text(name);
}

std::vector<std::string> decode_names(base::Decoder& in) {
  std::vector<std::string> names(in.count(8, "names"));
  for (std::string& name : names) name = in.text();
  return names;
}

void encode_contents_variable(base::Encoder& out, const FileContents::Variable& variable) {
  out.text(variable.name);
  out.byte(static_cast<std::uint8_t>(variable.external));
  out.byte(variable.per_step ? 1 : 0);
  out.number(variable.shape.size());
  for (const std::uint64_t extent : variable.shape) out.number(extent);
  for (const std::uint64_t number : {variable.records, variable.begin_bytes, variable.record_stride_bytes}) out.number(number);
  out.byte(static_cast<std::uint8_t>(variable.stored.order));
  out.byte(variable.stored.int8_holds_uint8 ? 1 : 0);
  encode_names(out, variable.dimensions);
  encode_names(out, variable.by_library);
}

FileContents::Variable decode_contents_variable(base::Decoder& in) {
  FileContents::Variable variable;
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
  variable.dimensions = decode_names(in);
  variable.by_library = decode_names(in);
  return variable;
}

// -1 is the file.
int decode_owner(base::Decoder& in, std::size_t variables) {
  const std::uint64_t owner = in.number();
  if (owner > variables) in.reject("an attribute is of no variable");
  return static_cast<int>(owner) - 1;
}

}  // namespace

std::vector<std::byte> FileContents::encode() const {
  base::Encoder out;
  out.number(records);
  out.byte(counts_records_last ? 1 : 0);
  out.number(variables.size());
  for (const Variable& variable : variables) encode_contents_variable(out, variable);
  out.number(attributes.size());
  for (const mesh::Attribute& attribute : attributes) {
    out.number(static_cast<std::uint64_t>(attribute.variable + 1));
    out.text(attribute.name);
    out.byte(static_cast<std::uint8_t>(attribute.type));
    out.bytes(attribute.values);
  }
  out.number(unreadable.size());
  for (const Unreadable& one : unreadable) {
    out.number(static_cast<std::uint64_t>(one.variable + 1));
    out.byte(one.is_attribute ? 1 : 0);
    for (const std::string& text : {one.name, one.why, one.hint}) out.text(text);
  }
  return out.take();
}

FileContents FileContents::decode(std::span<const std::byte> bytes) {
  base::Decoder in(bytes, "the contents of a file");
  FileContents contents;
  contents.records = in.number();
  contents.counts_records_last = in.choice<std::uint8_t>(2, "way to count records") == 1;
  const std::size_t variables = in.count(1, "variables");
  for (std::size_t v = 0; v < variables; ++v) contents.variables.push_back(decode_contents_variable(in));
  const std::size_t attributes = in.count(1, "attributes");
  for (std::size_t a = 0; a < attributes; ++a) {
    mesh::Attribute& attribute = contents.attributes.emplace_back();
    attribute.variable = decode_owner(in, variables);
    attribute.name = in.text();
    attribute.type = in.choice<mesh::Type>(mesh::type_count, "type");
    const auto values = in.bytes();
    attribute.values.assign(values.begin(), values.end());
  }
  const std::size_t unreadable = in.count(1, "objects");
  for (std::size_t u = 0; u < unreadable; ++u) {
    Unreadable& one = contents.unreadable.emplace_back();
    one.variable = decode_owner(in, variables);
    one.is_attribute = in.choice<std::uint8_t>(2, "kind of object") == 1;
    for (std::string* text : {&one.name, &one.why, &one.hint}) *text = in.text();
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
