// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "store/container/container.hpp"
#include "store/sums/checksum.hpp"

namespace glean::store {
namespace {

class Verifier {
 public:
  Verifier(const Container& container, const Progress& progress)
      : container_(container), progress_(progress), buffer_(container_piece_bytes) {}

  ContainerVerification verify() {
    for (const PhysicalFile& file : container_.physical_files()) {
      if (!file.why_by_trailers.empty()) result_.differences.push_back({file.path, {}, {}, file.why_by_trailers});
    }
    for (const Container::Task& task : container_.tasks()) {
      const PhysicalFile& file = container_.physical_files()[task.file];
      const TaskReader reader = container_.reader(task);
      for (const ChunkOfTask& chunk : reader.chunks()) {
        const std::string what = difference_of(file, task, chunk, reader);
        if (!what.empty()) result_.differences.push_back({file.path, task.rank, chunk.chunk, what});
        ++result_.chunks;
      }
    }
    return std::move(result_);
  }

 private:
  // In words; empty: it is good.
  std::string difference_of(const PhysicalFile& file, const Container::Task& task, const ChunkOfTask& chunk, const TaskReader& reader) {
    EncodedTrailer bytes{};
    const std::size_t there = file.input->read(bytes, file.chunks[task.local].trailer_of(chunk.chunk));
    const auto trailer = parse_chunk_trailer(std::span(bytes).first(there));
    if (!trailer) return "its trailer is damaged";
    if (trailer->id != file.header.id) return "its trailer is of another container";
    if (trailer->rank != task.rank || trailer->chunk != chunk.chunk) {
      return fmt::format("its trailer is that of chunk {} of task {}", trailer->chunk, trailer->rank);
    }
    if (trailer->used != chunk.used) return fmt::format("its trailer says {} bytes, the index {}", trailer->used, chunk.used);
    return sum_of_chunk(chunk, reader) == trailer->sum ? "" : fmt::format("its {} bytes differ from their checksum", chunk.used);
  }

  std::uint64_t sum_of_chunk(const ChunkOfTask& chunk, const TaskReader& reader) {
    StreamingSum sum;
    for (Bytes done = 0; done < chunk.used;) {
      const auto part = std::span(buffer_).first(static_cast<std::size_t>(std::min<Bytes>(container_piece_bytes, chunk.used - done)));
      if (reader.is_hole(chunk.position + done, part.size())) std::fill(part.begin(), part.end(), std::byte{0});
      else static_cast<void>(reader.read(part, chunk.position + done));
      sum.add(part);
      done += part.size();
      result_.bytes += part.size();
      progress_(result_.bytes);
    }
    return sum.value();
  }

  const Container& container_;
  const Progress& progress_;
  std::vector<std::byte> buffer_;
  ContainerVerification result_;
};

}  // namespace

ContainerVerification verify_container(const Container& container, const Progress& progress) {
  return Verifier(container, progress).verify();
}

}  // namespace glean::store
