// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/cdf/header.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "store/convert.hpp"
#include "store/format/cdf/name.hpp"

namespace glean::store {
namespace {

constexpr std::uint32_t absent = 0, dimension_tag = 10, variable_tag = 11, attribute_tag = 12;
constexpr std::size_t defects_shown = 20;

// By nc_type, from 1 on; the last five are CDF-5's.
constexpr std::array<mesh::Type, 11> types = {mesh::Type::int8,    mesh::Type::text,    mesh::Type::int16, mesh::Type::int32,
                                              mesh::Type::float32, mesh::Type::float64, mesh::Type::uint8, mesh::Type::uint16,
                                              mesh::Type::uint32,  mesh::Type::int64,   mesh::Type::uint64};
constexpr std::uint32_t types_before_cdf5 = 6;

struct MoreIsNeeded {};

// Names are whatever the file has: messages show a beginning, and nothing that a terminal would act on.
std::string in_quotes(const std::string& name) {
  constexpr std::size_t shown = 60;
  std::string text = "'" + name.substr(0, shown) + (name.size() > shown ? "...'" : "'");
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return text;
}

class Parser {
 public:
  Parser(std::span<const std::byte> begin, Bytes file_bytes) : bytes_(begin), file_bytes_(file_bytes) {}

  CdfHeader parse() {
    read_magic();
    const std::uint64_t records = count_of_records();
    read_list(dimension_tag, "dimensions", 4 + 4, [this] { read_dimension(); });
    read_attributes(-1);
    read_list(variable_tag, "variables", 4 + 4 + 4, [this] { read_variable(); });
    header_.layout.header_bytes = at_;
    place_records();
    header_.records = records == streaming() ? records_in_file() : records;
    check_record_places();
    if (!defects_.empty()) reject_all();
    return std::move(header_);
  }

 private:
  [[nodiscard]] bool is_cdf5() const { return header_.version == CdfVersion::cdf5; }
  // What stands for "as many as there are in the file".
  [[nodiscard]] std::uint64_t streaming() const { return is_cdf5() ? ~std::uint64_t{0} : 0xffffffffU; }

  [[noreturn]] void reject(const std::string& why) const {
    throw base::Error(base::Errc::io, "the header of the NetCDF file is damaged: " + why + " (byte " + std::to_string(at_) + ")");
  }
  [[noreturn]] void reject_all() const {
    std::string all;
    for (std::size_t i = 0; i < std::min(defects_.size(), defects_shown); ++i) all += (i == 0 ? "" : "; ") + defects_[i];
    if (defects_.size() > defects_shown) all += "; and " + std::to_string(defects_.size() - defects_shown) + " more";
    throw base::Error(base::Errc::io, "the header of the NetCDF file is damaged: " + all);
  }

  std::span<const std::byte> raw(std::uint64_t size) {
    if (size > bytes_.size() - at_) {
      if (bytes_.size() < file_bytes_ && size <= file_bytes_ - at_) throw MoreIsNeeded{};
      reject("the file ends within it");
    }
    const auto found = bytes_.subspan(at_, static_cast<std::size_t>(size));
    at_ += found.size();
    return found;
  }
  std::uint64_t number(std::size_t size) {
    std::uint64_t value = 0;
    for (const std::byte each : raw(size)) value = value << 8 | std::to_integer<std::uint64_t>(each);
    return value;
  }
  std::uint32_t word() { return static_cast<std::uint32_t>(number(4)); }
  // NON_NEG of the specification.
  std::uint64_t length(const char* of) {
    const std::uint64_t value = number(is_cdf5() ? 8 : 4);
    if (value > (is_cdf5() ? base::largest_offset : Bytes{0x7fffffff})) reject(std::string(of) + " is negative");
    return value;
  }
  // A number of things of which each takes at least so many bytes of the file.
  std::uint64_t count(Bytes bytes_each, const char* of) {
    const std::uint64_t value = length("a count");
    if (value > (file_bytes_ - at_) / bytes_each) {
      reject("it says that there are " + std::to_string(value) + ' ' + of + ", more than the file has room for");
    }
    return value;
  }
  void skip_padding(std::uint64_t size) { raw((4 - size % 4) % 4); }

