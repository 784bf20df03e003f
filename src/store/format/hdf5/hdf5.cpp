// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/hdf5/hdf5.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "store/format/hdf5/chunk_index.hpp"
#include "store/format/hdf5/note.hpp"

namespace glean::store {
namespace {

constexpr Bytes hdf5_index_most = base::GiB;   // of all variables: a damaged pool must not make a process ask for more

std::vector<std::byte> hdf5_number(std::uint64_t value) {
  std::vector<std::byte> bytes(8);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(value >> (8 * i));
  return bytes;
}

Hdf5Note note_of(const FileImage& image) {
  for (const Patch& part : image.metadata) {
    if (part.extent().end != image.layout.header_bytes) continue;
    if (auto note = Hdf5Note::find(image.layout, part.bytes)) return *std::move(note);
  }
  throw base::Error(base::Errc::io, "the metadata of an HDF5 file are damaged");
}

// A record variable with what is known of its chunks.
struct Recorded {
  const VariableLayout* layout;
  const Hdf5Records* places;
  ChunkIndex index;
};

std::vector<Recorded> recorded_in(const FileLayout& layout, const Hdf5Note& note) {
  std::vector<Recorded> variables;
  for (const VariableLayout& variable : layout.variables) {
    if (!variable.per_step()) continue;
    const Hdf5Records& places = note.variables[variables.size()];
    variables.push_back({&variable, &places, ChunkIndex(variable, places.chunk)});
  }
  return variables;
}

// Where the last chunk or contiguous dataset ends; the largest file if that is behind the end of any.
Bytes hdf5_data_end(const FileLayout& layout, const std::vector<Recorded>& variables, std::uint64_t records) {
  Bytes end = whole_size(layout, 0);
  for (const Recorded& variable : variables) {
    if (records == 0) continue;
    if (records > (base::largest_offset - variable.layout->begin_bytes) / variable.layout->record_stride_bytes) return base::largest_offset;
    end = std::max(end, variable.layout->record_begin_bytes(records - 1) + variable.index.record_bytes());
  }
  return end;
}

class Hdf5Format final : public Format {
 public:
  explicit Hdf5Format(MakeHdf5Image make) : make_(std::move(make)) {}

  [[nodiscard]] std::string_view name() const override { return hdf5_name; }

  [[nodiscard]] std::string flaw_of_name(std::string_view name) const override {
    if (name.empty()) return "it is empty";
    if (name.find('\0') != name.npos) return "it has a zero byte";
    for (std::size_t begin = 0; begin <= name.size();) {
      const std::size_t end = std::min(name.find('/', begin), name.size());
      const std::string_view part = name.substr(begin, end - begin);
      if (part.empty()) return "the name of a group in it is empty ('/' stands between names of groups)";
      if (part == "." || part == "..") return "'" + std::string(part) + "' is no name of a group";
      begin = end + 1;
    }
    return {};
  }

  [[nodiscard]] bool is_as_in_memory() const override { return native_order == ByteOrder::little; }

  [[nodiscard]] FileImage image(const mesh::Definitions& definitions, base::RangeRule range) const override {
    if (!make_) throw base::Error(base::Errc::unsupported, "this process cannot make the metadata of HDF5 files: it is without HDF5");
    return make_(definitions, range);
  }

