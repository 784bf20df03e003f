// SPDX-License-Identifier: BSD-3-Clause
//
// A file to read from.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "store/posix/system_calls.hpp"

namespace glean::store {

// The bytes of a file that this host does not see: the least that reading needs. Errors name the file.
class FileSource {
 public:
  virtual ~FileSource() = default;
  // Of the file as it was when the source was made.
  [[nodiscard]] virtual base::Bytes bytes() const = 0;
  // Returns how many there are: fewer than wanted only at the end of the file. Blocks.
  [[nodiscard]] virtual std::size_t read_at(std::span<std::byte> into, base::Bytes offset) const = 0;
};

// All of it throws what the system says, and blocks.
class InputFile {
 public:
  InputFile(SystemCalls& calls, std::string path);
  // Of a file that is somewhere else, which nothing is known of but its bytes.
  explicit InputFile(std::unique_ptr<FileSource> source) : source_(std::move(source)) {}
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // Throws io when it is no regular file.
  [[nodiscard]] base::Bytes bytes() const;
  // What its storage has of it, in whole blocks of the file system: fewer than bytes() where it has holes, or is compressed.
  [[nodiscard]] base::Bytes stored_bytes() const;
  // Its storage has nothing of these bytes, as far as the file system says.
  [[nodiscard]] bool is_hole(base::Extent extent) const;
  // Returns how many there are: fewer than wanted only at the end of the file.
  [[nodiscard]] std::size_t read(std::span<std::byte> into, base::Bytes offset) const;
  // Begins to fetch these bytes into the page cache, and waits for them only as far as the storage cannot take the request. A hint: where
  // the system does not follow it, read() fetches them. Any thread, beside read().
  void will_need(base::Extent extent) const noexcept;
  // What lies behind the end reads as zeros.
  void read_with_zeros(std::span<std::byte> into, base::Bytes offset) const;
  // As read_with_zeros(), of what is read once: large extents past the page cache, where the file system does that. Returns where in
  // `blocks` the bytes are, which is aligned to `block_bytes` and has room for all blocks that the extent touches.
  static constexpr base::Bytes block_bytes = 4096;
  [[nodiscard]] std::span<const std::byte> read_once(base::Extent extent, std::span<std::byte> blocks);
  // All of it, from the begin, however long it is.
  [[nodiscard]] std::vector<std::byte> read_all() const;

 private:
  [[nodiscard]] struct stat status() const;
  [[nodiscard]] base::Error cannot_read(int error) const;

  [[nodiscard]] base::Bytes read_direct(std::span<std::byte> blocks, base::Extent wanted);

  std::unique_ptr<FileSource> source_;   // instead of all the rest
  SystemCalls* calls_ = nullptr;
  std::string path_;
  int descriptor_ = -1;
  std::optional<int> direct_;   // once it is asked for; negative: there is no direct I/O here
};

}  // namespace glean::store
