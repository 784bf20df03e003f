// SPDX-License-Identifier: BSD-3-Clause
//
// The hints that a program has given with a file.
#pragma once

#include <mpi.h>

#include <map>
#include <string>

namespace glean::mpiio {

class Hints {
 public:
  // Adds those of `info`, which may be MPI_INFO_NULL.
  void add(MPI_Info info);
  void set(const std::string& key, const std::string& value) { values_[key] = value; }
  // A new info of them, which the caller frees.
  [[nodiscard]] MPI_Info make_info() const;
  bool operator==(const Hints&) const = default;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace glean::mpiio
