// SPDX-License-Identifier: BSD-3-Clause
//
// The file that an output becomes: written under a working name, then published.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "base/bytes.hpp"
#include "base/settings.hpp"
#include "store/posix/system_calls.hpp"

namespace glean::store {

using base::Bytes;

// Where an output is written and where it will appear. Both are absolute and in one directory; they are
// equal when publishing in place.
struct FileNames {
  std::string working_path;
  std::string final_path;
  friend bool operator==(const FileNames&, const FileNames&) = default;
};

// Chooses both names for `path` and checks that publishing can work: the directory exists and can be
// written, unless a file in it is written in place; `path` is not a directory and not a read-only file (a file
// without any write permission bit is read-only for root too), and with `refuse_existing` not there at all.
// A symbolic link is followed, so that the link stays. `unique` tells this job's working file from another's.
// Throws not_found, permission, exists.
[[nodiscard]] FileNames choose_names(const std::string& path, base::Publish publish, bool refuse_existing,
                                     const std::string& unique);

// What was `unique` of a working path that choose_names() has made; empty: of a file in place. Pure.
[[nodiscard]] std::string unique_in(std::string_view working_path);

// Absolute and without symbolic links; none, and errno: why. Not the standard library's: in a program under `glean run` its calls are
// taken for the program's, which wait for the drain. Local.
[[nodiscard]] std::optional<std::string> real_path(const std::string& path);

// Where `path` leads: absolute and without symbolic links. The file need not exist, its directory must. Throws not_found.
[[nodiscard]] std::string resolved_path(const std::string& path);
// Under which name the output is written that becomes `final_path`.
[[nodiscard]] std::string working_path(const std::string& final_path, base::Publish publish, const std::string& unique);

// Gives the working file, which exists, the permission bits of the file that it will replace, if there is one. Throws on failure. Local.
void hand_on_permissions(const FileNames& names);

class File {
 public:
  // Opens the working file, which exists, for writing; a second descriptor with O_DIRECT where `direct_io` and
  // the file system allow it. `calls` must outlive the file. Throws on failure.
  File(SystemCalls& calls, FileNames names, base::DirectIo direct_io);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  [[nodiscard]] int buffered_descriptor() const { return buffered_; }
  [[nodiscard]] int direct_descriptor() const { return direct_; }   // -1: no direct I/O here
  [[nodiscard]] Bytes block_bytes() const { return block_bytes_; }  // alignment of direct requests; at least 4 KiB
  [[nodiscard]] const FileNames& names() const { return names_; }

  // Others write into it too: until it is complete it is never cut, not even to undo what reserve() did.
  void share() { shared_ = true; }
  // Makes the file at least `size_bytes` long, so that requests in any order never extend it. `data_bytes` of what
  // is added will be written: if that is most of it the room is allocated, which finds a full disk at once (throws
  // no_space if all of it will be written) and makes direct writes cheaper. A file with large holes keeps them.
  void reserve(Bytes size_bytes, Bytes data_bytes = std::numeric_limits<Bytes>::max());
  // Cuts the file to `size_bytes`, if it is longer, or makes it as long: it is complete.
  void resize(Bytes size_bytes);
  // Writes all of `data` through the page cache. Blocks.
  void write(std::span<const std::byte> data, Bytes offset);
  // fsync. After a failed one the file is never trusted again: every later call throws. Blocks.
  void synchronize();
  // synchronize, rename to the final name, fsync of the directory. A file that is replaced hands its permission
  // bits on if they are others than when this was opened: the rank that has made the working file has given it those
  // (hand_on_permissions()), and the program may have changed them since. Blocks.
  void publish();
  // Publishes in two parts, of which only the second changes a name.
  void prepare_to_publish();
  void take_name();
  void keep_name();
  // The program has given it another name, under which it is written in place.
  void was_moved(const std::string& path) { names_ = {path, path}; }
  // Where it is to appear from now on.
  void become(std::string final_path) { names_.final_path = std::move(final_path); }
  // False once an fsync has failed.
  [[nodiscard]] bool is_trusted() const { return !failed_; }
  // With what others have written and made durable, if it is shared.
  [[nodiscard]] Bytes current_size() const;
  // Tell whether a file of the final name is this one.
  [[nodiscard]] std::uint64_t inode() const;
  [[nodiscard]] std::uint64_t device() const;
  // Its working path leads to it.
  [[nodiscard]] bool has_its_name() const;
  // No path does, as far as the file system counts them.
  [[nodiscard]] bool is_removed() const;
  // Others may have given it its final name already: it is in place then.
  void follow_final_name();
  // Its directory may have been renamed: then its names are those that it has there.
  void follow_directory();
  // Removes the working file (unless in place). Does not throw.
  void discard() noexcept;

 private:
  void check_usable() const;
  [[nodiscard]] struct stat status(int descriptor) const;
  void synchronize_directory();
  void extend(Bytes size_bytes);

  SystemCalls& calls_;
  FileNames names_;
  int buffered_ = -1;
  int direct_ = -1;
  Bytes block_bytes_ = 4096;
  std::atomic<bool> failed_ = false;      // an fsync did
  bool published_ = false;
  bool shared_ = false;
  std::optional<mode_t> replaced_mode_;   // of the file that will be replaced, when this was opened
};

}  // namespace glean::store
