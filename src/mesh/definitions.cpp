// SPDX-License-Identifier: BSD-3-Clause
#include "mesh/definitions.hpp"

#include <xxhash.h>

#include "base/encoding.hpp"

namespace glean::mesh {

namespace {

constexpr std::uint8_t definitions_version = 3;

using base::Decoder;
using base::Encoder;

void encode_ids(Encoder& out, const std::vector<int>& ids) {
  out.number(ids.size());
  for (const int id : ids) out.number(static_cast<std::uint64_t>(id));
}

void encode_reals(Encoder& out, const std::vector<double>& values) {
  out.number(values.size());
  for (const double value : values) out.real(value);
}

// -1 where `may_be_none` and the bytes say so.
int decode_id(Decoder& in, std::size_t count, bool may_be_none, const char* of) {
  const std::uint64_t value = in.number();
  if (may_be_none && value == ~std::uint64_t{0}) return -1;
  if (value >= count) in.reject(std::string("it speaks of a ") + of + " that is not defined");
  return static_cast<int>(value);
}

std::vector<int> decode_ids(Decoder& in, std::size_t count, const char* of) {
  std::vector<int> ids(in.count(8, of));
  for (int& id : ids) id = decode_id(in, count, false, of);
  return ids;
}

std::vector<double> decode_reals(Decoder& in) {
  std::vector<double> values(in.count(8, "numbers"));
  for (double& value : values) value = in.real();
  return values;
}

void decode_variables(Decoder& in, Definitions& definitions) {
  definitions.variables.resize(in.count(8 + 1 + 8 + 1 + 8 + 1 + 8, "variables"));
  for (VariableDefinition& variable : definitions.variables) {
    variable.name = in.text();
    variable.external = in.choice<Type>(type_count, "type");
    variable.dimensions = decode_ids(in, definitions.dimensions.size(), "dimension");
    variable.fill = in.choice<std::uint8_t>(2, "fill mode") == 1;
    variable.grid = decode_id(in, definitions.grids.size(), true, "grid");
    variable.centring = in.choice<Centring>(2, "centring");
    const std::uint64_t components = in.number();
    if (components == 0 || components > most_components) in.reject("a variable has a number of components that cannot be");
    variable.components = static_cast<std::uint32_t>(components);
    for (std::size_t d = 1; d < variable.dimensions.size(); ++d) {
      const auto& dimension = definitions.dimensions[static_cast<std::size_t>(variable.dimensions[d])];
      if (dimension.unlimited) in.reject("an unlimited dimension is not in front");
    }
  }
}

// What its grids say of variables is checked when these are known.
void decode_grids(Decoder& in, Definitions& definitions) {
  definitions.grids.resize(in.count(1 + 4 * 8, "grids"));
  for (GridDefinition& grid : definitions.grids) {
    grid.kind = in.choice<GridKind>(5, "kind of grid");
    grid.dimensions = decode_ids(in, definitions.dimensions.size(), "dimension");
    grid.coordinates = decode_ids(in, std::size_t{1} << 31, "variable");
    grid.origin = decode_reals(in);
    grid.spacing = decode_reals(in);
  }
}

void decode_attributes(Decoder& in, Definitions& definitions) {
  definitions.attributes.resize(in.count(8 + 8 + 1 + 8 + 2, "attributes"));
  for (Attribute& attribute : definitions.attributes) {
    attribute.variable = decode_id(in, definitions.variables.size(), true, "variable");
    attribute.name = in.text();
    attribute.type = in.choice<Type>(type_count, "type");
    const auto values = in.bytes();
    attribute.values.assign(values.begin(), values.end());
    attribute.counts_records = in.choice<std::uint8_t>(2, "kind of attribute") == 1;
    const bool may_count = attribute.variable < 0 && attribute.type == Type::int64 && attribute.count() == 1;
    if (attribute.counts_records && !may_count) in.reject("an attribute counts records and is no number of the output");
    if (attribute.values.size() % size_of(attribute.type) != 0) in.reject("an attribute ends in the middle of a value");
    attribute.changes = in.choice<std::uint8_t>(2, "kind of attribute") == 1;
    if (attribute.changes && attribute.values.empty()) in.reject("an attribute that changes has no values");
  }
}

}  // namespace

bool Definitions::per_step(int variable) const {
  const std::vector<int>& ids = variables.at(static_cast<std::size_t>(variable)).dimensions;
  return !ids.empty() && dimensions.at(static_cast<std::size_t>(ids.front())).unlimited;
}

Shape Definitions::shape(int variable) const {
  Shape shape;
  for (const int id : variables.at(static_cast<std::size_t>(variable)).dimensions) {
    const DimensionDefinition& dimension = dimensions.at(static_cast<std::size_t>(id));
    if (!dimension.unlimited) shape.push_back(dimension.length);
  }
  return shape;
}

std::vector<std::byte> Definitions::encode() const {
  Encoder out;
  out.byte(definitions_version);
  out.number(dimensions.size());
  for (const DimensionDefinition& dimension : dimensions) {
    out.text(dimension.name);
    out.number(dimension.length);
    out.byte(dimension.unlimited ? 1 : 0);
  }
  out.number(grids.size());
  for (const GridDefinition& grid : grids) {
    out.byte(static_cast<std::uint8_t>(grid.kind));
    encode_ids(out, grid.dimensions);
    encode_ids(out, grid.coordinates);
    encode_reals(out, grid.origin);
    encode_reals(out, grid.spacing);
  }
  out.number(variables.size());
  for (const VariableDefinition& variable : variables) {
    out.text(variable.name);
    out.byte(static_cast<std::uint8_t>(variable.external));
    encode_ids(out, variable.dimensions);
    out.byte(variable.fill ? 1 : 0);
    out.number(static_cast<std::uint64_t>(variable.grid));
    out.byte(static_cast<std::uint8_t>(variable.centring));
    out.number(variable.components);
  }
  out.number(attributes.size());
  for (const Attribute& attribute : attributes) {
    out.number(static_cast<std::uint64_t>(attribute.variable));
    out.text(attribute.name);
    out.byte(static_cast<std::uint8_t>(attribute.type));
    out.bytes(attribute.values);
    out.byte(attribute.counts_records ? 1 : 0);
    out.byte(attribute.changes ? 1 : 0);
  }
  return out.take();
}

Definitions Definitions::decode(std::span<const std::byte> bytes) {
  Decoder in(bytes, "what an output's definitions say");
  if (const int found = in.byte(); found != definitions_version) in.reject("their version is " + std::to_string(found));
  Definitions definitions;
  definitions.dimensions.resize(in.count(8 + 8 + 1, "dimensions"));
  for (DimensionDefinition& dimension : definitions.dimensions) {
    dimension.name = in.text();
    dimension.length = in.number();
    dimension.unlimited = in.choice<std::uint8_t>(2, "kind of dimension") == 1;
  }
  decode_grids(in, definitions);
  decode_variables(in, definitions);
  for (const GridDefinition& grid : definitions.grids) {
    for (const int variable : grid.coordinates) {
      if (static_cast<std::size_t>(variable) >= definitions.variables.size()) in.reject("a grid speaks of a variable that is not defined");
    }
  }
  decode_attributes(in, definitions);
  in.expect_end();
  return definitions;
}

std::uint64_t Definitions::fingerprint() const {
  Definitions of_all_ranks = *this;
  for (GridDefinition& grid : of_all_ranks.grids) grid.origin = grid.spacing = {};
  const std::vector<std::byte> bytes = of_all_ranks.encode();
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace glean::mesh
