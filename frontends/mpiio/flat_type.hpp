// SPDX-License-Identifier: BSD-3-Clause
//
// An MPI datatype as bytes: what MPI tells of how it was made, flattened.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "byte_map.hpp"

namespace glean::mpiio {

// A value: the datatype may be freed. Local; asks MPI about the datatype and all that it consists of.
class FlatType {
 public:
  // Every combiner of MPI-3.1, which are also those of types that MPI-1's calls made. Throws unsupported when the datatype
  // was made in a way that is not known, or what comes out is not of the size and true extent that MPI says: such a call is
  // MPI's own.
  explicit FlatType(MPI_Datatype type);

  [[nodiscard]] Bytes size() const { return map_.bytes(); }
  [[nodiscard]] std::int64_t lb() const { return lb_; }
  [[nodiscard]] std::int64_t extent() const { return extent_; }
  [[nodiscard]] std::int64_t true_lb() const { return map_.begin(); }
  [[nodiscard]] std::int64_t true_ub() const { return map_.end(); }
  // One block without holes, which goes on when the type is repeated.
  [[nodiscard]] bool is_contiguous() const {
    return map_.is_contiguous() && extent_ == static_cast<std::int64_t>(map_.bytes());
  }
  [[nodiscard]] const ByteMap& map() const { return map_; }

 private:
  ByteMap map_;
  std::int64_t lb_ = 0;
  std::int64_t extent_ = 0;
};

}  // namespace glean::mpiio
