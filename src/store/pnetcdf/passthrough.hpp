// SPDX-License-Identifier: BSD-3-Clause
//
// Writes an output with PnetCDF's own collective calls: the baseline of every comparison, and what serves where
// nothing can be captured.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "store/pnetcdf/definitions.hpp"

namespace glean::store {

// All members are collective over the communicator unless they say Local. Errors are those of this rank; the
// caller makes the ranks agree.
class PassthroughFile {
 public:
  PassthroughFile(MPI_Comm comm, const std::string& path, const Definitions& definitions);
  // Abandons the file if it was not closed; it stays on disk as it is.
  ~PassthroughFile();
  PassthroughFile(const PassthroughFile&) = delete;
  PassthroughFile& operator=(const PassthroughFile&) = delete;

  // Queues one box of a variable for this step; `data` is contiguous and is copied. Local.
  void put(int variable, std::uint64_t record, const mesh::Box& box, mesh::Type memory, const void* data);
  // Writes what was queued, and the fill values of the record if variables want them.
  // Throws out_of_range for NC_ERANGE; the rest has been written then.
  void end_step(std::uint64_t record);
  // Waits for the storage.
  void synchronize();
  void close();

 private:
  struct Queued {
    int request;
    std::vector<std::byte> data;
  };
  int id_ = -1;
  std::string path_;
  Definitions definitions_;
  std::vector<Queued> queued_;
  std::string out_of_range_;   // first variable that had such a value in this step
};

}  // namespace glean::store