  std::string name() {
    const std::uint64_t size = count(1, "characters of a name");
    const auto characters = raw(size);
    skip_padding(size);
    return {reinterpret_cast<const char*>(characters.data()), characters.size()};
  }
  std::string checked_name(const char* of, std::set<std::pair<int, std::string>>& seen, int owner = -1) {
    std::string found = name();
    if (const std::string flaw = flaw_of_cdf_name(found); !flaw.empty()) {
      defects_.push_back(std::string("the name of a") + of + ' ' + in_quotes(found) + " cannot be: " + flaw);
    }
    if (!seen.emplace(owner, found).second) defects_.push_back(std::string("there are two") + of + "s " + in_quotes(found));
    return found;
  }

  void read_magic() {
    const auto found = raw(4);
    const auto is = [&](std::size_t i, char c) { return found[i] == static_cast<std::byte>(c); };
    if (!is(0, 'C') || !is(1, 'D') || !is(2, 'F')) {
      throw base::Error(base::Errc::io, "it is no classic NetCDF file: it does not begin with CDF",
                        is(1, 'H') && is(2, 'D') ? "it is an HDF5 file, as NetCDF-4 files are" : "");
    }
    if (is(3, 1)) header_.version = CdfVersion::cdf1;
    else if (is(3, 2)) header_.version = CdfVersion::cdf2;
    else if (is(3, 5)) header_.version = CdfVersion::cdf5;
    else
      throw base::Error(base::Errc::unsupported, "it is a NetCDF file of version " + std::to_string(std::to_integer<int>(found[3])) +
                                                     ", and only 1, 2 and 5 are known");
    header_.layout.format = name_of(header_.version);
  }

  std::uint64_t count_of_records() {
    const std::uint64_t value = number(is_cdf5() ? 8 : 4);
    if (value != streaming() && value > base::largest_offset) reject("the number of records is negative");
    return value;
  }

  template <class Read>
  void read_list(std::uint32_t tag, const char* of, Bytes bytes_each, Read read) {
    const std::uint32_t found = word();
    const std::uint64_t items = count(bytes_each, of);
    if (found != tag && (found != absent || items != 0)) {
      reject(std::string("where the list of ") + of + " should be stands " + std::to_string(found));
    }
    for (std::uint64_t i = 0; i < items; ++i) read();
  }

  void read_dimension() {
    mesh::DimensionDefinition dimension;
    dimension.name = checked_name(" dimension", dimension_names_);
    dimension.length = length("the length of a dimension");
    dimension.unlimited = dimension.length == 0;
    if (dimension.unlimited && std::exchange(has_records_, true)) {
      defects_.push_back("dimension " + in_quotes(dimension.name) + " is the second that is unlimited");
    }
    header_.definitions.dimensions.push_back(std::move(dimension));
  }

  mesh::Type type(const char* of) {
    const std::uint32_t found = word();
    if (found == 0 || found > (is_cdf5() ? types.size() : types_before_cdf5)) {
      reject(std::string(of) + " has the type " + std::to_string(found) + ", which does not exist");
    }
    return types[found - 1];
  }

  void read_attributes(int variable) {
    read_list(attribute_tag, "attributes", 4 + 4 + 4, [&] {
      mesh::Attribute attribute;
      attribute.variable = variable;
      attribute.name = checked_name("n attribute", attribute_names_, variable);
      attribute.type = type("an attribute");
      const std::uint64_t values = count(mesh::size_of(attribute.type), "values of an attribute");
      header_.attribute_begins.push_back(at_);
      const auto found = raw(values * mesh::size_of(attribute.type));
      skip_padding(found.size());
      attribute.values.resize(found.size());
      // What makes big-endian of native bytes makes native of big-endian ones.
      const std::array<std::byte, 8> no_fill{};
      if (values != 0) converter(attribute.type, attribute.type)(found.data(), attribute.values.data(), values, no_fill.data());
      header_.definitions.attributes.push_back(std::move(attribute));
    });
  }

