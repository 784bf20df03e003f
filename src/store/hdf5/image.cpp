// SPDX-License-Identifier: BSD-3-Clause
#include "store/hdf5/image.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "store/format/hdf5/chunk_index.hpp"
#include "store/format/hdf5/hdf5.hpp"
#include "store/format/hdf5/note.hpp"
#include "store/hdf5/define.hpp"
#include "store/hdf5/memory_driver.hpp"
#include "store/hdf5/object_header.hpp"
#include "store/hdf5/placed_image.hpp"
#include "store/hdf5/scales.hpp"

namespace glean::store {
namespace {

constexpr double chunks_of_record_most = 1 << 20;
constexpr Bytes header_most = base::GiB;
constexpr Bytes all_most = Bytes{1} << 62;   // of all variables together
constexpr char what[] = "cannot make the metadata of an HDF5 file";

// A record or dataset that is worth it begins with a block of the file system.
Bytes alignment_of(Bytes bytes) { return bytes >= 64 * base::KiB ? 4 * base::KiB : 8; }

Bytes alignment_of(const FileLayout& layout) {
  Bytes alignment = 8;
  for (const VariableLayout& variable : layout.variables) alignment = std::max(alignment, alignment_of(variable.record_bytes()));
  return alignment;
}

void check_sizes(const mesh::Definitions& definitions) {
  Bytes all = header_most;
  for (std::size_t v = 0; v < definitions.variables.size(); ++v) {
    Bytes bytes = mesh::size_of(definitions.variables[v].external);
    bool fits = true;
    for (const std::uint64_t length : definitions.shape(static_cast<int>(v))) fits = fits && !__builtin_mul_overflow(bytes, length, &bytes);
    // Chunks may have twice as much, and alignment adds a block.
    fits = fits && bytes < all_most / 4 && (all += 2 * bytes + 8 * base::KiB) < all_most;
    if (!fits) throw base::Error(base::Errc::invalid_argument, "variable '" + definitions.variables[v].name + "' is larger than any file");
  }
}

// Where a record has an awkward shape and more than 4 GiB, its chunks may be tiny.
void require_few_chunks(const VariableLayout& variable, const mesh::Shape& chunk) {
  double chunks = 1;
  for (std::size_t d = 0; d < chunk.size(); ++d) chunks *= static_cast<double>((variable.shape[d] - 1) / chunk[d] + 1);
  if (chunks <= chunks_of_record_most) return;
  throw base::Error(base::Errc::invalid_argument, "HDF5 would cut each record of '" + variable.name + "' into more than a million chunks",
                    "give its inner dimensions lengths that are no large prime numbers");
}

// All but the places.
DatasetPlaces planned(const mesh::Definitions& definitions, base::RangeRule range) {
  DatasetPlaces places;
  places.layout.format = hdf5_name;
  places.layout.range = range;
  for (std::size_t v = 0; v < definitions.variables.size(); ++v) {
    const int id = static_cast<int>(v);
    const mesh::VariableDefinition& definition = definitions.variables[v];
    VariableLayout& variable = places.layout.variables.emplace_back();
    variable.name = definition.name;
    variable.external = definition.external;
    variable.shape = definitions.shape(id);
    variable.fill = definition.fill;
    variable.fill_value = hdf5_fill_value(definitions, id);
    variable.stored.order = ByteOrder::little;
    variable.record_stride_bytes = definitions.per_step(id) ? all_most : 0;   // any, until it is known
    places.chunks.push_back(variable.per_step() ? hdf5_chunk_of(variable.shape, mesh::size_of(variable.external)) : mesh::Shape{});
    require_few_chunks(variable, places.chunks.back());
  }
  return places;
}

// Datasets one behind the other, then records, which have one of each variable.
void place(DatasetPlaces& places, Bytes header_bytes) {
  FileLayout& layout = places.layout;
  layout.header_bytes = header_bytes;
  Bytes at = header_bytes;
  for (VariableLayout& variable : layout.variables) {
    if (variable.per_step()) continue;
    variable.begin_bytes = base::align_up(at, alignment_of(variable.record_bytes()));
    at = variable.begin_bytes + variable.record_bytes();
  }
  Bytes alignment = 8;
  for (const VariableLayout& variable : layout.variables) {
    if (variable.per_step()) alignment = std::max(alignment, alignment_of(variable.record_bytes()));
  }
  const Bytes records_begin = at = base::align_up(at, alignment);
  for (std::size_t v = 0; v < layout.variables.size(); ++v) {
    VariableLayout& variable = layout.variables[v];
    if (!variable.per_step()) continue;
    variable.begin_bytes = base::align_up(at, alignment_of(variable.record_bytes()));
    at = variable.begin_bytes + ChunkIndex(variable, places.chunks[v]).record_bytes();
  }
  const Bytes stride = base::align_up(at - records_begin, alignment);
  for (VariableLayout& variable : layout.variables) {
    if (variable.per_step()) variable.record_stride_bytes = stride;
  }
}

struct Made {
  std::vector<std::byte> metadata;
  std::vector<Bytes> headers;   // addresses of the datasets' object headers
  std::vector<Bytes> counts;    // of attributes that count records, which are 0
};

// Where the metadata have the mark of an attribute that counts records, which is there once.
std::vector<Bytes> counts_in(const std::vector<std::byte>& metadata, const mesh::Definitions& definitions) {
  std::vector<Bytes> counts;
  for (std::size_t a = 0; a < definitions.attributes.size(); ++a) {
    if (!definitions.attributes[a].counts_records) continue;
    const std::uint64_t mark = hdf5_count_mark(a);
    const auto bytes = std::as_bytes(std::span(&mark, 1));
    const auto found = std::search(metadata.begin(), metadata.end(), bytes.begin(), bytes.end());
    const bool is_one = found != metadata.end() && std::search(found + 1, metadata.end(), bytes.begin(), bytes.end()) == metadata.end();
    if (!is_one) throw base::Error(base::Errc::io, std::string(what) + ": an attribute that counts records is not found");
    counts.push_back(static_cast<Bytes>(found - metadata.begin()));
  }
  return counts;
}

Made make_metadata(const MemoryDriver& driver, const mesh::Definitions& definitions, const DatasetPlaces& places) {
  require_hdf5_of_headers();
  MetadataFile memory;
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, what), creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose, what);
  driver.use(access.id(), memory);
  // What every version reads, and the oldest B-trees, which ChunkIndex writes.
  check(H5Pset_libver_bounds(access.id(), H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST), what);
  check(H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG), what);
  check(H5Pset_obj_track_times(creation.id(), false), what);
  Handle file(H5Fcreate("glean", H5F_ACC_TRUNC, creation.id(), access.id()), H5Fclose, what);
  Made made;
  made.headers = define(file.id(), memory, definitions, places);
  attach_scales(file.id(), definitions);
  file.close(what);
  made.metadata = memory.metadata();
  made.counts = counts_in(made.metadata, definitions);
  for (const Bytes offset : made.counts) std::memset(made.metadata.data() + offset, 0, sizeof(std::uint64_t));
  return made;
}

