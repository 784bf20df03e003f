// SPDX-License-Identifier: BSD-3-Clause
//
// Containers of task-local files: each rank writes a stream of its own, and all streams are in one file, or in a few. The file is one of
// SIONlib's multifile format (docs/containers.md). Included by glean/glean.hpp; a program without MPI that only reads may include it alone.
//
//   glean::TaskFile out = session.create_container("restart.sion", {.chunk_bytes = 1 << 20});
//   out.write(std::span(particles));    // one copy; `particles` may be overwritten at once
//   out.close();                        // does not wait for the disk
//
//   glean::ContainerInput all = session.open_container("restart.sion");
//   glean::TaskInput in = all.open(rank);
//   in.read(std::span(particles));
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#pragma GCC visibility push(default)

namespace glean {
inline namespace v0 {

enum class Level;   // glean/glean.hpp
class Error;

struct ContainerOptions {
  std::uint64_t chunk_bytes = 1 << 20;   // of this rank: about what it writes, for it gets more chunks if it writes more
  int files = 1;                         // physical files, 32 at most; 0: one of each node
  std::uint64_t block_bytes = 0;         // chunks are aligned to it; 0: the block of the file system
  int tasks_per_writer = 1;              // SIONlib's collective mode: chunks of so many ranks in a row share blocks; for small ones
  std::string name = {};                 // of the logical file that this rank begins with; empty: it has none
};

// One task of a container, and a logical file in it.
struct ContainerTask {
  std::uint64_t task = 0;       // the global rank that has written it
  std::uint64_t chunks = 0, bytes = 0;
};
struct ContainerFile {
  std::string name;
  std::uint64_t task = 0;
  std::uint64_t begin = 0, bytes = 0;   // within the task
};

// What this rank writes of a container. If begin_file or write throws, the container is not published, even if the program goes on.
class TaskFile {
 public:
  TaskFile(TaskFile&&) noexcept;
  TaskFile& operator=(TaskFile&&) noexcept;
  // Without close() before, the container is abandoned: nothing is published, and one that was there stays. Local.
  ~TaskFile();

  // What is written from now on is the logical file of that name, which is the only one of that name in the container: relative, without
  // "..", such as "rank00012/restart.bin". Local.
  void begin_file(std::string_view name);
  // Behind what this rank has written before. One memory copy, two for less than 64 KiB; waits only when the pool is full. Local.
  template <class T, std::size_t extent>
  void write(std::span<T, extent> values) {
    static_assert(std::is_trivially_copyable_v<T>, "only the bytes of a value are written");
    write_bytes(values.data(), values.size_bytes());
  }
  void write_bytes(const void* data, std::size_t bytes);
  // For what a program or a language binding refuses by itself: as if a write of this rank had thrown `error`, so that nothing is
  // published, and close() tells all ranks. Local.
  void fail(const Error& error);
  // The next `bytes` bytes will be in one chunk: begins another one if they do not fit into this. Throws invalid_argument where they do not
  // fit in any. Local.
  void ensure_free_space(std::uint64_t bytes);
  // For how many more this chunk has room. Local.
  [[nodiscard]] std::uint64_t bytes_avail_in_block() const;
  // How many bytes this rank has written. Local.
  [[nodiscard]] std::uint64_t position() const;

  // Waits until what all ranks have written so far is at `level`. Before close() `durable` means that it is on the storage, and after it
  // that the container is complete, under its name. Collective, blocks. Throws what the drain met.
  void wait(Level level);
  // No more writes: what each rank has used is gathered, and the container is completed and published in the background. In the modes
  // passthrough and collective it is published when this returns. Throws on all ranks what any has met, and then nothing is published.
  // Collective, waits for the other ranks.
  void close();
  // close(), and wait(level). Collective, blocks.
  void close(Level level);

  class Impl;
  explicit TaskFile(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

// The bytes of one task, or of one logical file, one after the other. All calls are Local. Reading waits for storage.
class TaskInput {
 public:
  TaskInput(TaskInput&&) noexcept;
  TaskInput& operator=(TaskInput&&) noexcept;
  ~TaskInput();

  // Reads what follows, and returns how many bytes: fewer than there is room for only at the end.
  template <class T, std::size_t extent>
  std::size_t read(std::span<T, extent> values) {
    static_assert(std::is_trivially_copyable_v<T>, "only the bytes of a value are read");
    return read_bytes(values.data(), values.size_bytes());
  }
  std::size_t read_bytes(void* into, std::size_t bytes);
  // Goes to a byte, or to one of a chunk. Throws out_of_range behind the end, and where the chunk has no such byte.
  void seek(std::uint64_t position);
  void seek(std::uint64_t chunk, std::uint64_t position);
  [[nodiscard]] std::uint64_t position() const;
  [[nodiscard]] std::uint64_t bytes() const;   // of all of it
  [[nodiscard]] bool eof() const;
  // How many bytes follow in the same chunk; 0 only at the end.
  [[nodiscard]] std::uint64_t bytes_avail_in_block() const;

  class Impl;
  explicit TaskInput(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

// A container that this rank reads, GLEAN's or SIONlib's. All calls are Local.
class ContainerInput {
 public:
  ContainerInput(ContainerInput&&) noexcept;
  ContainerInput& operator=(ContainerInput&&) noexcept;
  ~ContainerInput();

  [[nodiscard]] std::string path() const;
  // By ascending ranks. A program on other ranks than those that have written it shares them out as it likes.
  [[nodiscard]] std::vector<ContainerTask> tasks() const;
  // A task without names is "task.00012".
  [[nodiscard]] std::vector<ContainerFile> files() const;
  // Whether it was closed. Of one that was cut off each task has what is in its whole chunks, and names are lost.
  [[nodiscard]] bool is_complete() const;
  // A task, or a logical file, from its first byte on. They outlive this object. Throws not_found.
  [[nodiscard]] TaskInput open(std::uint64_t task) const;
  [[nodiscard]] TaskInput open(std::string_view name) const;

  class Impl;
  explicit ContainerInput(std::shared_ptr<Impl> impl);

 private:
  std::shared_ptr<Impl> impl_;
};

// For a program without a session, or without MPI. Throws not_found, permission, invalid_argument: it is not a container; io with all
// defects of one. Local, blocks.
[[nodiscard]] ContainerInput open_container(std::string_view path);

}  // namespace v0
}  // namespace glean

#pragma GCC visibility pop
