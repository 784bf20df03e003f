// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/hdf5/note.hpp"

#include <algorithm>
#include <string_view>

#include "base/encoding.hpp"
#include "store/format/hdf5/chunk_index.hpp"

namespace glean::store {
namespace {

constexpr std::string_view note_magic = "GLEANH5\2";   // and a version
constexpr std::size_t note_footer_bytes = 8 + note_magic.size();
static_assert(note_magic.size() == hdf5_note_mark_bytes);

Hdf5Note decode_note(std::span<const std::byte> bytes) {
  base::Decoder in(bytes, "the note in the header of an HDF5 file");
  Hdf5Note note;
  note.records = in.number();
  note.end_offset = in.number();
  note.first_end = in.number();
  note.variables.resize(in.count(4 * 8, "variables"));
  for (Hdf5Records& variable : note.variables) {
    variable.length_offset = in.number();
    variable.index_offset = in.number();
    variable.nodes_begin = in.number();
    variable.chunk.resize(in.count(8, "dimensions"));
    for (std::uint64_t& length : variable.chunk) length = in.number();
  }
  note.counts.resize(in.count(8, "attributes"));
  for (Bytes& offset : note.counts) offset = in.number();
  in.expect_end();
  return note;
}

// All places are in the header, in front of the note.
bool fits_layout(const Hdf5Note& note, const FileLayout& layout, Bytes note_begin) {
  const auto holds = [&](Bytes offset, Bytes bytes) { return bytes <= note_begin && offset <= note_begin - bytes; };
  auto records = note.variables.begin();
  for (const VariableLayout& variable : layout.variables) {
    if (!variable.per_step()) continue;
    if (records == note.variables.end()) return false;
    const ChunkIndex index(variable, records->chunk);
    if (!holds(records->length_offset, 8) || !holds(records->index_offset, 8)) return false;
    if (!holds(records->nodes_begin, index.bytes_in_header())) return false;
    ++records;
  }
  const bool holds_counts = std::all_of(note.counts.begin(), note.counts.end(), [&](Bytes offset) { return holds(offset, 8); });
  return records == note.variables.end() && holds_counts && holds(note.end_offset, 8);
}

}  // namespace

std::vector<std::byte> Hdf5Note::encode() const {
  base::Encoder out;
  out.number(records);
  out.number(end_offset);
  out.number(first_end);
  out.number(variables.size());
  for (const Hdf5Records& variable : variables) {
    out.number(variable.length_offset);
    out.number(variable.index_offset);
    out.number(variable.nodes_begin);
    out.number(variable.chunk.size());
    for (const std::uint64_t length : variable.chunk) out.number(length);
  }
  out.number(counts.size());
  for (const Bytes offset : counts) out.number(offset);
  std::vector<std::byte> bytes = out.take();
  base::Encoder footer;
  footer.number(bytes.size());
  for (const char c : note_magic) footer.byte(static_cast<std::uint8_t>(c));
  const auto end = footer.take();
  bytes.insert(bytes.end(), end.begin(), end.end());
  return bytes;
}

bool end_with_hdf5_note(std::span<const std::byte> bytes) {
  const auto mark = std::as_bytes(std::span(note_magic));
  return bytes.size() >= mark.size() && std::equal(mark.begin(), mark.end(), bytes.end() - static_cast<std::ptrdiff_t>(mark.size()));
}

std::optional<Hdf5Note> Hdf5Note::find(const FileLayout& layout, std::span<const std::byte> bytes) {
  if (bytes.size() < note_footer_bytes) return std::nullopt;
  if (!end_with_hdf5_note(bytes)) return std::nullopt;
  try {
    const auto before = bytes.first(bytes.size() - note_footer_bytes);
    const std::uint64_t size = base::Decoder(bytes.subspan(before.size()), "").number();
    if (size > before.size() || layout.header_bytes < size + note_footer_bytes) return std::nullopt;
    Hdf5Note note = decode_note(before.last(size));
    if (!fits_layout(note, layout, layout.header_bytes - note_footer_bytes - size)) return std::nullopt;
    return note;
  } catch (const base::Error&) {
    return std::nullopt;
  }
}

}  // namespace glean::store
