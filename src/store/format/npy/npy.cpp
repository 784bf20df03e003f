// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/npy/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace glean::store {
namespace {

constexpr std::string_view npy_name = "npy";
constexpr std::string_view npy_magic{"\x93NUMPY\1\0", 8};   // and version 1.0
constexpr std::size_t npy_text_offset = npy_magic.size() + 2, npy_alignment = 64;
constexpr std::array<std::string_view, mesh::type_count> npy_type_names = {"|i1", "|u1", "<i2", "<u2", "<i4", "<u4",
                                                                       "<i8", "<u8", "<f4", "<f8", "|S1"};

// As NumPy writes it: keys in this order, a comma behind a single length.
std::string npy_text_of(const VariableLayout& variable, std::optional<std::uint64_t> records) {
  std::vector<std::uint64_t> lengths;
  if (records) lengths.push_back(*records);
  lengths.insert(lengths.end(), variable.shape.begin(), variable.shape.end());
  return fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                     npy_type_names[static_cast<std::size_t>(variable.external)], fmt::join(lengths, ", "), lengths.size() == 1 ? "," : "");
}

// Blanks behind the text keep room for the largest number of records.
Bytes header_bytes_of(const VariableLayout& variable) {
  const auto most = variable.per_step() ? std::optional(std::numeric_limits<std::uint64_t>::max()) : std::nullopt;
  return base::align_up(npy_text_offset + npy_text_of(variable, most).size() + 1, npy_alignment);
}

// A pool may say anything.
const VariableLayout& array_of(const FileLayout& layout) {
  const bool is_one = layout.variables.size() == 1 && layout.header_bytes == header_bytes_of(layout.variables.front()) &&
                      layout.header_bytes <= npy_header_most;
  if (!is_one) throw base::Error(base::Errc::io, "the layout of an .npy file is damaged");
  return layout.variables.front();
}

std::vector<std::byte> npy_header_of(const FileLayout& layout, std::uint64_t records) {
  const VariableLayout& variable = array_of(layout);
  std::string header(npy_magic);
  const std::size_t text_bytes = layout.header_bytes - npy_text_offset;
  header += static_cast<char>(text_bytes & 0xff);
  header += static_cast<char>(text_bytes >> 8);
  header += npy_text_of(variable, variable.per_step() ? std::optional(records) : std::nullopt);
  header.resize(layout.header_bytes - 1, ' ');
  header += '\n';
  const auto bytes = std::as_bytes(std::span(header));
  return {bytes.begin(), bytes.end()};
}

// All that is wrong.
void refuse_what_it_cannot_hold(const mesh::Definitions& definitions) {
  std::vector<std::string> problems;
  if (definitions.variables.size() != 1) {
    problems.push_back(fmt::format("it holds one variable, and {} are defined", definitions.variables.size()));
  }
  for (const mesh::Attribute& attribute : definitions.attributes) {
    problems.push_back(fmt::format("it holds no attributes, and '{}' is defined", attribute.name));
  }
  for (const mesh::DimensionDefinition& dimension : definitions.dimensions) {
    if (dimension.length == 0 && !dimension.unlimited) problems.push_back(fmt::format("dimension '{}' has length 0", dimension.name));
  }
  if (problems.empty()) return;
  throw base::Error(base::Errc::invalid_argument, fmt::format("an .npy file cannot be made: {}", fmt::join(problems, "; ")),
                    "write other outputs as NetCDF");
}

void check_size(const VariableLayout& variable, Bytes header_bytes) {
  constexpr Bytes limit = std::numeric_limits<std::int64_t>::max();
  Bytes bytes = mesh::size_of(variable.external);
  for (const std::uint64_t extent : variable.shape) {
    if (bytes > (limit - header_bytes) / extent) {
      throw base::Error(base::Errc::invalid_argument, "variable '" + variable.name + "' is larger than any file");
    }
    bytes *= extent;
  }
  if (header_bytes <= npy_header_most) return;
  throw base::Error(base::Errc::invalid_argument, "variable '" + variable.name + "' has more dimensions than an .npy file can describe");
}

class NpyFormat final : public Format {
 public:
  [[nodiscard]] std::string_view name() const override { return npy_name; }
  // Names are not written.
  [[nodiscard]] std::string flaw_of_name(std::string_view name) const override { return name.empty() ? "it is empty" : ""; }

