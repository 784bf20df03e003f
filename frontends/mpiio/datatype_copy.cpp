// SPDX-License-Identifier: BSD-3-Clause
#include "datatype_copy.hpp"

namespace glean::mpiio {

bool has_name(MPI_Datatype type) {
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  return combiner == MPI_COMBINER_NAMED;
}

void release(MPI_Datatype type) {
  if (!has_name(type)) PMPI_Type_free(&type);
}

DatatypeCopy::DatatypeCopy(MPI_Datatype type) : type_(type) {
  if (!has_name(type)) PMPI_Type_dup(type, &type_);
}

}  // namespace glean::mpiio
