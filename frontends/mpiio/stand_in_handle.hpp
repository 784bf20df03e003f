// SPDX-License-Identifier: BSD-3-Clause
//
// The stand-in handle that a program has of a captured file: the MPI library's own, of a file without bytes. What the program sets it
// keeps: hints, view, error handler. To open one costs as much as to open a file, so one that was closed as it was opened serves the next
// file. A view is kept until the program asks for it: HDF5 sets two for each write, and never asks.
#pragma once

#include <mpi.h>

#include <optional>
#include <utility>

#include "datatype_copy.hpp"
#include "flat_type.hpp"
#include "hints.hpp"

namespace glean::mpiio {

class StandInHandle {
 public:
  StandInHandle() = default;
  // MPI_FILE_NULL where the MPI library cannot. `access`: MPI_MODE_RDONLY, MPI_MODE_WRONLY or MPI_MODE_RDWR. Local, any thread.
  StandInHandle(int access, MPI_Info info);
  ~StandInHandle();
  StandInHandle(StandInHandle&& other) noexcept
      : file_(std::exchange(other.file_, MPI_FILE_NULL)), access_(other.access_), hints_(std::move(other.hints_)),
        is_changed_(other.is_changed_), kept_view_(std::move(other.kept_view_)) {}
  StandInHandle& operator=(StandInHandle&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(access_, other.access_);
    std::swap(hints_, other.hints_);
    std::swap(is_changed_, other.is_changed_);
    std::swap(kept_view_, other.kept_view_);
    return *this;
  }

  [[nodiscard]] MPI_File file() const { return file_; }
  [[nodiscard]] bool is_open() const { return file_ != MPI_FILE_NULL; }
  // The handle for calls that have to do with the view. Throws CallFailed if the MPI library refuses it now.
  [[nodiscard]] MPI_File file_with_view();
  // As MPI_File_set_view and the like, which return a code. `flat`: the filetype as bytes, null where that is not known. Local.
  int set_view(MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype, const FlatType* flat, const char* representation,
               MPI_Info info);
  int set_info(MPI_Info info);
  int get_info(MPI_Info* info) const;
  // Those that are kept for other files. Local.
  static void close_spare();

 private:
  struct View {
    MPI_Offset displacement;
    DatatypeCopy etype, filetype;
  };

  MPI_File file_ = MPI_FILE_NULL;
  int access_ = 0;
  Hints hints_;   // as it was opened
  bool is_changed_ = false;   // then it serves no other file
  std::optional<View> kept_view_;
};

}  // namespace glean::mpiio