  [[nodiscard]] Finished finish(const FileImage& image, const Written& written) const override {
    const Hdf5Note note = note_of(image);
    const std::vector<Recorded> variables = recorded_in(image.layout, note);
    std::uint64_t records = written.records;
    const bool fits_header = std::all_of(variables.begin(), variables.end(), [&](const Recorded& variable) {
      return records <= variable.index.records_in_header();
    });
    if (written.goes_on) {   // what would lie behind the data would lie where data are still to come
      for (const Recorded& variable : variables) records = std::min(records, variable.index.records_in_header());
    }
    const Bytes end = hdf5_data_end(image.layout, variables, records);   // whatever was put of it
    if (end >= base::largest_offset - 2 * hdf5_index_most) return {{}, base::largest_offset};

    Finished finished;
    Bytes behind = base::align_up(end, 8);
    const bool in_header = fits_header || written.goes_on;
    if (!in_header) check_index_size(variables, records);
    for (const Recorded& variable : variables) {
      // What an earlier call has left there goes: the bytes of a file do not depend on how often it was made durable.
      ChunkIndex::Written index = variable.index.in_header(variable.places->nodes_begin, in_header ? records : 0);
      if (!in_header) {
        finished.patches.push_back(std::move(index.nodes.front()));
        index = variable.index.behind_data(behind, records);
        behind += variable.index.bytes(records);
      }
      std::move(index.nodes.begin(), index.nodes.end(), std::back_inserter(finished.patches));
      finished.patches.push_back({variable.places->index_offset, hdf5_number(index.root)});
      finished.patches.push_back({variable.places->length_offset, hdf5_number(records)});
    }
    for (const Bytes offset : note.counts) finished.patches.push_back({offset, hdf5_number(records)});
    finished.size = in_header ? end : behind;
    // A file that goes on is as long as what was put so far, and a reader refuses one that is shorter than it says.
    const Bytes says = written.goes_on ? std::min(end, std::max(image.layout.header_bytes, written.highest_end)) : finished.size;
    finished.patches.push_back({note.end_offset, hdf5_number(says)});
    finished.patches.push_back({image.layout.header_bytes - note.encode().size(), hdf5_number(records)});
    return finished;
  }

  [[nodiscard]] std::optional<std::uint64_t> take_records(const FileLayout& layout, std::span<std::byte> header) const override {
    if (header.size() != layout.header_bytes) return std::nullopt;
    auto note = Hdf5Note::find(layout, header);
    if (!note) return std::nullopt;
    const auto put = [&](Bytes offset, std::uint64_t value) {
      const auto bytes = hdf5_number(value);
      std::copy(bytes.begin(), bytes.end(), header.begin() + static_cast<std::ptrdiff_t>(offset));
    };
    for (const Recorded& variable : recorded_in(layout, *note)) {
      put(variable.places->length_offset, 0);
      put(variable.places->index_offset, no_hdf5_address);
      const auto nodes = header.subspan(variable.places->nodes_begin, variable.index.bytes_in_header());
      std::fill(nodes.begin(), nodes.end(), std::byte{0});
    }
    for (const Bytes offset : note->counts) put(offset, 0);
    put(note->end_offset, note->first_end);
    const std::uint64_t records = std::exchange(note->records, 0);
    put(layout.header_bytes - note->encode().size(), 0);
    return records;
  }

 private:
  static void check_index_size(const std::vector<Recorded>& variables, std::uint64_t records) {
    Bytes bytes = 0;
    for (const Recorded& variable : variables) {
      bytes += std::min(variable.index.bytes(records), hdf5_index_most);
      if (bytes < hdf5_index_most) continue;
      throw base::Error(base::Errc::unsupported,
                        "HDF5's index of " + std::to_string(records) + " records of '" + variable.layout->name + "' would be too large",
                        "write fewer steps into one file");
    }
  }

  MakeHdf5Image make_;
};

}  // namespace

std::unique_ptr<const Format> make_hdf5_format(MakeHdf5Image make) { return std::make_unique<Hdf5Format>(std::move(make)); }

constexpr std::uint64_t parts_looked_for = 1 << 20;   // of a dimension: more would be too many for an index

mesh::Shape hdf5_chunk_of(const mesh::Shape& record, Bytes element_bytes, Bytes most) {
  mesh::Shape chunk = record;
  Bytes inner = element_bytes;
  std::size_t cut = record.size();   // the first dimension of which not all fits into a chunk
  while (cut > 0 && inner <= most / record[cut - 1]) inner *= record[--cut];
  if (cut == 0) return chunk;
  --cut;
  std::fill(chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(cut), 1);
  const std::uint64_t length = record[cut], fitting = most / inner;
  const bool is_outermost = std::all_of(record.begin(), record.begin() + static_cast<std::ptrdiff_t>(cut),
                                        [](std::uint64_t each) { return each == 1; });
  // What the last chunk has too much lies behind the record; within it there is no room for that.
  std::uint64_t parts = (length - 1) / fitting + 1;
  while (!is_outermost && length % parts != 0) parts = parts < parts_looked_for ? parts + 1 : length;
  chunk[cut] = (length - 1) / parts + 1;
  return chunk;
}

}  // namespace glean::store
