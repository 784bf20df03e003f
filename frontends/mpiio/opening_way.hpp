// SPDX-License-Identifier: BSD-3-Clause
//
// What becomes of a file that is opened: all ranks that open it choose the same.
#pragma once

#include <mpi.h>

#include <climits>
#include <memory>
#include <optional>
#include <string>

#include "captured_file.hpp"
#include "file_comm.hpp"
#include "session.hpp"

namespace glean::mpiio {

// What becomes of a file that is opened. The lowest that a rank says counts.
enum class Way : int {
  impossible = -2,   // only the stagers see it, and these ranks cannot open it as it is: an error, for nothing is to be made here instead
  refused = -1,   // what was closed under that name is kept in the pool, since the storage refuses it: to open it is an error
  original = 0,   // as it was: also whatever looks wrong, so that the error is the MPI library's
  working,        // a handle of the MPI library's beside others: it is captured already, through another handle
  shared,         // through the output of another handle of this process, all of which are captured
  captured,
  at_stagers,     // captured, and the stagers make the file: this node does not see its directory
  as_root_says = INT_MAX,
};

// An output that the storage refuses.
using Refused = std::optional<session::ByteOutput::UntoldFailure>;

// What one rank says, or all together: `is_found` then means that any rank has found it.
struct Said {
  Way way;
  bool is_found;   // to write: another handle of this process has it open; to read: it is closed, and not yet published
  SpareComm::Words spare = {};
  bool modes_differ = false;
  Refused refused{};   // on rank 0
};

// What all ranks say that open a file, whether to read or to write it: a program may mistake the one for the other. Collective, one
// reduction.
[[nodiscard]] Said all_say(MPI_Comm comm, int amode, const Said& mine);
// All ranks choose the same way to open a file to write, and agree on `spare`. Collective, one reduction, on several nodes two.
[[nodiscard]] Said choose(Session& session, MPI_Comm comm, const std::string& path, int amode, bool stand_in_is_open,
                          const SpareComm& spare);

// What this process has open and finds under that name: not what the program has removed meanwhile. With Session::one_at_a_time().
[[nodiscard]] std::shared_ptr<Target> find_target(Session& session, const std::string& path);
// What would be captured through another handle would come after what the MPI library writes later.
[[nodiscard]] bool is_written_aside(Session& session, const std::string& path);
// Says what does not work; the call is the MPI library's then.
void say(const std::string& filename, const std::optional<base::Error>& error);
// On one rank, with Session::one_at_a_time(): what was closed under that name is published, or the storage refuses it.
[[nodiscard]] Refused finish_or_refuse(Session& session, const std::string& path);
// Calls the error handler of files that could not be opened, and returns the code.
int not_opened(int code);
// `of_root`: of rank 0. An error on all ranks: begun anew, the file would lack what is kept. Collective.
int refuse(Session& session, MPI_Comm comm, const Refused& of_root, MPI_File* fh);

}  // namespace glean::mpiio
