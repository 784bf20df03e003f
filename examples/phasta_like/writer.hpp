// SPDX-License-Identifier: BSD-3-Clause
//
// The interface to everything that writes. Nothing else of the program knows which implementation is at work: posix_writer.cpp, which does
// what PHASTA does, or glean_writer.cpp.
#pragma once

#include <mpi.h>

#include <memory>
#include <span>
#include <string>

#include "part.hpp"
#include "vortex.hpp"

namespace phasta {

enum class Way { none, posix, glean };
enum class FileFormat { vtkhdf, vtk };   // of Way::glean

// An output as a value: what this rank has of it. The mesh is another one in each output, and a rank may have none of it. Refers to data
// of the program.
struct Snapshot {
  const Part& part;
  std::span<const State> solution;   // at the points of the part
  int number = 0;                    // of the output, from 0
  int step = 0;
  double time = 0;
};

enum class Durability { leave_to_kernel, fsync };

struct WriterSettings {
  Way way = Way::posix;
  std::string directory = ".";
  Durability durability = Durability::leave_to_kernel;   // of Way::posix
  FileFormat format = FileFormat::vtkhdf;
};

class Writer {
 public:
  virtual ~Writer() = default;
  // Writes one output. Mesh and solution may change as soon as it returns. Collective, blocks. Throws std::runtime_error.
  virtual void write(const Snapshot& snapshot) = 0;
  // No more outputs; returns when all files are closed. Collective, blocks.
  virtual void finish() = 0;
};

// Collective. Null for Way::none.
std::unique_ptr<Writer> make_writer(MPI_Comm comm, const WriterSettings& settings);
std::unique_ptr<Writer> make_posix_writer(MPI_Comm comm, const WriterSettings& settings);
std::unique_ptr<Writer> make_glean_writer(MPI_Comm comm, const WriterSettings& settings);

// The file that GLEAN writes of an output, without the directory.
[[nodiscard]] std::string solution_name(int step, FileFormat format);

}  // namespace phasta
