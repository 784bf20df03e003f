// SPDX-License-Identifier: BSD-3-Clause
//
// The handle that a program has of a captured file: the MPI library's own, of a file without bytes. What the program sets it keeps: hints,
// view, error handler. To open one costs as much as to open a file, so one that was closed as it was opened serves the next file.
#pragma once

#include <mpi.h>

#include <utility>

#include "hints.hpp"

namespace glean::mpiio {

class Token {
 public:
  Token() = default;
  // MPI_FILE_NULL where the MPI library cannot. `access`: MPI_MODE_RDONLY, MPI_MODE_WRONLY or MPI_MODE_RDWR. Local, any thread.
  Token(int access, MPI_Info info);
  ~Token();
  Token(Token&& other) noexcept
      : file_(std::exchange(other.file_, MPI_FILE_NULL)), access_(other.access_), hints_(std::move(other.hints_)),
        is_changed_(other.is_changed_) {}
  Token& operator=(Token&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(access_, other.access_);
    std::swap(hints_, other.hints_);
    std::swap(is_changed_, other.is_changed_);
    return *this;
  }

  [[nodiscard]] MPI_File file() const { return file_; }
  [[nodiscard]] bool is_open() const { return file_ != MPI_FILE_NULL; }
  // Its hints or its view: it serves no other file then.
  void was_changed() { is_changed_ = true; }
  // Those that are kept for other files. Local.
  static void close_spare();

 private:
  MPI_File file_ = MPI_FILE_NULL;
  int access_ = 0;
  Hints hints_;   // as it was opened
  bool is_changed_ = false;
};

}  // namespace glean::mpiio
