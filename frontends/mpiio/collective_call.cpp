// SPDX-License-Identifier: BSD-3-Clause
#include "collective_call.hpp"

#include "captured_file.hpp"
#include "session.hpp"

namespace glean::mpiio {

CollectiveCall::CollectiveCall(Target& target, MPI_Comm comm, Kind kind, bool counts)
    : target_(target), comm_(comm), kind_(kind),
      way_(counts && target.ranks != 0 && !target.output->has_last_collective_count() ? Way::counted : Way::barrier) {
  if (target.is_put_to) way_ = Way::none;
  if (way_ == Way::barrier || kind == Kind::read) static_cast<void>(Session::barrier(comm));
  if (way_ == Way::counted) target.output->count_collective();
}

CollectiveCall::~CollectiveCall() {
  if (way_ == Way::counted) target_.output->count_collective();
  else if (way_ == Way::barrier && kind_ == Kind::read) static_cast<void>(Session::barrier(comm_));
}

}  // namespace glean::mpiio
