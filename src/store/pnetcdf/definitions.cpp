// SPDX-License-Identifier: BSD-3-Clause
#include "store/pnetcdf/definitions.hpp"

#include <xxhash.h>

#include <cstring>

namespace glean::store {

namespace {

// Every value with a fixed size or preceded by its length, so that different definitions are different bytes.
class Digest {
 public:
  void number(std::uint64_t value) { append(&value, sizeof value); }
  void bytes(const void* data, std::size_t size) {
    number(size);
    append(data, size);
  }
  void text(const std::string& value) { bytes(value.data(), value.size()); }
  [[nodiscard]] std::uint64_t value() const { return XXH3_64bits(bytes_.data(), bytes_.size()); }

 private:
  void append(const void* data, std::size_t size) {
    const auto* begin = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), begin, begin + size);
  }
  std::vector<std::byte> bytes_;
};

}  // namespace

bool Definitions::per_step(int variable) const {
  const std::vector<int>& ids = variables.at(static_cast<std::size_t>(variable)).dimensions;
  return !ids.empty() && dimensions.at(static_cast<std::size_t>(ids.front())).unlimited;
}

mesh::Shape Definitions::shape(int variable) const {
  mesh::Shape shape;
  for (const int id : variables.at(static_cast<std::size_t>(variable)).dimensions) {
    const DimensionDefinition& dimension = dimensions.at(static_cast<std::size_t>(id));
    if (!dimension.unlimited) shape.push_back(dimension.length);
  }
  return shape;
}

std::uint64_t Definitions::fingerprint() const {
  Digest digest;
  digest.number(static_cast<std::uint64_t>(format));
  digest.number(dimensions.size());
  for (const DimensionDefinition& dimension : dimensions) {
    digest.text(dimension.name);
    digest.number(dimension.length);
    digest.number(dimension.unlimited ? 1 : 0);
  }
  digest.number(variables.size());
  for (const VariableDefinition& variable : variables) {
    digest.text(variable.name);
    digest.number(static_cast<std::uint64_t>(variable.external));
    digest.number(variable.dimensions.size());
    for (const int id : variable.dimensions) digest.number(static_cast<std::uint64_t>(id));
    digest.number(variable.fill ? 1 : 0);
  }
  digest.number(attributes.size());
  for (const Attribute& attribute : attributes) {
    digest.number(static_cast<std::uint64_t>(attribute.variable));
    digest.text(attribute.name);
    digest.number(static_cast<std::uint64_t>(attribute.type));
    digest.bytes(attribute.values.data(), attribute.values.size());
  }
  return digest.value();
}

}  // namespace glean::store
