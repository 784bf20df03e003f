// SPDX-License-Identifier: BSD-3-Clause
//
// Files that a program reads as soon as it has written them: capture may cost more than it saves, because the reader waits for the
// drain. Three of them are then left to the MPI library, and what took less time goes on.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <string>

#include "base/bytes.hpp"

namespace glean::mpiio {

// What this process has seen. Files whose names differ in their numbers only belong together. Any thread.
class ReadBack {
 public:
  // Whether the next file of that name is for the MPI library to write. Says what it decides.
  [[nodiscard]] bool passes_through(const std::string& path);
  // Whether the next file of that name may be read as soon as it is written: the last one was, or it is the first. What may be read is to
  // stay in the page cache. Asked before it begins.
  [[nodiscard]] bool may_be_read(const std::string& path);
  // A file of that name is written from now on, and read perhaps.
  void begin(const std::string& path, bool is_captured);
  // The calls on it took that long, in which a reader waited for the drain; `bytes`: of the file, when it is closed.
  void add(const std::string& path, std::uint64_t blocked_ns, std::uint64_t waited_ns, base::Bytes bytes);
  // The last file of that name is read. False: none was written.
  bool note_read(const std::string& path);

 private:
  struct File {   // the last one
    bool is_captured = true, is_read = false;
    std::uint64_t blocked_ns = 0;
    std::uint64_t waited_ns = 0;
    base::Bytes bytes = 0;
  };
  // The fastest of several files counts: the first of a kind is slow for other reasons.
  struct Account {
    int files = 0;
    double ns_per_byte = std::numeric_limits<double>::infinity();
  };
  enum class Choice { none, comparing, captured, original };
  struct Family {
    File file;
    Account captured, original;
    Choice choice = Choice::none;
    bool next_may_be_read = true;
    void end_file();
  };
  std::mutex lock_;
  std::map<std::string, Family> families_;
};

}  // namespace glean::mpiio