// Of each attribute that changes all bytes, so that the metadata show where they are. The top bits remain: by them text is ASCII or not.
constexpr std::size_t changes_most = 127;

mesh::Definitions changed(const mesh::Definitions& definitions) {
  mesh::Definitions others = definitions;
  std::size_t number = 0;
  for (mesh::Attribute& attribute : others.attributes) {
    if (!attribute.changes) continue;
    if (++number > changes_most) {
      throw base::Error(base::Errc::unsupported, "at most " + std::to_string(changes_most) + " attributes of an HDF5 file can change");
    }
    for (std::byte& each : attribute.values) each ^= static_cast<std::byte>(number);
  }
  return others;
}

// Where the metadata have the values of these. `others`: the metadata of what changed() has made.
std::vector<VariableLayout> attributes_in(const std::vector<std::byte>& metadata, const std::vector<std::byte>& others,
                                          const mesh::Definitions& definitions) {
  std::vector<VariableLayout> attributes;
  for (const mesh::Attribute& attribute : definitions.attributes) {
    if (!attribute.changes) continue;
    attributes.push_back({.name = attribute.name, .external = attribute.type, .shape = {attribute.count()}, .stored = {ByteOrder::little}});
  }
  std::vector<Bytes> found(attributes.size());
  for (std::size_t at = 0; at < metadata.size(); ++at) {
    const auto number = std::to_integer<std::size_t>(metadata[at] ^ others[at]);
    if (number == 0) continue;
    const bool is_one = number <= attributes.size();
    if (!is_one || (found[number - 1] != 0 && attributes[number - 1].begin_bytes + found[number - 1] != at)) {
      throw base::Error(base::Errc::io, std::string(what) + ": attributes that change are not found");
    }
    if (found[number - 1]++ == 0) attributes[number - 1].begin_bytes = at;
  }
  for (std::size_t a = 0; a < attributes.size(); ++a) {
    if (found[a] == attributes[a].record_bytes()) continue;
    throw base::Error(base::Errc::unsupported, "attribute '" + attributes[a].name + "' of an HDF5 file cannot change");
  }
  return attributes;
}

