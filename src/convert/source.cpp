// SPDX-License-Identifier: BSD-3-Clause
#include "convert/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "store/convert.hpp"
#include "store/sums/sidecar.hpp"

namespace glean::convert {
namespace {

constexpr std::int32_t no_integer = std::numeric_limits<std::int32_t>::min();

// Calls `use` with each value, of the type that it has.
template <class Use>
void for_each_value(mesh::Type type, std::span<const std::byte> bytes, Use use) {
  const auto all = [&]<class T>(T value) {
    for (std::size_t at = 0; at + sizeof value <= bytes.size(); at += sizeof value) {
      std::memcpy(&value, bytes.data() + at, sizeof value);
      use(value);
    }
  };
  switch (type) {
    case mesh::Type::int8: return all(std::int8_t{});
    case mesh::Type::uint8: return all(std::uint8_t{});
    case mesh::Type::int16: return all(std::int16_t{});
    case mesh::Type::uint16: return all(std::uint16_t{});
    case mesh::Type::int32: return all(std::int32_t{});
    case mesh::Type::uint32: return all(std::uint32_t{});
    case mesh::Type::int64: return all(std::int64_t{});
    case mesh::Type::uint64: return all(std::uint64_t{});
    case mesh::Type::float32: return all(float{});
    case mesh::Type::float64: return all(double{});
    case mesh::Type::text: break;
  }
}

// What it throws names the file.
template <class Action>
auto naming(const std::string& path, Action action) {
  try {
    return action();
  } catch (const base::Error& error) {
    throw base::Error(error.code(), "cannot convert '" + path + "': " + error.what(), error.hint());
  }
}

void check_length(store::SystemCalls& calls, const std::string& path, const store::CdfHeader& header, Bytes bytes) {
  const Bytes whole = store::whole_size(header.layout, header.records);
  if (bytes >= whole) return;
  const auto sidecar = store::read_sidecar(calls, path);
  if (sidecar && sidecar->file_bytes == bytes) return;
  throw base::Error(base::Errc::io,
                    fmt::format("it ends {} bytes before its last variable does: it was cut short, or that variable was put only in part",
                                whole - bytes),
                    "with checksums = true it can be told that such a file is complete");
}

}  // namespace

// The hint of a file that is not there is one for files to write.
Source::Source(store::SystemCalls& calls, const std::string& path, bool is_complete) try : path_(path), file_(calls, path) {
  naming(path_, [&] {
    header_ = store::read_cdf_header(file_);
    if (!is_complete) check_length(calls, path_, header_, file_.bytes());
  });
} catch (const base::Error& error) {
  if (error.code() != base::Errc::not_found) throw;
  throw base::Error(error.code(), error.what());
}

const store::VariableLayout& Source::layout(int variable) const { return header_.layout.variables.at(static_cast<std::size_t>(variable)); }

const mesh::VariableDefinition& Source::variable(int variable) const {
  return header_.definitions.variables.at(static_cast<std::size_t>(variable));
}

std::optional<int> Source::find(std::string_view name) const {
  const auto& variables = header_.definitions.variables;
  const auto found = std::find_if(variables.begin(), variables.end(), [&](const auto& variable) { return variable.name == name; });
  return found == variables.end() ? std::nullopt : std::optional<int>(found - variables.begin());
}

const mesh::Attribute* Source::attribute(int variable, std::string_view name) const {
  const auto& attributes = header_.definitions.attributes;
  const auto found = std::find_if(attributes.begin(), attributes.end(), [&](const mesh::Attribute& attribute) {
    return attribute.variable == variable && attribute.name == name;
  });
  return found == attributes.end() ? nullptr : &*found;
}

base::Extent Source::extent(int variable, std::uint64_t record, std::uint64_t first, std::uint64_t count) const {
  const store::VariableLayout& of = layout(variable);
  const Bytes size = mesh::size_of(of.external), begin = of.record_begin_bytes(record) + first * size;
  return {begin, begin + count * size};
}

std::vector<std::byte> Source::native(int variable, std::uint64_t record, std::uint64_t first, std::uint64_t count) const {
  const base::Extent where = extent(variable, record, first, count);
  const mesh::Type type = layout(variable).external;
  std::vector<std::byte> big(where.size()), values(where.size());
  naming(path_, [&] { read(where, big); });
  const std::array<std::byte, 8> no_fill{};
  // What makes big-endian of native bytes makes native of big-endian ones.
  store::converter(type, type)(big.data(), values.data(), count, no_fill.data());
  return values;
}

std::vector<double> Source::reals(int variable, std::uint64_t record, std::uint64_t first, std::uint64_t count) const {
  std::vector<double> values;
  values.reserve(count);
  for_each_value(layout(variable).external, native(variable, record, first, count),
                 [&](auto value) { values.push_back(static_cast<double>(value)); });
  return values;
}

std::vector<std::int32_t> Source::integers(int variable, std::uint64_t record, std::uint64_t first, std::uint64_t count) const {
  std::vector<std::int32_t> values;
  values.reserve(count);
  for_each_value(layout(variable).external, native(variable, record, first, count), [&](auto value) {
    if constexpr (std::is_integral_v<decltype(value)>) {
      values.push_back(std::in_range<std::int32_t>(value) ? static_cast<std::int32_t>(value) : no_integer);
    } else {
      values.push_back(no_integer);
    }
  });
  return values;
}

std::optional<double> number_of(const mesh::Attribute& attribute) {
  std::optional<double> number;
  if (attribute.count() == 1) for_each_value(attribute.type, attribute.values, [&](auto value) { number = static_cast<double>(value); });
  return number;
}

std::optional<std::int32_t> integer_of(const mesh::Attribute& attribute) {
  const auto number = number_of(attribute);
  if (!number || !(*number >= -2147483648.0 && *number <= 2147483647.0) || *number != std::trunc(*number)) return std::nullopt;
  return static_cast<std::int32_t>(*number);
}

std::optional<std::string> text_of(const mesh::Attribute& attribute) {
  if (attribute.type != mesh::Type::text) return std::nullopt;
  std::string text(reinterpret_cast<const char*>(attribute.values.data()), attribute.values.size());
  // As C and Fortran leave them behind it.
  text.erase(std::min(text.find('\0'), text.size()));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string listed(const std::vector<std::string>& sentences) {
  constexpr std::size_t shown = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(sentences.size(), shown); ++i) text += (i == 0 ? "" : "; ") + sentences[i];
  if (sentences.size() > shown) text += fmt::format("; and {} more", sentences.size() - shown);
  return text;
}

}  // namespace glean::convert
