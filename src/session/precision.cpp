// SPDX-License-Identifier: BSD-3-Clause
#include "session/precision.hpp"

#include <cstring>
#include <map>
#include <string>

#include "session/nodes.hpp"

namespace glean::session {

base::PrecisionSettings precision_of_output(const Core& core, std::string_view path, bool is_asked) {
  base::PrecisionSettings precision;
  if (!is_asked) return precision;
  std::map<std::string, std::string> names;
  if (core.is_root()) {
    for (const std::string& name : core.settings().precision_of_output(path).variables) names.emplace(name, "");
  }
  precision.single = true;
  for (const auto& [name, nothing] : from_root(core.comm(), names)) precision.variables.push_back(name);
  return precision;
}

mesh::Type narrowed(const base::PrecisionSettings& precision, std::string_view name, mesh::Type external) {
  return external == mesh::Type::float64 && precision.narrows(name) ? mesh::Type::float32 : external;
}

std::vector<std::byte> narrowed(std::span<const std::byte> values) {
  std::vector<std::byte> singles(values.size() / sizeof(double) * sizeof(float));
  for (std::size_t i = 0; i < values.size() / sizeof(double); ++i) {
    double value = 0;
    std::memcpy(&value, values.data() + i * sizeof value, sizeof value);
    const auto single = static_cast<float>(value);
    std::memcpy(singles.data() + i * sizeof single, &single, sizeof single);
  }
  return singles;
}

}  // namespace glean::session