  void read_variable() {
    const int id = static_cast<int>(header_.definitions.variables.size());
    mesh::VariableDefinition variable;
    variable.name = checked_name(" variable", variable_names_);
    const std::uint64_t dimensions = count(4, "dimensions of a variable");
    for (std::uint64_t d = 0; d < dimensions; ++d) {
      const std::uint64_t dimension = length("a dimension");
      if (dimension >= header_.definitions.dimensions.size()) {
        reject("variable " + in_quotes(variable.name) + " has a dimension that is not defined");
      }
      variable.dimensions.push_back(static_cast<int>(dimension));
      if (d > 0 && header_.definitions.dimensions[dimension].unlimited) {
        defects_.push_back("variable " + in_quotes(variable.name) + " has the unlimited dimension, and not in front");
      }
    }
    read_attributes(id);
    variable.external = type("a variable");
    number(is_cdf5() ? 8 : 4);   // its size, which follows from the rest, and which 4 bytes may not hold
    const Bytes begin = number(header_.version == CdfVersion::cdf1 ? 4 : 8);
    header_.definitions.variables.push_back(variable);

    VariableLayout layout;
    layout.name = variable.name;
    layout.external = variable.external;
    layout.shape = header_.definitions.shape(id);
    layout.begin_bytes = begin;
    layout.stored = stored_in(header_.version);
    Bytes bytes = mesh::size_of(layout.external);
    bool fits = true;
    for (const std::uint64_t extent : layout.shape) fits = fits && !__builtin_mul_overflow(bytes, extent, &bytes);
    if (!fits || bytes > base::largest_offset - 8 || begin > base::largest_offset - 8 - bytes) {
      reject("variable " + in_quotes(variable.name) + " is larger than any file, or lies behind the end of any");
    }
    header_.layout.variables.push_back(std::move(layout));
  }

  // Records are padded to 4 bytes for each variable, unless there is one variable only.
  void place_records() {
    Bytes stride = 0, only = 0;
    std::size_t variables = 0;
    for (std::size_t v = 0; v < header_.layout.variables.size(); ++v) {
      if (!header_.definitions.per_step(static_cast<int>(v))) continue;
      only = header_.layout.variables[v].record_bytes();
      if (__builtin_add_overflow(stride, base::align_up(only, 4), &stride) || stride > base::largest_offset) {
        reject("its records are larger than any file");
      }
      ++variables;
    }
    if (variables == 1) stride = only;
    for (std::size_t v = 0; v < header_.layout.variables.size(); ++v) {
      if (header_.definitions.per_step(static_cast<int>(v))) header_.layout.variables[v].record_stride_bytes = stride;
    }
  }

  [[nodiscard]] std::uint64_t records_in_file() const {
    Bytes begin = file_bytes_, stride = 0;
    for (const VariableLayout& variable : header_.layout.variables) {
      if (!variable.per_step()) continue;
      begin = std::min(begin, variable.begin_bytes);
      stride = variable.record_stride_bytes;
    }
    return stride == 0 ? 0 : (file_bytes_ - begin) / stride;
  }

  void check_record_places() {
    for (const VariableLayout& variable : header_.layout.variables) {
      if (header_.records == 0 || variable.has_room_for(header_.records - 1)) continue;
      reject("it counts " + std::to_string(header_.records) + " records, more than any file has room for");
    }
  }

  std::span<const std::byte> bytes_;
  Bytes file_bytes_;
  Bytes at_ = 0;
  CdfHeader header_;
  bool has_records_ = false;
  std::vector<std::string> defects_;
  std::set<std::pair<int, std::string>> dimension_names_, variable_names_, attribute_names_;   // of a variable, or -1
};

}  // namespace

std::optional<CdfHeader> parse_cdf_header(std::span<const std::byte> begin, Bytes file_bytes) {
  try {
    return Parser(begin, file_bytes).parse();
  } catch (const MoreIsNeeded&) {
    return std::nullopt;
  }
}

Bytes bytes_of_records(const CdfHeader& header, std::uint64_t records) {
  Bytes begin = 0, stride = 0;
  for (const VariableLayout& variable : header.layout.variables) {
    if (!variable.per_step()) continue;
    begin = stride == 0 ? variable.begin_bytes : std::min(begin, variable.begin_bytes);
    stride = variable.record_stride_bytes;
  }
  Bytes end = whole_size(header.layout, 0);
  if (records != 0 && stride != 0) end = std::max({end, whole_size(header.layout, records), begin + records * stride});
  return end;
}

CdfHeader read_cdf_header(const InputFile& file) {
  constexpr Bytes first_read = 64 * base::KiB;
  const Bytes file_bytes = file.bytes();
  std::vector<std::byte> begin;
  for (Bytes wanted = first_read;; wanted *= 4) {
    begin.resize(static_cast<std::size_t>(std::min({wanted, file_bytes, cdf_header_most})));
    const std::size_t there = file.read(begin, 0);
    if (there < begin.size()) throw base::Error(base::Errc::io, "the file becomes shorter while it is read");
    if (auto header = parse_cdf_header(begin, file_bytes)) return *std::move(header);
    if (begin.size() == cdf_header_most) {
      throw base::Error(base::Errc::unsupported,
                        "the header of the NetCDF file is longer than " + std::to_string(cdf_header_most) + " bytes");
    }
  }
}

}  // namespace glean::store