Hdf5Note note_of(const Made& made, const DatasetPlaces& places) {
  Hdf5Note note;
  note.counts = made.counts;
  note.end_offset = end_offset(made.metadata);
  note.first_end = whole_size(places.layout, 0);
  Bytes nodes_begin = base::align_up(made.metadata.size(), 8);
  for (std::size_t v = 0; v < places.layout.variables.size(); ++v) {
    const VariableLayout& variable = places.layout.variables[v];
    if (!variable.per_step()) continue;
    const RecordPlaces found = record_places(made.metadata, made.headers[v]);
    note.variables.push_back({found.length_offset, found.index_offset, nodes_begin, places.chunks[v]});
    nodes_begin += ChunkIndex(variable, places.chunks[v]).bytes_in_header();
  }
  return note;
}

// With room for the chunk indexes and the note.
Bytes header_bytes_of(const Made& made, const DatasetPlaces& places) {
  const Hdf5Note note = note_of(made, places);
  Bytes end = base::align_up(made.metadata.size(), 8);
  std::size_t records = 0;
  for (std::size_t v = 0; v < places.layout.variables.size(); ++v) {
    const VariableLayout& variable = places.layout.variables[v];
    if (variable.per_step()) end = note.variables[records++].nodes_begin + ChunkIndex(variable, places.chunks[v]).bytes_in_header();
  }
  return base::align_up(end + note.encode().size(), alignment_of(places.layout));
}

}  // namespace

FileImage make_hdf5_image(const mesh::Definitions& definitions, base::RangeRule range) {
  check_sizes(definitions);
  const QuietErrors quiet;
  const MemoryDriver driver;
  DatasetPlaces places = planned(definitions, range);
  // How long the metadata are does not depend on where the data lie.
  place(places, header_most);
  const Bytes header_bytes = header_bytes_of(make_metadata(driver, definitions, places), places);
  if (header_bytes > header_most) throw base::Error(base::Errc::invalid_argument, std::string(what) + ": it would be larger than 1 GiB");
  place(places, header_bytes);
  Made made = make_metadata(driver, definitions, places);
  if (header_bytes_of(made, places) != header_bytes) throw base::Error(base::Errc::io, std::string(what) + ": its size changes");

  if (const mesh::Definitions others = changed(definitions); others != definitions) {
    places.layout.attributes = attributes_in(made.metadata, make_metadata(driver, others, places).metadata, definitions);
  }
  const Hdf5Note note = note_of(made, places);
  std::memcpy(made.metadata.data() + note.end_offset, &note.first_end, sizeof note.first_end);
  const std::vector<std::byte> noted = note.encode();
  FileImage image{std::move(places.layout), {}};
  image.metadata.push_back({0, std::move(made.metadata)});
  image.metadata.push_back({header_bytes - noted.size(), noted});
  return image;
}

}  // namespace glean::store
