// SPDX-License-Identifier: BSD-3-Clause
//
// Writes an output with PnetCDF's own collective calls: the baseline of every comparison, and what serves where
// nothing can be captured.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "store/format/cdf/cdf.hpp"

namespace glean::store {

// How PnetCDF is to write: as it does by itself, unless told otherwise.
struct Tuning {
  std::vector<std::pair<std::string, std::string>> hints;          // for MPI-IO
  Bytes batch_bytes = std::numeric_limits<Bytes>::max();           // variables go together until they have so many
};

// All members are collective over the communicator unless they say Local. Errors are those of this rank; the
// caller makes the ranks agree.
class PassthroughFile {
 public:
  PassthroughFile(MPI_Comm comm, const std::string& path, CdfVersion version, const mesh::Definitions& definitions,
                  const Tuning& tuning = {});
  // Abandons the file if it was not closed; it stays on disk as it is.
  ~PassthroughFile();
  PassthroughFile(const PassthroughFile&) = delete;
  PassthroughFile& operator=(const PassthroughFile&) = delete;

  // Where everything lies. Local.
  [[nodiscard]] FileLayout layout() const;
  // Queues one box of a variable for this step; `data` is contiguous. Local.
  void put(int variable, std::uint64_t record, const mesh::Box& box, mesh::Type memory, std::vector<std::byte> data);
  // Writes what was queued, and the fill values of the record if variables want them.
  // Throws out_of_range, which names the first such element, for NC_ERANGE; the rest has been written then.
  void end_step(std::uint64_t record);
  // Gives an attribute that is defined other values, of its type and number, in native byte order. The same on all ranks.
  void set_attribute(const mesh::Attribute& attribute);
  // Waits for the storage.
  void synchronize();
  void close();

 private:
  struct Queued {
    int variable;
    int request;
    std::vector<std::byte> data;
  };
  // Writes what was queued of variables in front of `end`, and says what went wrong; NC_ERANGE is no matter.
  [[nodiscard]] int write_queued(int end);

  int id_ = -1;
  std::string path_;
  CdfVersion version_;
  mesh::Definitions definitions_;
  std::vector<int> batch_ends_;   // variables in front of it, from the one before on, are written together
  std::vector<Queued> queued_;
  std::optional<base::Error> out_of_range_;   // the first such value of this step
};

}  // namespace glean::store
