// SPDX-License-Identifier: BSD-3-Clause
//
// The file of an output, from opening it until it has its name, is discarded, or is left for another try.
//
// What the program was told is safe stays, whatever fails: bytes that all ranks have synchronized (MPI_File_sync), and steps that
// wait(durable) has returned for. A file that is not complete is published with them, under its final name or, if a file is there, beside
// that (store/posix/unclosed.hpp). Of an output that has failed, what is in the file then is kept. The header of a file with steps has said
// how many there are since they were made durable; fixed variables may have what a later step has put, and have no fill values.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "drain/output.hpp"
#include "store/posix/file.hpp"

namespace glean::drain {

class OutputFile {
 public:
  explicit OutputFile(DrainedOutput& output) : output_(output) {}

  // The program may have renamed it since it was closed, or removed it.
  void follow_new_name();
  // `shared`: ranks write into it, too. `is_retried`: the storage had refused it while ranks went on. `is_unclosed`: not all ranks had
  // closed it. Returns why there is nothing to be written any more, if it is so. Throws what the storage says.
  [[nodiscard]] std::optional<base::Error> open(bool shared, bool is_retried, bool is_unclosed);
  // Makes it long enough. Throws what the storage says.
  void reserve(Bytes end, Bytes unreserved) {
    if (!output_.is_elsewhere()) file_->reserve(end, unreserved);
  }

  [[nodiscard]] store::File* get() { return file_.get(); }   // nullptr: it could not be opened, or is elsewhere
  // An fsync of it has failed, and nothing that was written before can be trusted.
  [[nodiscard]] bool is_lost() const { return file_ != nullptr && !file_->is_trusted(); }
  // It was there before, or others have it open, too, and it has its final name.
  [[nodiscard]] bool is_in_place() const;
  // A drain before this one had renamed it when it was killed.
  [[nodiscard]] bool was_published() const { return was_published_; }
  // Another job has written one under its final name.
  [[nodiscard]] bool is_superseded() const { return is_superseded_; }
  // The program has removed it: there is nothing to publish.
  [[nodiscard]] bool is_removed() const { return is_removed_; }
  void found_removed() { is_removed_ = true; }

  // Not all ranks have closed it, and it is published all the same.
  [[nodiscard]] bool is_unclosed() const { return is_unclosed_; }
  void leave_unclosed() { is_unclosed_ = true; }

  // Publishes such a file. Without checksums: they would be beside the final name before it is known whether the file gets that. Without
  // the lock.
  void publish_unclosed();
  void published();
  // The output has failed: the file goes, unless something in it `was_promised`. Without the lock.
  void discard(bool was_promised) noexcept;
  // The file is closed: an open one would keep its space.
  void discarded();
  // For another try.
  void leave();

 private:
  [[nodiscard]] bool keep() noexcept;
  void cut_additions() noexcept;
  void tell_slot();
  [[nodiscard]] bool is_to_be_made(std::uint64_t publishing_inode) const;
  void tell_of_unclosed(const std::optional<std::string>& path);

  DrainedOutput& output_;
  std::unique_ptr<store::File> file_;
  bool was_published_ = false, is_superseded_ = false, is_removed_ = false, is_unclosed_ = false;
  std::optional<std::string> kept_as_;   // of a failed output, what was promised is
};

}  // namespace glean::drain
