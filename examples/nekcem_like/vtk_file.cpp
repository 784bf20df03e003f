// SPDX-License-Identifier: BSD-3-Clause
#include "vtk_file.hpp"

#include <bit>
#include <cstdio>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace nekcem {

namespace {

constexpr std::int32_t hexahedron = 12;   // VTK's number for it
constexpr std::int64_t ints_per_cell = 9;   // 8 and the points

template <class Value>
std::byte* put_big_endian(std::byte* to, Value value) {
  static_assert(sizeof(Value) == 4);
  auto bits = std::bit_cast<std::uint32_t>(value);
  if constexpr (std::endian::native == std::endian::little) bits = __builtin_bswap32(bits);
  std::memcpy(to, &bits, sizeof bits);
  return to + sizeof bits;
}

std::byte* put_vector(std::byte* to, double x, double y, double z) {
  to = put_big_endian(to, static_cast<float>(x));
  to = put_big_endian(to, static_cast<float>(y));
  return put_big_endian(to, static_cast<float>(z));
}

template <class... Values>
std::string printed(const char* format, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

}  // namespace

std::string title_of(const Snapshot& snapshot) {
  return printed("%d %d %d %d %f %f Electromagnetic Field", snapshot.step, snapshot.number, static_cast<int>(snapshot.mesh.points_along()),
                 snapshot.ranks, snapshot.time, snapshot.dt);
}

// The blanks are NekCEM's.
VtkFile::VtkFile(const Snapshot& snapshot, const Range& run) : run_(run) {
  const auto n = static_cast<std::int64_t>(snapshot.mesh.points_along());
  const std::int64_t points_each = n * n * n, cells_each = (n - 1) * (n - 1) * (n - 1);
  const long long points = run.size() * points_each, cells = run.size() * cells_each;
  if (points > std::numeric_limits<std::int32_t>::max() || cells * ints_per_cell > std::numeric_limits<std::int32_t>::max()) {
    throw std::invalid_argument("a file of " + std::to_string(points) + " points is more than legacy VTK can number; write more files");
  }
  const std::string header = "# vtk DataFile Version 3.0 \n" + title_of(snapshot) + "  \nBINARY \nDATASET UNSTRUCTURED_GRID \n";
  constexpr std::int64_t vector_bytes = 3 * sizeof(float);
  sections_.push_back({header + printed("POINTS  %lld  float  \n", points), 0, points_each * vector_bytes});
  sections_.push_back({printed("\nCELLS %lld  %lld \n", cells, cells * ints_per_cell), 0, cells_each * ints_per_cell * 4});
  sections_.push_back({printed("\nCELL_TYPES %lld \n", cells), 0, cells_each * 4});
  for (std::size_t i = 0; i < snapshot.fields.size(); ++i) {
    const std::string before = i == 0 ? printed("\nPOINT_DATA %lld \n", points) : " \n";
    sections_.push_back({before + "VECTORS " + snapshot.fields[i].name + "  float \n", 0, points_each * vector_bytes});
  }
  std::int64_t offset = 0;
  for (Section& section : sections_) {
    section.offset = offset;
    offset = section.data() + run.size() * section.bytes_per_element;
  }
}

std::int64_t VtkFile::bytes() const { return sections_.back().data() + run_.size() * sections_.back().bytes_per_element; }

VtkFile::Part VtkFile::part(const Range& run, Texts texts) const {
  Part part{run, texts == Texts::all, {}, {}, 0};
  for (const Section& section : sections_) {
    const std::int64_t text = part.with_texts ? static_cast<std::int64_t>(section.text.size()) : 0;
    const std::int64_t begin = section.data() + (run.first - run_.first) * section.bytes_per_element - text;
    part.extents.push_back({begin, part.bytes, text + run.size() * section.bytes_per_element});
    part.text.push_back(text);
    part.bytes += part.extents.back().bytes;
  }
  return part;
}

std::vector<Extent> VtkFile::pieces(const Part& outer, const Range& inner) const {
  std::vector<Extent> pieces;
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    const std::int64_t skipped = outer.text[i] + (inner.first - outer.run.first) * sections_[i].bytes_per_element;
    pieces.push_back({outer.extents[i].file_offset + skipped, outer.extents[i].buffer_offset + skipped,
                      inner.size() * sections_[i].bytes_per_element});
  }
  return pieces;
}

void VtkFile::encode(const Snapshot& snapshot, const Part& part, std::span<std::byte> buffer) const {
  const std::vector<Extent> mine = pieces(part, snapshot.mesh.mine());
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    if (part.with_texts) std::memcpy(buffer.data() + part.extents[i].buffer_offset, sections_[i].text.data(), sections_[i].text.size());
    encode_section(snapshot, i, buffer.data() + mine[i].buffer_offset);
  }
}

void VtkFile::encode_section(const Snapshot& snapshot, std::size_t section, std::byte* to) const {
  const Mesh& mesh = snapshot.mesh;
  const auto points_each = static_cast<std::int64_t>(mesh.points_per_element());
  if (section == 0) {
    mesh.for_points([&](std::size_t, double x, double y, double z) { to = put_vector(to, x, y, z); });
  } else if (section == 1) {
    const auto before = static_cast<std::int32_t>((mesh.mine().first - run_.first) * points_each);   // points of the file
    mesh.for_hexahedra([&](const std::array<std::size_t, 8>& corners) {
      to = put_big_endian(to, std::int32_t{8});
      for (const std::size_t corner : corners) to = put_big_endian(to, before + static_cast<std::int32_t>(corner));
    });
  } else if (section == 2) {
    const std::int64_t cells = mesh.mine().size() * sections_[section].bytes_per_element / 4;
    for (std::int64_t cell = 0; cell < cells; ++cell) to = put_big_endian(to, hexahedron);
  } else {
    const Snapshot::Vectors& field = snapshot.fields[section - 3];
    for (std::size_t i = 0; i < field.x->size(); ++i) to = put_vector(to, (*field.x)[i], (*field.y)[i], (*field.z)[i]);
  }
}

std::string pvtk_text(const std::vector<std::string>& file_names) {
  std::string text = "<File version=\"pvtk-1.0\"\n dataType=\"vtkUnstructuredGrid\"\n numberOfPieces=\"";
  text += std::to_string(file_names.size()) + "\">\n";
  for (const std::string& name : file_names) text += " <Piece fileName=\"" + name + "\"/>\n";
  return text + "</File>\n";
}

}  // namespace nekcem
