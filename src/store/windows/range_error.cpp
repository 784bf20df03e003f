// SPDX-License-Identifier: BSD-3-Clause
#include "store/windows/range_error.hpp"

#include <cstring>
#include <sstream>

namespace glean::store {
namespace {

template <class T>
std::string printed(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  std::ostringstream text;
  text.precision(17);
  text << +value;
  return text.str();
}

std::string value_text(mesh::Type type, const std::byte* bytes) {
  switch (type) {
    case mesh::Type::int8: return printed<std::int8_t>(bytes);
    case mesh::Type::uint8: return printed<std::uint8_t>(bytes);
    case mesh::Type::int16: return printed<std::int16_t>(bytes);
    case mesh::Type::uint16: return printed<std::uint16_t>(bytes);
    case mesh::Type::int32: return printed<std::int32_t>(bytes);
    case mesh::Type::uint32: return printed<std::uint32_t>(bytes);
    case mesh::Type::int64: return printed<std::int64_t>(bytes);
    case mesh::Type::uint64: return printed<std::uint64_t>(bytes);
    case mesh::Type::float32: return printed<float>(bytes);
    case mesh::Type::float64: return printed<double>(bytes);
    case mesh::Type::text: return printed<char>(bytes);
  }
  return "?";
}

std::string index_text(const mesh::Box& box, std::uint64_t element) {
  std::string text;
  for (std::size_t d = box.count.size(); d-- > 0;) {
    const std::string index = std::to_string(box.start[d] + element % box.count[d]);
    text = text.empty() ? index : index + ", " + text;
    element /= box.count[d];
  }
  return "[" + text + "]";
}

}  // namespace

base::Error out_of_range_error(const std::string& variable, mesh::Type external, std::uint64_t element, const std::byte* value,
                               const PutElements& put) {
  const std::string rank = put.rank < 0 ? "" : "rank " + std::to_string(put.rank) + ", ";
  return {base::Errc::out_of_range,
          "value " + value_text(put.memory, value) + " of '" + variable + "' at " + index_text(put.box, put.first + element) + " (" + rank +
              "step " + std::to_string(put.step) + ") does not fit into " + std::string(mesh::name_of(external)),
          "range = \"fill\" writes the fill value instead"};
}

base::Error out_of_range_error(const RangeError& error, const PutElements& put) {
  const auto& variable = *error.typed->variable;
  return out_of_range_error(variable.name, variable.external, error.element, error.value.data(), put);
}

}  // namespace glean::store
