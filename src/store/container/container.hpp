// SPDX-License-Identifier: BSD-3-Clause
//
// A container that is there, to read from: one physical file or several, of GLEAN or of SIONlib, closed or cut off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/container/chunk_trailer.hpp"
#include "store/container/container_index.hpp"
#include "store/posix/input_file.hpp"

namespace glean::store {

// One file of a container, with what is known of its chunks.
struct PhysicalFile {
  std::string path;
  std::unique_ptr<InputFile> input;
  Bytes bytes = 0;               // its length
  ContainerHeader header;
  std::vector<TaskChunks> chunks;
  ContainerIndex index;          // without mapping where it was made of trailers
  std::vector<LogicalFile> files;   // that have names
  std::string why_by_trailers;   // why the index is not used; empty: it is
};

// A chunk of a task, and which of its bytes are in it.
struct ChunkOfTask {
  std::uint64_t chunk = 0;
  Bytes offset = 0;     // in the physical file
  Bytes position = 0;   // of its first byte in the task
  Bytes used = 0;
  friend bool operator==(const ChunkOfTask&, const ChunkOfTask&) = default;
};

// The bytes of one task, or of one logical file, one after the other. Lives no longer than its container.
class TaskReader {
 public:
  TaskReader(const PhysicalFile& file, std::size_t local);

  [[nodiscard]] Bytes bytes() const { return bytes_; }
  [[nodiscard]] const std::vector<ChunkOfTask>& chunks() const { return chunks_; }
  // Returns how many there are from `position` on: fewer than wanted only at the end of the task. Throws io where the file has been cut
  // since it was opened, and what the system says. Blocks.
  [[nodiscard]] std::size_t read(std::span<std::byte> into, Bytes position) const;
  // No storage is taken by these bytes, which are zeros.
  [[nodiscard]] bool is_hole(Bytes position, Bytes bytes) const;
  // How many bytes of its chunk are at `position` and behind it.
  [[nodiscard]] Bytes left_in_chunk(Bytes position) const;

 private:
  // The chunk that has this position; bytes() is behind all.
  [[nodiscard]] std::vector<ChunkOfTask>::const_iterator find(Bytes position) const;

  const PhysicalFile& file_;
  std::vector<ChunkOfTask> chunks_;   // that have bytes
  Bytes bytes_ = 0;
};

class Container {
 public:
  // Opens `path` and the other files of the same container. Throws not_found, io with all defects of a file, naming it; invalid_argument:
  // `path` is not a container, or not the first of several. A file without a sound index is read by its trailers, up to the first chunk of
  // each task that is not whole; one that has no trailers either is refused. Blocks.
  Container(SystemCalls& calls, std::string path);

  struct Task {
    std::uint64_t rank = 0;   // global
    std::uint32_t file = 0, local = 0;
    std::uint64_t chunks = 0;
    Bytes bytes = 0;
  };

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::vector<PhysicalFile>& physical_files() const { return physical_; }
  // By ascending ranks.
  [[nodiscard]] const std::vector<Task>& tasks() const { return tasks_; }
  // Throws not_found.
  [[nodiscard]] const Task& task(std::uint64_t rank) const;
  // By ascending ranks and places: those with names, and each task without one as "task.00012".
  [[nodiscard]] const std::vector<LogicalFile>& files() const { return files_; }
  [[nodiscard]] TaskReader reader(const Task& task) const { return {physical_[task.file], task.local}; }
  // Whether every chunk has a trailer, with its checksum.
  [[nodiscard]] bool has_checksums() const;
  // All files are read by their index.
  [[nodiscard]] bool is_complete() const;

 private:
  void open_others(SystemCalls& calls);
  void list_tasks();
  void list_files();

  std::string path_;
  std::vector<PhysicalFile> physical_;
  std::vector<Task> tasks_;
  std::vector<LogicalFile> files_;
};

// Nothing but the header of a file, to see whether it is a container. Throws as Container does. Blocks.
[[nodiscard]] ContainerHeader read_container_header(const InputFile& file);
// As Container opens each of its files. Throws io and unsupported without naming it. Blocks.
[[nodiscard]] PhysicalFile open_physical_file(SystemCalls& calls, const std::string& path);

// A chunk, or an end, that is not what it should be.
struct ContainerDifference {
  std::string path;                       // of the physical file
  std::optional<std::uint64_t> rank, chunk;
  std::string what;
};
struct ContainerVerification {
  Bytes bytes = 0;                        // that were compared
  std::uint64_t chunks = 0;
  std::vector<ContainerDifference> differences;
};
// Told from time to time how many bytes are done.
using Progress = std::function<void(Bytes done)>;
// Reads every chunk that has bytes, and compares it with its trailer. Throws what the system says. Blocks.
[[nodiscard]] ContainerVerification verify_container(const Container& container, const Progress& progress);

}  // namespace glean::store
