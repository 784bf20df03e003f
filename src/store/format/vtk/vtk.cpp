// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/vtk/vtk.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "store/format/vtk/sections.hpp"

namespace glean::store {
namespace {

constexpr std::string_view vtk_first_line = "# vtk DataFile Version 3.0\n";
constexpr std::size_t vtk_name_most = 200;   // readers have 256 bytes for a line

// As for other formats: an array that is worth it begins with a block of the file system.
Bytes vtk_alignment(Bytes bytes) { return bytes >= 64 * base::KiB ? 4 * base::KiB : 1; }

std::vector<std::byte> vtk_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

template <class T>
std::array<std::byte, 8> big_endian(T value) {
  std::array<std::byte, 8> bytes{};
  std::memcpy(bytes.data(), &value, sizeof value);
  if constexpr (std::endian::native == std::endian::little) std::reverse(bytes.begin(), bytes.begin() + sizeof value);
  return bytes;
}

// That of the program, or NetCDF's.
std::array<std::byte, 8> vtk_fill_value(const mesh::Definitions& definitions, int variable) {
  const mesh::Type type = definitions.variables[static_cast<std::size_t>(variable)].external;
  for (const mesh::Attribute& attribute : definitions.attributes) {
    if (attribute.variable != variable || attribute.name != "_FillValue" || attribute.type != type || attribute.count() != 1) continue;
    std::array<std::byte, 8> value{};
    std::copy(attribute.values.begin(), attribute.values.end(), value.begin());
    if constexpr (std::endian::native == std::endian::little) {
      std::reverse(value.begin(), value.begin() + static_cast<std::ptrdiff_t>(mesh::size_of(type)));
    }
    return value;
  }
  switch (type) {
    case mesh::Type::int8: return big_endian(std::int8_t{-127});
    case mesh::Type::uint8: return big_endian(std::uint8_t{255});
    case mesh::Type::int16: return big_endian(std::int16_t{-32767});
    case mesh::Type::uint16: return big_endian(std::uint16_t{65535});
    case mesh::Type::int32: return big_endian(std::int32_t{-2147483647});
    case mesh::Type::uint32: return big_endian(std::uint32_t{4294967295U});
    case mesh::Type::int64: return big_endian(std::int64_t{-9223372036854775806});
    case mesh::Type::uint64: return big_endian(std::uint64_t{18446744073709551614U});
    case mesh::Type::float32: return big_endian(9.9692099683868690e+36F);
    case mesh::Type::float64: return big_endian(9.9692099683868690e+36);
    case mesh::Type::text: break;
  }
  return {};
}

VariableLayout layout_of(const mesh::Definitions& definitions, int id) {
  const mesh::VariableDefinition& defined = definitions.variables[static_cast<std::size_t>(id)];
  VariableLayout variable;
  variable.name = defined.name;
  variable.external = defined.external;
  variable.shape = definitions.shape(id);
  variable.fill = defined.fill;
  variable.fill_value = vtk_fill_value(definitions, id);
  variable.stored.order = ByteOrder::big;
  return variable;
}

// Throws where it does not fit behind `begin`.
Bytes end_of(const VariableLayout& variable, Bytes begin) {
  Bytes bytes = mesh::size_of(variable.external);
  for (const std::uint64_t length : variable.shape) {
    if (!__builtin_mul_overflow(bytes, length, &bytes) && bytes <= base::largest_offset / 2 - begin) continue;
    throw base::Error(base::Errc::invalid_argument, "variable '" + variable.name + "' is larger than any file");
  }
  return begin + bytes;
}

class VtkFormat final : public Format {
 public:
  [[nodiscard]] std::string_view name() const override { return vtk_name; }

  [[nodiscard]] std::string flaw_of_name(std::string_view name) const override {
    if (name.empty()) return "it is empty";
    if (vtk_encoded(name).size() > vtk_name_most) return "it is longer than what readers of VTK files take";
    return {};
  }

  // Empty lines stand before a line that would end anywhere but where its array is to begin.
  [[nodiscard]] FileImage image(const mesh::Definitions& definitions, base::RangeRule range) const override {
    const std::vector<VtkSection> sections = vtk_sections(definitions);
    FileImage image;
    image.layout.format = vtk_name;
    image.layout.range = range;
    for (int v = 0; v < static_cast<int>(definitions.variables.size()); ++v) image.layout.variables.push_back(layout_of(definitions, v));
    Bytes at = 0;
    for (const VtkSection& section : sections) {
      VariableLayout* const variable = section.variable < 0 ? nullptr : &image.layout.variables[static_cast<std::size_t>(section.variable)];
      const Bytes end = at + section.text.size();
      const Bytes bytes = variable == nullptr ? 0 : end_of(*variable, end) - end;
      std::string text = section.text;
      text.insert(place_for_lines(text), base::align_up(end, vtk_alignment(bytes)) - end, '\n');
      image.metadata.push_back({at, vtk_bytes(text)});
      at += text.size();
      if (image.metadata.size() == 1) image.layout.header_bytes = at;
      if (variable == nullptr) continue;
      variable->begin_bytes = at;
      at += bytes;
    }
    return image;
  }

  // The text between the arrays is written once more: so it is there whatever became of the file meanwhile, and has its checksums.
  [[nodiscard]] Finished finish(const FileImage& image, const Written& written) const override {
    Finished finished;
    finished.size = std::max(whole_size(image.layout, 0), written.highest_end);
    for (const Patch& part : image.metadata) {
      finished.size = std::max(finished.size, part.extent().end);
      if (part.offset >= image.layout.header_bytes) finished.patches.push_back(part);
    }
    return finished;
  }

  [[nodiscard]] std::optional<std::uint64_t> take_records(const FileLayout& layout, std::span<std::byte> header) const override {
    const bool is_one = header.size() == layout.header_bytes && header.size() >= vtk_first_line.size() &&
                        std::memcmp(header.data(), vtk_first_line.data(), vtk_first_line.size()) == 0;
    return is_one ? std::optional<std::uint64_t>(0) : std::nullopt;
  }

 private:
  // Before the section's first keyword: behind "BINARY" of the first one, and the end of the array before.
  [[nodiscard]] static std::size_t place_for_lines(const std::string& text) {
    const std::size_t binary = text.find("\nBINARY\n");
    return text.starts_with(vtk_first_line) && binary != text.npos ? binary + 8 : 0;
  }
};

}  // namespace

std::unique_ptr<const Format> make_vtk_format() { return std::make_unique<VtkFormat>(); }

}  // namespace glean::store