  [[nodiscard]] FileImage image(const mesh::Definitions& definitions, base::RangeRule range) const override {
    refuse_what_it_cannot_hold(definitions);
    const mesh::VariableDefinition& definition = definitions.variables.front();
    FileImage image;
    image.layout.format = npy_name;
    image.layout.range = range;
    VariableLayout& variable = image.layout.variables.emplace_back();
    variable.name = definition.name;
    variable.external = definition.external;
    variable.shape = definitions.shape(0);
    variable.fill = definition.fill;
    variable.stored.order = ByteOrder::little;
    if (definitions.per_step(0)) variable.record_stride_bytes = variable.record_bytes();
    image.layout.header_bytes = variable.begin_bytes = header_bytes_of(variable);
    check_size(variable, variable.begin_bytes);
    image.metadata.push_back({0, npy_header_of(image.layout, 0)});
    return image;
  }

  // The array has all elements of its records, so the file is as long, whatever was put.
  [[nodiscard]] Finished finish(const FileImage& image, const Written& written) const override {
    const VariableLayout& variable = array_of(image.layout);
    if (!variable.per_step()) return {{}, variable.begin_bytes + variable.record_bytes()};
    if (written.records != 0 && !variable.has_room_for(written.records - 1)) return {{}, std::numeric_limits<std::int64_t>::max()};
    return {{{0, npy_header_of(image.layout, written.records)}}, variable.record_begin_bytes(written.records)};
  }

  [[nodiscard]] std::optional<std::uint64_t> take_records(const FileLayout& layout, std::span<std::byte> header) const override {
    const auto found = read_npy_header(header);
    if (!found || found->begin_bytes != layout.header_bytes) return std::nullopt;
    const std::uint64_t records = array_of(layout).per_step() && !found->shape.empty() ? found->shape.front() : 0;
    const auto expected = npy_header_of(layout, records), without = npy_header_of(layout, 0);
    if (!std::equal(header.begin(), header.end(), expected.begin(), expected.end())) return std::nullopt;
    std::copy(without.begin(), without.end(), header.begin());
    return records;
  }
};

// What follows `key` in the text.
std::optional<std::string_view> what_follows(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  return at == text.npos ? std::nullopt : std::optional(text.substr(at + key.size()));
}

}  // namespace

std::unique_ptr<const Format> make_npy_format() { return std::make_unique<NpyFormat>(); }

std::optional<VariableLayout> read_npy_header(std::span<const std::byte> bytes) {
  if (bytes.size() < npy_text_offset || std::memcmp(bytes.data(), npy_magic.data(), npy_magic.size()) != 0) return std::nullopt;
  VariableLayout variable;
  variable.stored.order = ByteOrder::little;
  const auto byte_at = [&](std::size_t at) { return std::to_integer<std::size_t>(bytes[at]); };
  const std::size_t text_bytes = byte_at(npy_magic.size()) | byte_at(npy_magic.size() + 1) << 8;
  variable.begin_bytes = npy_text_offset + text_bytes;
  if (bytes.size() < variable.begin_bytes) return std::nullopt;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + npy_text_offset, text_bytes);
  const auto type = what_follows(text, "'descr': '");
  const auto named = std::find_if(npy_type_names.begin(), npy_type_names.end(), [&](auto name) { return type && type->starts_with(name); });
  auto lengths = what_follows(text, "'shape': (");
  if (named == npy_type_names.end() || !lengths || !what_follows(text, "'fortran_order': False")) return std::nullopt;
  variable.external = static_cast<mesh::Type>(named - npy_type_names.begin());
  while (!lengths->empty() && lengths->front() != ')') {
    std::uint64_t length = 0;
    const auto read = std::from_chars(lengths->data(), lengths->data() + lengths->size(), length);
    if (read.ec != std::errc{}) return std::nullopt;
    variable.shape.push_back(length);
    lengths->remove_prefix(static_cast<std::size_t>(read.ptr - lengths->data()));
    while (lengths->starts_with(',') || lengths->starts_with(' ')) lengths->remove_prefix(1);
  }
  return variable;
}

}  // namespace glean::store
