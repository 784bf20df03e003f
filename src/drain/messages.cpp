// SPDX-License-Identifier: BSD-3-Clause
#include "drain/messages.hpp"

#include <cstring>
#include <sstream>

namespace glean::drain {
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

std::string index_text(const pool::Record& record, std::uint64_t element) {
  std::string text;
  for (std::size_t d = record.dimensions; d-- > 0;) {
    const std::uint64_t count = record.box()[record.dimensions + d];
    const std::string index = std::to_string(record.box()[d] + element % count);
    text = text.empty() ? index : index + ", " + text;
    element /= count;
  }
  return "[" + text + "]";
}

}  // namespace

base::Error overlap_error(const store::VariableLayout& variable, std::uint64_t step, const mesh::Box& box, int rank,
                          const Claims::Claim& earlier) {
  const std::string when = variable.per_step() ? " in step " + std::to_string(step) : "";
  return {base::Errc::overlap,
          "overlapping puts of '" + variable.name + "'" + when + ": rank " + std::to_string(rank) + " puts " +
              mesh::to_string(box) + ", but rank " + std::to_string(earlier.rank) + " has put " +
              mesh::to_string(earlier.box),
          variable.per_step() ? "an element can be put once a step"
                              : "an element of a variable without steps can be put once"};
}

base::Error out_of_range_error(const Assembled& assembled, std::uint64_t before) {
  const PendingPiece& pending = *assembled.first_range_error.pending;
  const pool::Record& record = *pending.record;
  const auto memory = static_cast<mesh::Type>(record.memory_type);
  const std::uint64_t element = assembled.first_range_error.element;
  return {base::Errc::out_of_range,
          "value " + value_text(memory, assembled.first_range_error.value.data()) + " of '" +
              pending.variable->name + "' at " + index_text(record, record.first_element + before + element) + " (rank " +
              std::to_string(pending.job_rank) + ", step " + std::to_string(pending.step) + ") does not fit into " +
              std::string(mesh::name_of(pending.variable->external)),
          "range = \"fill\" writes the fill value instead"};
}

}  // namespace glean::drain
