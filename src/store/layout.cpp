// SPDX-License-Identifier: BSD-3-Clause
#include "store/layout.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "base/encoding.hpp"

namespace glean::store {

namespace {

// "GLEANFL" and the version of what follows, all numbers little-endian.
constexpr std::array<char, 7> magic = {'G', 'L', 'E', 'A', 'N', 'F', 'L'};
constexpr std::uint8_t version = 3;

using base::Decoder;
using base::Encoder;

void encode_variable(Encoder& out, const VariableLayout& variable) {
  out.text(variable.name);
  out.byte(static_cast<std::uint8_t>(variable.external));
  out.number(variable.shape.size());
  for (const std::uint64_t extent : variable.shape) out.number(extent);
  out.number(variable.begin_bytes);
  out.number(variable.record_stride_bytes);
  out.byte(variable.fill ? 1 : 0);
  out.raw(variable.fill_value);
  out.byte(static_cast<std::uint8_t>(variable.stored.order));
  out.byte(variable.stored.int8_holds_uint8 ? 1 : 0);
}

// The offset arithmetic of VariableLayout must not overflow, whatever the bytes say.
void check_sizes(const Decoder& in, const VariableLayout& variable) {
  constexpr auto limit = base::largest_offset;
  std::uint64_t bytes = mesh::size_of(variable.external);
  for (const std::uint64_t extent : variable.shape) {
    if (extent != 0 && bytes > limit / extent) in.reject("variable '" + variable.name + "' is larger than any file");
    bytes *= extent;
  }
  if (variable.begin_bytes > limit - bytes) in.reject("variable '" + variable.name + "' lies outside any file");
  if (variable.record_stride_bytes > limit) in.reject("the records of '" + variable.name + "' lie outside any file");
}

VariableLayout decode_variable(Decoder& in) {
  VariableLayout variable;
  variable.name = in.text();
  variable.external = in.choice<mesh::Type>(mesh::type_count, "type");
  variable.shape.resize(in.count(8, "dimensions"));
  for (std::uint64_t& extent : variable.shape) extent = in.number();
  variable.begin_bytes = in.number();
  variable.record_stride_bytes = in.number();
  variable.fill = in.choice<std::uint8_t>(2, "fill mode") == 1;
  const auto fill_value = in.raw(variable.fill_value.size());
  std::copy(fill_value.begin(), fill_value.end(), variable.fill_value.begin());
  variable.stored.order = in.choice<ByteOrder>(2, "byte order");
  variable.stored.int8_holds_uint8 = in.choice<std::uint8_t>(2, "rule for bytes") == 1;
  check_sizes(in, variable);
  return variable;
}

}  // namespace

std::vector<std::byte> FileLayout::encode() const {
  Encoder out;
  for (const char c : magic) out.byte(static_cast<std::uint8_t>(c));
  out.byte(version);
  out.text(format);
  out.byte(static_cast<std::uint8_t>(range));
  out.number(header_bytes);
  out.number(variables.size());
  for (const VariableLayout& variable : variables) encode_variable(out, variable);
  out.number(attributes.size());
  for (const VariableLayout& attribute : attributes) encode_variable(out, attribute);
  return out.take();
}

FileLayout FileLayout::decode(std::span<const std::byte> bytes) {
  Decoder in(bytes, "the description of a file's layout");
  for (const char c : magic) {
    if (in.byte() != static_cast<std::uint8_t>(c)) in.reject("it does not begin like one");
  }
  if (const int found = in.byte(); found != version) in.reject("its version is " + std::to_string(found));
  FileLayout layout;
  layout.format = in.text();
  layout.range = in.choice<base::RangeRule>(2, "range rule");
  layout.header_bytes = in.number();
  if (layout.header_bytes > base::largest_offset) in.reject("the header is larger than any file");
  constexpr std::size_t smallest_variable = 8 + 1 + 8 + 8 + 8 + 1 + 8 + 2;
  layout.variables.resize(in.count(smallest_variable, "variables"));
  for (VariableLayout& variable : layout.variables) variable = decode_variable(in);
  layout.attributes.resize(in.count(smallest_variable, "attributes"));
  for (VariableLayout& attribute : layout.attributes) {
    attribute = decode_variable(in);
    const bool is_in_header = attribute.begin_bytes + attribute.record_bytes() <= layout.header_bytes;
    if (attribute.per_step() || attribute.fill || !is_in_header) in.reject("attribute '" + attribute.name + "' is not in the header");
  }
  in.expect_end();
  return layout;
}

bool VariableLayout::has_room_for(std::uint64_t record) const {
  return !per_step() || record <= (base::largest_offset - begin_bytes - record_bytes()) / record_stride_bytes;
}

Bytes whole_size(const FileLayout& layout, std::uint64_t records) {
  Bytes end = layout.header_bytes;
  for (const VariableLayout& variable : layout.variables) {
    const std::uint64_t count = variable.per_step() ? records : 1;
    if (count == 0 || variable.record_bytes() == 0) continue;
    if (!variable.has_room_for(count - 1)) return base::largest_offset;
    end = std::max(end, variable.record_begin_bytes(count - 1) + variable.record_bytes());
  }
  return end;
}

}  // namespace glean::store
