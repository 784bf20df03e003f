// SPDX-License-Identifier: BSD-3-Clause
//
// The interface to everything that writes. Nothing else of the program knows which implementation is at work: process_writer.cpp,
// collective_writer.cpp, reduced_writer.cpp, or glean_writer.cpp.
#pragma once

#include <mpi.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "vtk_file.hpp"

namespace nekcem {

enum class Way { none, file_per_process, collective, reduced, threaded_reduced, glean };
enum class FileFormat { vtk, vtkhdf };      // of Way::glean; the others write legacy VTK
enum class Cells { linear, lagrange };       // of Way::glean: N³ hexahedra of each element, or one of order N

// Ranks in consecutive groups, as equal as can be. The first rank of a group is its writer.
class Groups {
 public:
  Groups(int ranks, int groups) : ranks_(ranks), groups_(groups) {}
  [[nodiscard]] int count() const { return groups_; }
  [[nodiscard]] int first(int group) const { return static_cast<int>((static_cast<long long>(ranks_) * group + groups_ - 1) / groups_); }
  [[nodiscard]] int of(int rank) const { return static_cast<int>(static_cast<long long>(rank) * groups_ / ranks_); }
  [[nodiscard]] bool is_writer(int rank) const { return first(of(rank)) == rank; }
  [[nodiscard]] Range run(const std::vector<Range>& runs, int group) const {   // the elements of all ranks of a group
    return {runs[static_cast<std::size_t>(first(group))].first, runs[static_cast<std::size_t>(first(group + 1)) - 1].end};
  }

 private:
  int ranks_, groups_;
};

// Seconds of a steady clock, which a thread may ask, unlike MPI's.
[[nodiscard]] inline double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// What this rank has spent from before a file was opened until after it was closed.
struct FileTime {
  int number = 0;   // of the output
  double begin = 0, end = 0;   // of now()
};

enum class Durability { leave_to_kernel, fsync };

struct WriterSettings {
  std::string directory = ".";
  Way way = Way::collective;
  int files = 1;
  int groups = 1;   // of ranks with a writer each
  FileFormat format = FileFormat::vtk;
  Cells cells = Cells::linear;
  Durability durability = Durability::leave_to_kernel;
};

class Writer {
 public:
  virtual ~Writer() = default;
  // Writes one output. The fields may change as soon as it returns. Collective, blocks. Throws std::runtime_error.
  virtual void write(const Snapshot& snapshot) = 0;
  // No more outputs; returns when all files of this rank are closed. Collective, blocks.
  virtual void finish() = 0;
  // Of the files that this rank wrote; complete after finish().
  [[nodiscard]] virtual const std::vector<FileTime>& file_times() const = 0;
  // Whether this rank, or a thread of it, writes files. Complete after finish().
  [[nodiscard]] virtual bool writes_files() const { return !file_times().empty(); }
  // What an output takes on the storage, all files together. Local.
  [[nodiscard]] virtual std::int64_t output_bytes(const Snapshot& snapshot) const;
};

// Collective. Null for Way::none.
std::unique_ptr<Writer> make_writer(MPI_Comm comm, const WriterSettings& settings);

std::unique_ptr<Writer> make_process_writer(MPI_Comm comm, const WriterSettings& settings);
std::unique_ptr<Writer> make_collective_writer(MPI_Comm comm, const WriterSettings& settings);
std::unique_ptr<Writer> make_reduced_writer(MPI_Comm comm, const WriterSettings& settings);
std::unique_ptr<Writer> make_glean_writer(MPI_Comm comm, const WriterSettings& settings);

// The names that NekCEM gives to these files, without the directory. `index` numbers the files of an output.
[[nodiscard]] std::string file_name(Way way, int files, int number, int index);
// Writes the meta file of an output of several files, if there are several, and `runs` says which of them exist. Local, for one rank.
void write_meta_file(const WriterSettings& settings, int number, const std::vector<Range>& runs);

}  // namespace nekcem
