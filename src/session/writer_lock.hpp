// SPDX-License-Identifier: BSD-3-Clause
//
// That a file is being made under its working name, as other jobs see it.
#pragma once

#include <string>

namespace glean::session {

class WriterLock {
 public:
  // Locks the working file, which exists, until this goes, or the process is killed. Throws invalid_state where another process has locked
  // a working file of the same name: it is making `path`, too. Where the file system has no locks it does nothing. Local, reads the
  // directory once.
  WriterLock(const std::string& working_path, const std::string& path);
  ~WriterLock();
  WriterLock(WriterLock&& other) noexcept;
  WriterLock& operator=(WriterLock&&) = delete;
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace glean::session
