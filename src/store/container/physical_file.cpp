// SPDX-License-Identifier: BSD-3-Clause
//
// Opens one file of a container: by its index, or by the trailers of its chunks.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "store/container/container.hpp"

namespace glean::store {
namespace {

std::vector<std::byte> read_range(const InputFile& file, Bytes begin, Bytes size) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  bytes.resize(file.read(bytes, begin));
  return bytes;
}

// Everything that is wrong with the end of the file throws.
void read_index(PhysicalFile& file) {
  const ContainerHeader& header = file.header;
  if (!header.is_closed()) throw base::Error(base::Errc::io, "it was never closed");
  if (header.index_begin >= file.bytes) throw base::Error(base::Errc::io, "it is cut off before its index");
  const Bytes size = file.bytes - header.index_begin;
  if (size > container_index_most) {
    throw base::Error(base::Errc::unsupported, fmt::format("its index of {} bytes is longer than can be read", size));
  }
  const std::vector<std::byte> bytes = read_range(*file.input, header.index_begin, size);
  ParsedIndex parsed = parse_container_index(header, bytes);
  if (header.id) {
    const Bytes names = name_table_begin(header.index_begin, parsed.bytes) - header.index_begin;
    if (names > bytes.size()) throw base::Error(base::Errc::io, "it is cut off before its table of names");
    NameTable table = parse_name_table(std::span(bytes).subspan(static_cast<std::size_t>(names)));
    if (table.id != *header.id) throw base::Error(base::Errc::io, "its table of names is of another container");
    if (table.index_sum != sum_of(std::span(bytes).first(static_cast<std::size_t>(parsed.bytes)))) {
      throw base::Error(base::Errc::io, "its index differs from its checksum");
    }
    const std::vector<std::byte> begin = read_range(*file.input, 0, container_header_bytes(header.tasks()));
    if (table.header_sum != sum_of(begin)) throw base::Error(base::Errc::io, "its header differs from its checksum");
    file.files = std::move(table.files);
  }
  file.index = std::move(parsed.index);
}

// Up to the first chunk that is not whole, or not of this container.
std::vector<Bytes> chunks_by_trailers(const PhysicalFile& file, std::size_t task) {
  std::vector<Bytes> used;
  const TaskChunks& chunks = file.chunks[task];
  EncodedTrailer bytes{};
  while (chunks.capacity() > 0 && chunks.ends_before(used.size(), file.bytes)) {
    if (file.input->read(bytes, chunks.trailer_of(used.size())) < bytes.size()) break;
    const auto trailer = parse_chunk_trailer(bytes);
    const bool is_its_own = trailer && trailer->id == *file.header.id && trailer->rank == file.header.global_ranks[task] &&
                            trailer->chunk == used.size() && trailer->used <= chunks.capacity();
    if (!is_its_own) break;
    used.push_back(trailer->used);
    if (trailer->is_last) break;
  }
  return used;
}

void read_trailers(PhysicalFile& file) {
  std::vector<std::vector<Bytes>> used;
  used.reserve(file.header.tasks());
  for (std::size_t task = 0; task < file.header.tasks(); ++task) used.push_back(chunks_by_trailers(file, task));
  file.index = make_container_index(used);
  file.header.chunks_most = file.index.chunks_most();
}

}  // namespace

ContainerHeader read_container_header(const InputFile& file) {
  const Bytes size = file.bytes();
  for (Bytes wanted = 64 * base::KiB;; wanted *= 16) {
    const std::vector<std::byte> begin = read_range(file, 0, std::min({wanted, size, container_header_most}));
    if (auto header = parse_container_header(begin, size)) return std::move(*header);
    if (begin.size() < std::min({wanted, size, container_header_most}))
      throw base::Error(base::Errc::io, "it has become shorter meanwhile");
  }
}

PhysicalFile open_physical_file(SystemCalls& calls, const std::string& path) {
  PhysicalFile file;
  file.path = path;
  file.input = std::make_unique<InputFile>(calls, path);
  file.bytes = file.input->bytes();
  file.header = read_container_header(*file.input);
  file.chunks = file.header.chunks();
  try {
    read_index(file);
  } catch (const base::Error& error) {
    if (!file.header.id) {
      throw base::Error(error.code(), error.what(),
                        "it has no trailers by which it could be read without its index: GLEAN's containers have some, SIONlib's have not");
    }
    file.why_by_trailers = error.what();
    read_trailers(file);
  }
  return file;
}

}  // namespace glean::store
