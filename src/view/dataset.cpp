// SPDX-License-Identifier: BSD-3-Clause
#include "view/dataset.hpp"

#include <cstring>

#include "base/error.hpp"

namespace glean::view {
namespace {

constexpr std::uint64_t whole_elements_max = 1 << 26;
constexpr double netcdf_fill = 9.9692099683868690e+36;   // of float and double

template <class T>
void widen(const std::byte* values, std::size_t count, double* into) {
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, values + i * sizeof(T), sizeof(T));
    into[i] = static_cast<double>(value);
  }
}

}  // namespace

void to_doubles(mesh::Type type, const std::byte* values, std::size_t count, double* into) {
  switch (type) {
    case mesh::Type::int8: return widen<std::int8_t>(values, count, into);
    case mesh::Type::uint8: case mesh::Type::text: return widen<std::uint8_t>(values, count, into);
    case mesh::Type::int16: return widen<std::int16_t>(values, count, into);
    case mesh::Type::uint16: return widen<std::uint16_t>(values, count, into);
    case mesh::Type::int32: return widen<std::int32_t>(values, count, into);
    case mesh::Type::uint32: return widen<std::uint32_t>(values, count, into);
    case mesh::Type::int64: return widen<std::int64_t>(values, count, into);
    case mesh::Type::uint64: return widen<std::uint64_t>(values, count, into);
    case mesh::Type::float32: return widen<float>(values, count, into);
    case mesh::Type::float64: return widen<double>(values, count, into);
  }
}

std::optional<int> Dataset::find(std::string_view name) const {
  const auto& known = variables();
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (known[i].name == name) return static_cast<int>(i);
  }
  return std::nullopt;
}

const mesh::Attribute* Dataset::attribute(int variable, std::string_view name) const {
  for (const mesh::Attribute& each : attributes()) {
    if (each.variable == variable && each.name == name) return &each;
  }
  return nullptr;
}

std::optional<std::string> Dataset::text(int variable, std::string_view name) const {
  const mesh::Attribute* found = attribute(variable, name);
  if (found == nullptr || found->type != mesh::Type::text) return std::nullopt;
  std::string value(reinterpret_cast<const char*>(found->values.data()), found->values.size());
  value.resize(std::strlen(value.c_str()));   // some are padded with zeros
  return value;
}

std::vector<double> Dataset::numbers(int variable, std::string_view name) const {
  const mesh::Attribute* found = attribute(variable, name);
  if (found == nullptr || found->type == mesh::Type::text) return {};
  std::vector<double> values(found->count());
  to_doubles(found->type, found->values.data(), values.size(), values.data());
  return values;
}

std::vector<double> Dataset::all(int id, std::uint64_t record) const {
  const DatasetVariable& known = variable(id);
  const std::uint64_t elements = mesh::elements_of(known.shape);
  if (elements > whole_elements_max) {
    throw base::Error(base::Errc::unsupported,
                      "'" + known.name + "' has " + std::to_string(elements) + " elements, too many to be held here");
  }
  std::vector<double> values(elements);
  if (elements != 0) read(id, record, mesh::whole(known.shape), values.data());
  return values;
}

std::vector<double> fill_values(const Dataset& dataset, int variable) {
  std::vector<double> values;
  for (const char* name : {"_FillValue", "missing_value"}) {
    const auto given = dataset.numbers(variable, name);
    values.insert(values.end(), given.begin(), given.end());
  }
  const mesh::Type type = dataset.variable(variable).type;
  if (type == mesh::Type::float32) values.push_back(static_cast<double>(static_cast<float>(netcdf_fill)));
  if (type == mesh::Type::float64) values.push_back(netcdf_fill);
  return values;
}

}  // namespace glean::view
