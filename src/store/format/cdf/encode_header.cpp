// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/cdf/encode_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "store/format/cdf/name.hpp"

namespace glean::store {
namespace {

constexpr Bytes padding = 4;
constexpr std::uint64_t length_most = std::numeric_limits<std::int32_t>::max();   // before CDF-5
constexpr std::uint32_t dimensions_tag = 10, variables_tag = 11, attributes_tag = 12;

std::uint32_t number_of(mesh::Type type) {
  constexpr std::uint32_t numbers[mesh::type_count] = {1, 7, 3, 8, 4, 9, 10, 11, 5, 6, 2};
  return numbers[static_cast<int>(type)];
}

bool is_of_cdf5(mesh::Type type) { return number_of(type) > 6; }

class Encoding {
 public:
  Encoding(CdfVersion version, const mesh::Definitions& definitions, std::uint64_t records)
      : version_(version), definitions_(definitions), records_(records), begins_(definitions.variables.size()) {}

  std::vector<std::byte> encode() {
    write();   // without places: as long as with them
    place(out_.size());
    write();
    return std::move(out_);
  }
  // Behind the last element.
  [[nodiscard]] Bytes end() const { return end_; }
  [[nodiscard]] Bytes last_begin() const { return last_begin_; }

 private:
  void number(std::uint64_t value, std::size_t size) {
    for (std::size_t i = size; i-- > 0;) out_.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  void count(std::uint64_t value) { number(value, version_ == CdfVersion::cdf5 ? 8 : 4); }
  void pad() { out_.resize(base::align_up(out_.size(), padding)); }
  void text(const std::string& value) {
    count(value.size());
    for (const char c : value) out_.push_back(static_cast<std::byte>(c));
    pad();
  }
  void list(std::uint32_t tag, std::size_t size) {
    number(size == 0 ? 0 : tag, 4);
    count(size);
  }

  void attributes(int variable) {
    const auto is_its = [&](const mesh::Attribute& attribute) { return attribute.variable == variable; };
    list(attributes_tag, static_cast<std::size_t>(std::count_if(definitions_.attributes.begin(), definitions_.attributes.end(), is_its)));
    for (const mesh::Attribute& attribute : definitions_.attributes) {
      if (!is_its(attribute)) continue;
      text(attribute.name);
      number(number_of(attribute.type), 4);
      count(attribute.count());
      const std::size_t size = mesh::size_of(attribute.type);
      for (std::size_t at = 0; at < attribute.values.size(); at += size) {
        for (std::size_t i = size; i-- > 0;) out_.push_back(attribute.values[at + i]);
      }
      pad();
    }
  }

  void write() {
    out_ = {std::byte{'C'}, std::byte{'D'}, std::byte{'F'}};
    number(version_ == CdfVersion::cdf5 ? 5 : version_ == CdfVersion::cdf2 ? 2 : 1, 1);
    count(records_);
    list(dimensions_tag, definitions_.dimensions.size());
    for (const auto& dimension : definitions_.dimensions) {
      text(dimension.name);
      count(dimension.unlimited ? 0 : dimension.length);
    }
    attributes(-1);
    list(variables_tag, definitions_.variables.size());
    for (std::size_t v = 0; v < definitions_.variables.size(); ++v) {
      const auto& variable = definitions_.variables[v];
      text(variable.name);
      count(variable.dimensions.size());
      for (const int dimension : variable.dimensions) count(static_cast<std::uint64_t>(dimension));
      attributes(static_cast<int>(v));
      number(number_of(variable.external), 4);
      const Bytes bytes = base::align_up(bytes_of(v), padding);
      count(version_ == CdfVersion::cdf5 ? bytes : std::min<Bytes>(bytes, std::numeric_limits<std::uint32_t>::max()));
      number(begins_[v], version_ == CdfVersion::cdf1 ? 4 : 8);
    }
  }

  [[nodiscard]] Bytes bytes_of(std::size_t v) const {
    return mesh::elements_of(definitions_.shape(static_cast<int>(v))) * mesh::size_of(definitions_.variables[v].external);
  }

  void place(Bytes at) {
    std::size_t with_records = 0;
    Bytes only = 0;
    for (const bool per_step : {false, true}) {
      const Bytes begin = at;
      for (std::size_t v = 0; v < begins_.size(); ++v) {
        if (definitions_.per_step(static_cast<int>(v)) != per_step) continue;
        begins_[v] = at;
        last_begin_ = std::max(last_begin_, at);
        at += base::align_up(bytes_of(v), padding);
        if (per_step) ++with_records;
        only = bytes_of(v);
      }
      if (per_step) at = begin + records_ * (with_records == 1 ? only : at - begin);   // one alone is not padded
    }
    end_ = at;
  }

  CdfVersion version_;
  const mesh::Definitions& definitions_;
  std::uint64_t records_;
  std::vector<Bytes> begins_;
  Bytes end_ = 0, last_begin_ = 0;
  std::vector<std::byte> out_;
};

void check_names(const mesh::Definitions& definitions) {
  std::string wrong;
  const auto check = [&](const char* what, const std::string& name) {
    const std::string flaw = flaw_of_cdf_name(name);
    if (!flaw.empty()) wrong += fmt::format("{}{} '{}': {}", wrong.empty() ? "" : "; ", what, name, flaw);
  };
  for (const auto& dimension : definitions.dimensions) check("dimension", dimension.name);
  for (const auto& variable : definitions.variables) check("variable", variable.name);
  for (const auto& attribute : definitions.attributes) check("attribute", attribute.name);
  if (!wrong.empty()) throw base::Error(base::Errc::invalid_argument, "NetCDF cannot have these names: " + wrong);
}

// By types, lengths and sizes; places are looked at afterwards.
CdfVersion version_for(CdfVersion least, const mesh::Definitions& definitions, std::uint64_t records) {
  if (least == CdfVersion::cdf5 || records > length_most) return CdfVersion::cdf5;
  for (const auto& dimension : definitions.dimensions) {
    if (dimension.length > length_most) return CdfVersion::cdf5;
  }
  for (const auto& attribute : definitions.attributes) {
    if (is_of_cdf5(attribute.type)) return CdfVersion::cdf5;
  }
  for (std::size_t v = 0; v < definitions.variables.size(); ++v) {
    const mesh::Type type = definitions.variables[v].external;
    // Others may end a file that is longer; this is simpler.
    const bool is_long = mesh::elements_of(definitions.shape(static_cast<int>(v))) > length_most / mesh::size_of(type);
    if (is_of_cdf5(type) || is_long) return CdfVersion::cdf5;
  }
  return least;
}

}   // namespace

EncodedCdfHeader encode_cdf_header(CdfVersion least, const mesh::Definitions& definitions, std::uint64_t records) {
  check_names(definitions);
  const auto encoded = [&](CdfVersion version) {
    Encoding encoding(version, definitions, records);
    std::vector<std::byte> bytes = encoding.encode();
    return std::tuple(std::move(bytes), encoding.end(), encoding.last_begin());
  };
  const CdfVersion version = version_for(least, definitions, records);
  auto [bytes, end, last_begin] = encoded(version);
  if (version == CdfVersion::cdf1 && last_begin > length_most) std::tie(bytes, end, last_begin) = encoded(CdfVersion::cdf2);
  // The places are those that a reader of the header finds.
  auto read = parse_cdf_header(bytes, std::max<Bytes>(end, bytes.size()));
  if (!read) throw base::Error(base::Errc::io, "the header of a NetCDF file does not end where it should");
  return {std::move(bytes), *std::move(read)};
}

}   // namespace glean::store
