// SPDX-License-Identifier: BSD-3-Clause
#include "opening_way.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/log.hpp"
#include "failure.hpp"
#include "pool/other_handles.hpp"
#include "session/agreement.hpp"
#include "stand_in_handle.hpp"

namespace glean::mpiio {

using session::ByteOutput;

std::shared_ptr<Target> find_target(Session& session, const std::string& path) {
  auto target = session.find_target(path);
  return target && target->output && !target->output->has_its_name() ? nullptr : target;
}

bool is_written_aside(Session& session, const std::string& path) {
  const std::lock_guard lock(session.one_at_a_time());
  const auto target = find_target(session, path);
  return target && target->aside;
}

void say(const std::string& filename, const std::optional<base::Error>& error) {
  if (error && error->code() != base::Errc::not_found) base::log(base::LogLevel::error, "'{}': {}", filename, error->what());
}

Refused finish_or_refuse(Session& session, const std::string& path) {
  Refused refused;
  say(path, session::caught([&] { refused = ByteOutput::finish_or_refuse(*session.core(), path); }));
  return refused;
}

// Open MPI 4 takes no null handle there.
int not_opened(int code) {
  const StandInHandle stand_in(MPI_MODE_RDONLY, MPI_INFO_NULL);
  if (stand_in.is_open()) PMPI_File_call_errhandler(stand_in.file(), code);
  return code;
}

int refuse(Session& session, MPI_Comm comm, const Refused& of_root, MPI_File* fh) {
  std::uint64_t words[2] = {0, 0};   // the code, and which output it is on several nodes
  if (of_root) {
    words[0] = static_cast<std::uint64_t>(error_class(base::Error(of_root->code, "")));
    words[1] = of_root->job_output;
  }
  PMPI_Bcast(words, 2, MPI_UINT64_T, 0, comm);
  if (words[1] != 0) ByteOutput::told(*session.core(), {.job_output = words[1]});
  *fh = MPI_FILE_NULL;
  return not_opened(static_cast<int>(words[0]));
}

namespace {

// Whether any rank of the node has that file open, under this name or another.
bool is_open_anywhere(Session& session, const std::string& path) {
  bool is_it = false;
  // No such directory: then there is no such output.
  static_cast<void>(session::caught([&] { is_it = ByteOutput::find_open(*session.core(), path).has_value(); }));
  return is_it;
}

// Handles of the MPI library's write it, and nothing of it is captured. Local.
bool is_written_by_mpi(Session& session, const std::string& path) {
  const bool is_it = session.is_written_by_mpi(path) || pool::is_passed(session.core()->pool().header(), path);
  return is_it && !is_open_anywhere(session, path);
}

// Only the stagers see what is open under that name: the MPI library has nothing to open.
bool is_open_at_stagers(Session& session, const std::string& path) {
  bool is_it = false;
  static_cast<void>(session::caught([&] { is_it = ByteOutput::is_open_at_stagers(*session.core(), path); }));
  return is_it;
}

bool has_open(Session& session, const std::string& path) {
  const std::lock_guard lock(session.one_at_a_time());
  return find_target(session, path) != nullptr;
}

// Of what is not here. A name that is taken is looked for no further where it must be new: any other way than to capture it says so.
std::optional<Way> look_there(Session& session, const std::string& path, int amode) {
  if ((amode & MPI_MODE_CREATE) == 0 || !ByteOutput::may_be_at_stagers(*session.core(), path)) return std::nullopt;
  const bool is_taken = (amode & MPI_MODE_EXCL) != 0 && ByteOutput::exists_at_stagers(*session.core(), path);
  return is_taken ? Way::working : Way::at_stagers;
}

// On one rank: what the file system says.
Way look(Session& session, const std::string& path, int amode) {
  struct stat status {};
  const auto may = [](const std::string& name, int access) { return faccessat(AT_FDCWD, name.c_str(), access, AT_EACCESS) == 0; };
  if (stat(path.c_str(), &status) != 0) {
    const int why = errno;
    std::optional<Way> there;
    if (why == ENOENT || why == ENOTDIR) say(path, session::caught([&] { there = look_there(session, path, amode); }));
    if (there) return *there;
    if (why != ENOENT || (amode & MPI_MODE_CREATE) == 0) return Way::original;
    return may(std::filesystem::path(path).parent_path().string(), W_OK | X_OK) ? Way::captured : Way::original;
  }
  const bool is_wrong = !S_ISREG(status.st_mode) || (amode & MPI_MODE_EXCL) != 0;
  const int access = (amode & MPI_MODE_RDWR) != 0 ? R_OK | W_OK : W_OK;
  return is_wrong || !may(path, access) ? Way::original : Way::captured;
}

}  // namespace

Said all_say(MPI_Comm comm, int amode, const Said& mine) {
  std::int64_t least[7] = {amode, -amode, mine.is_found ? -1 : 0, static_cast<int>(mine.way)};
  std::copy(mine.spare.begin(), mine.spare.end(), least + 4);
  PMPI_Allreduce(MPI_IN_PLACE, least, 7, MPI_INT64_T, MPI_MIN, comm);
  return {.way = static_cast<Way>(least[3]), .is_found = least[2] != 0, .spare = {least[4], least[5], least[6]},
          .modes_differ = least[0] != -least[1]};
}

Said choose(Session& session, MPI_Comm comm, const std::string& path, int amode, bool stand_in_is_open, const SpareComm& spare) {
  int rank = 0, ranks = 1;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &ranks);
  const bool mine = has_open(session, path);
  const bool passes = is_written_by_mpi(session, path);
  Way way = passes ? Way::original : Way::as_root_says;
  Refused refused;
  if (rank == 0 && !passes) {
    const std::lock_guard lock(session.one_at_a_time());
    if (mine || is_open_anywhere(session, path)) {
      const bool is_shared = mine && ranks == 1;
      way = !is_shared && is_open_at_stagers(session, path) ? Way::impossible : Way::working;
    } else {
      refused = finish_or_refuse(session, path);
      // Ranks that open a file apart from each other would not choose the same.
      int all = 0;
      PMPI_Comm_size(session.core()->comm(), &all);
      const bool passes_through = ranks == all && session.compares(path) && session.read_back().passes_through(path);
      way = refused ? Way::refused : passes_through ? Way::original : look(session, path, amode);
    }
  }
  const bool lacks_nodes = session.core()->pool().header().lost_nodes != 0;   // what is captured would not be published
  if (!stand_in_is_open || lacks_nodes) way = Way::original;
  Said all = all_say(comm, amode, {way, mine, spare.words()});
  all.refused = refused;
  if (all.modes_differ) all.way = Way::original;
  if (all.way <= Way::original) return all;
  const bool is_captured = all.way == Way::captured || all.way == Way::at_stagers;
  if (all.is_found) {
    all.way = ranks == 1 && !is_written_aside(session, path) ? Way::shared : Way::working;
  } else if (is_captured && session.is_on_several_nodes() && !ByteOutput::are_on_all_nodes(*session.core(), comm)) {
    const bool is_there = all.way == Way::at_stagers;
    if (rank == 0 && !is_there) session.core()->notice(session::Core::Notice::files_not_on_all_nodes);
    all.way = is_there ? Way::impossible : Way::original;
  }
  return all;
}

}  // namespace glean::mpiio
