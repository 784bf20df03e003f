// SPDX-License-Identifier: BSD-3-Clause
//
// Communicators for the calls of files. A duplicate of the program's costs several rounds of messages, so one that no file needs any more
// serves the next file of the same ranks.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <memory>

namespace glean::mpiio {

class FileComm {
 public:
  // What becomes of it: whatever it is, it is the same on all ranks.
  enum class End { left_to_mpi, freed, spare };

  FileComm(MPI_Comm comm, std::int64_t number) : comm_(comm), number_(number) {}
  // One that is freed. Collective.
  [[nodiscard]] static std::shared_ptr<FileComm> duplicate(MPI_Comm comm);
  ~FileComm();
  FileComm(const FileComm&) = delete;
  FileComm& operator=(const FileComm&) = delete;

  [[nodiscard]] MPI_Comm get() const { return comm_; }
  void ends(End end) { end_ = end; }
  // Whether this rank can keep one more. Local, any thread.
  [[nodiscard]] static bool has_room();

 private:
  MPI_Comm comm_;
  std::int64_t number_;   // by which ranks know that they mean the same
  End end_ = End::left_to_mpi;
};

// A spare one that this rank would use for a file, with the ranks of `like` in their order. Goes back if it is not used. Local, any thread.
class SpareComm {
 public:
  explicit SpareComm(MPI_Comm like);
  ~SpareComm();
  SpareComm(const SpareComm&) = delete;
  SpareComm& operator=(const SpareComm&) = delete;

  // What all ranks reduce by MPI_MIN to agree on it.
  using Words = std::array<std::int64_t, 3>;
  [[nodiscard]] Words words() const;
  // The communicator of the file: this one if all ranks mean the same, or a duplicate. Once. Collective, blocks if it is a duplicate.
  [[nodiscard]] std::shared_ptr<FileComm> use(const Words& least);

 private:
  MPI_Comm like_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::int64_t number_ = 0;
};

}  // namespace glean::mpiio
