// SPDX-License-Identifier: BSD-3-Clause
//
// Datatypes that stay when the program frees its own.
#pragma once

#include <mpi.h>

#include <utility>

namespace glean::mpiio {

// Whether it is one of MPI's own. Local.
[[nodiscard]] bool has_name(MPI_Datatype type);
// Frees a datatype that MPI has made, unless it has a name. Local.
void release(MPI_Datatype type);

class DatatypeCopy {
 public:
  explicit DatatypeCopy(MPI_Datatype type);   // one that has a name is itself
  ~DatatypeCopy() {
    if (type_ != MPI_DATATYPE_NULL) release(type_);
  }
  DatatypeCopy(DatatypeCopy&& other) noexcept : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}
  DatatypeCopy& operator=(DatatypeCopy&& other) noexcept {
    std::swap(type_, other.type_);
    return *this;
  }

  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_;
};

}  // namespace glean::mpiio
