// SPDX-License-Identifier: BSD-3-Clause
#include "opening.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "call.hpp"
#include "captured_file.hpp"
#include "failure.hpp"
#include "frontends/posix/other_sessions.hpp"
#include "frontends/posix/retiring.hpp"
#include "opening_way.hpp"
#include "passed_handle.hpp"
#include "session/agreement.hpp"

namespace glean::mpiio {
namespace {

using session::ByteOutput;


// As it is without GLEAN, perhaps under another name.
int open_original(MPI_Comm comm, const std::string& filename, int amode, MPI_Info info, MPI_File* fh) {
  Session::passed_through().count(Call::open);
  return PMPI_File_open(comm, filename.c_str(), amode, info, fh);
}

// The name is of a file that GLEAN itself has made.
bool is_working_file(const std::string& filename) {
  const std::string name = filename.substr(filename.rfind('/') + 1);
  return name.starts_with(".") && name.find(".glean-") != std::string::npos && name.ends_with(".part");
}

// How long the part of a name is that says which file system is meant.
std::size_t prefix_of(const std::string& filename) { return filename.substr(0, filename.find('/')).find(':') + 1; }

// No file that a program keeps: such as the header that the library has PnetCDF make in memory.
bool is_special(const std::string& filename) {
  return filename.empty() || filename.starts_with("/proc/") || is_working_file(filename) || prefix_of(filename) != 0;
}

bool can_be_captured(Session& session, MPI_Comm comm, const std::string& filename, int amode) {
  if ((amode & (MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_SEQUENTIAL)) != 0) return false;
  return !is_special(filename) && session.captures(filename) && ByteOutput::can_capture(*session.core(), comm);
}

// Where a file is that is captured through another handle, for one of the MPI library's (session/other_handles.cpp). Local.
std::string working_path(Session& session, const std::string& path) {
  std::optional<std::string> found;
  say(path, session::caught([&] { found = ByteOutput::share_with_others(*session.core(), path); }));
  return found.value_or(path);
}

// Gives the same name to all ranks. Collective.
std::string working_path_of_all(Session& session, MPI_Comm comm, const std::string& path) {
  std::string working = working_path(session, path);
  working.resize(PATH_MAX);
  PMPI_Bcast(working.data(), PATH_MAX, MPI_CHAR, 0, comm);
  return working.c_str();
}

// A handle of the MPI library's. What fails is not the program's business: its error handler is not called. Collective.
int open_quietly(MPI_Comm comm, const char* path, int amode, MPI_Info info, MPI_File* fh) {
  MPI_Errhandler of_program = MPI_ERRHANDLER_NULL;
  PMPI_File_get_errhandler(MPI_FILE_NULL, &of_program);
  PMPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  const int code = PMPI_File_open(comm, path, amode, info, fh);
  PMPI_File_set_errhandler(MPI_FILE_NULL, of_program);
  if (code == MPI_SUCCESS) {
    PMPI_File_set_errhandler(*fh, of_program);
    Session::passed_through().count(Call::open);
  }
  PMPI_Errhandler_free(&of_program);
  return code;
}

// Collective.
int open_working_file(Session& session, MPI_Comm comm, const std::string& path, int amode, MPI_Info info, MPI_File* fh) {
  const std::string working = working_path_of_all(session, comm, path);
  const int code = open_quietly(comm, working.c_str(), amode & ~(MPI_MODE_CREATE | MPI_MODE_EXCL), info, fh);
  if (code != MPI_SUCCESS) return code;
  ByteOutput::forget_checksums(working);
  if (auto passed = PassedHandle::of(session.core(), comm, working)) session.add(*fh, {nullptr, nullptr, std::move(passed)});
  return code;
}

// What a rank does to open a file: since when, and how long it has waited for a drain. Waiting for ranks that come late is not in it.
struct Opening {
  std::uint64_t begin_ns = base::now_ns();
  std::uint64_t waited_ns = 0;
};

// A handle of the MPI library's on a file such as the program has written: what calls on it take is compared.
void watch(Session& session, MPI_File fh, const std::string& path, bool is_written, const Opening& opening) {
  const auto watched = std::make_shared<Watched>();
  watched->path = path;
  watched->is_written = is_written;
  watched->blocked_ns = base::now_ns() - opening.begin_ns;
  watched->waited_ns = opening.waited_ns;
  Session::Handle handle = Session::find(fh);
  handle.watched = watched;
  session.add(fh, std::move(handle));
}

// Where the program opens a file that is not to be captured: it may be, under another name, or be opened again to be captured.
int open_past(Session& session, MPI_Comm comm, const std::string& filename, int amode, MPI_Info info, MPI_File* fh) {
  const bool may_be_captured = session.core()->has_pool() && !is_working_file(filename);
  const std::string path = Session::absolute(filename.substr(prefix_of(filename)));
  if (may_be_captured) static_cast<void>(working_path(session, path));
  const bool may_be_written = may_be_captured && (amode & kinds_of_access) != MPI_MODE_RDONLY;
  if (may_be_written) posix::wait_to_cut("MPI_File_open", AT_FDCWD, path.c_str());   // or overwritten
  const int code = open_original(comm, filename, amode, info, fh);
  if (code != MPI_SUCCESS || !may_be_written) return code;
  if (auto passed = PassedHandle::of(session.core(), comm, path)) session.add(*fh, {nullptr, nullptr, std::move(passed)});
  return code;
}

// Where a file is that is only read: what is on its way under that name is there then. Local.
std::string path_to_read(Session& session, const std::string& filename) {
  const std::string path = Session::absolute(filename);
  std::string working = path;
  say(filename, session::caught([&] {
        working = working_path(session, path);
        const std::lock_guard lock(session.one_at_a_time());
        if (working == path) ByteOutput::finish(*session.core(), path);
      }));
  if (session.core()->has_pool()) static_cast<void>(pool::forget_untouched(session.core()->pool().header(), path));
  return working == path ? filename : working;
}

// By some ranks when they first use it: then the name must still be that.
bool is_opened_later(MPI_File file) {
  MPI_Info hints = MPI_INFO_NULL;
  std::array<char, MPI_MAX_INFO_VAL + 1> value{};
  int is_there = 0;
  PMPI_File_get_info(file, &hints);
  PMPI_Info_get(hints, "romio_no_indep_rw", MPI_MAX_INFO_VAL, value.data(), &is_there);
  PMPI_Info_free(&hints);
  return is_there != 0 && std::string_view(value.data()) == "true";
}

bool is_unpublished(Session& session, const std::string& path) {
  bool is_it = false;
  static_cast<void>(session::caught([&] { is_it = ByteOutput::is_unpublished(*session.core(), path); }));   // of no such directory
  return is_it;
}

// What all ranks have closed is opened before it is published, if it can be: the storage need not have it for that. All ranks are
// here when its name is kept, so none waits elsewhere for the file to appear. Returns an error code, or nothing where it is to be opened
// as others. Collective, one reduction.
std::optional<int> open_unpublished(Session& session, MPI_Comm comm, const std::string& filename, int amode, MPI_Info info, MPI_File* fh,
                                    Opening& opening) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  const std::string path = Session::absolute(filename);
  const bool is_found = rank == 0 && is_unpublished(session, path);
  Refused refused;
  if (rank == 0 && !is_found) {
    const std::lock_guard lock(session.one_at_a_time());
    refused = finish_or_refuse(session, path);
  }
  const Said all = all_say(comm, amode, {refused ? Way::refused : Way::as_root_says, is_found});
  opening.begin_ns = base::now_ns();
  if (all.modes_differ) return std::nullopt;
  if (all.way == Way::refused) return refuse(session, comm, refused, fh);
  if (!all.is_found) return std::nullopt;
  if (rank != 0) {
    const std::lock_guard lock(session.one_at_a_time());
    static_cast<void>(session::caught([&] { ByteOutput::write_unpublished(*session.core(), path); }));   // rank 0 says why
  }
  std::unique_ptr<ByteOutput::KeptName> kept;
  std::array<char, PATH_MAX> working{};   // empty: none
  if (rank == 0) {
    const std::lock_guard lock(session.one_at_a_time());
    say(filename, session::caught([&] { kept = ByteOutput::keep_unpublished(*session.core(), path); }));
    if (kept) kept->working_path().copy(working.data(), working.size() - 1);
    else refused = finish_or_refuse(session, path);
    if (refused) working.back() = 1;
    opening.waited_ns = base::now_ns() - opening.begin_ns;
  }
  PMPI_Bcast(working.data(), PATH_MAX, MPI_CHAR, 0, comm);
  if (working.back() != 0) return refuse(session, comm, refused, fh);
  if (working[0] == '\0') return std::nullopt;
  const int code = open_quietly(comm, working.data(), amode, info, fh);
  int any[2] = {code == MPI_SUCCESS ? 1 : 0, code == MPI_SUCCESS ? 0 : 1};   // ranks that have it open, and that have not
  PMPI_Allreduce(MPI_IN_PLACE, any, 2, MPI_INT, MPI_MAX, comm);
  if (any[0] == 0) return std::nullopt;
  if (code != MPI_SUCCESS) return not_opened(code);
  if (any[1] != 0) return code;
  if (!is_opened_later(*fh)) return code;
  PMPI_File_close(fh);
  return std::nullopt;
}

// Null when it cannot be, on all ranks or none; it is to be looked at `again` if others have opened it. `failed`: there is nothing else to
// be opened, for this reason. Collective.
std::shared_ptr<CapturedFile> capture(Session& session, std::shared_ptr<FileComm> comm, const std::string& path, int amode, MPI_Info info,
                                      StandInHandle& stand_in, Way way, bool& again, int& failed) {
  CapturedFile::Opened opened{{}, std::move(comm), amode, nullptr, way != Way::shared, {}};
  opened.hints.add(info);
  if (way == Way::shared) {
    const std::lock_guard lock(session.one_at_a_time());
    opened.target = find_target(session, path);
    // Closed meanwhile, or switched to atomic mode, by another thread.
    again = opened.target == nullptr || opened.target->output == nullptr || opened.target->aside;
    if (again) {
      opened.comm->ends(FileComm::End::freed);
      return nullptr;
    }
    ++opened.target->handles;
  } else {
    opened.target = std::make_shared<Target>();
    opened.target->path = path;
    // Also of a file that is not there: another rank may have made it meanwhile.
    const bool is_there = way == Way::at_stagers;
    const auto where = is_there ? ByteOutput::Where::at_stagers : ByteOutput::Where::here;
    const auto error = session::caught([&] {
      opened.target->output = ByteOutput::open(session.core(), opened.comm->get(), path, ByteOutput::Existing::keep,
                                               opened.hints.of_striping(), where);
    });
    if (error) {
      int rank = 0;
      PMPI_Comm_rank(opened.comm->get(), &rank);
      again = error->code() == base::Errc::invalid_state || (is_there && error->code() == base::Errc::exists);   // made meanwhile
      const char* const what_becomes = is_there ? "is not opened" : "passes through";
      if (rank == 0 && !again) base::log(base::LogLevel::warning, "'{}' {}: {}", path, what_becomes, error->what());
      if (is_there) failed = error_class(error);
      opened.comm->ends(FileComm::End::freed);
      return nullptr;
    }
    opened.target->comm = opened.comm;
    if (!session.is_on_several_nodes()) PMPI_Comm_size(opened.comm->get(), &opened.target->ranks);
    session.add_target(opened.target);
  }
  if (way != Way::shared) {
    opened.target->may_be_read = session.read_back().may_be_read(path);
    if (opened.target->may_be_read) opened.target->output->expect_reading();
    session.read_back().begin(path, true);
  }
  opened.stand_in = std::move(stand_in);
  auto file = std::make_shared<CapturedFile>(session, std::move(opened));
  if ((amode & MPI_MODE_APPEND) != 0) file->move_to_end();
  session.add(file->stand_in(), {file, nullptr});
  return file;
}

int open_to_read(Session& session, MPI_Comm comm, const std::string& filename, int amode, MPI_Info info, MPI_File* fh) {
  Opening opening;
  std::optional<int> code;
  if (can_be_captured(session, comm, filename, amode)) code = open_unpublished(session, comm, filename, amode, info, fh, opening);
  if (!code) {
    const std::uint64_t before = base::now_ns();
    const std::string found = path_to_read(session, filename);
    opening.waited_ns += base::now_ns() - before;
    code = open_original(comm, found, amode, info, fh);
  }
  if (*code != MPI_SUCCESS) session.explain_missing(filename);
  const std::string path = Session::absolute(filename);
  if (*code == MPI_SUCCESS && session.read_back().note_read(path)) watch(session, *fh, path, false, opening);
  return *code;
}

int open_here(Session& session, MPI_Comm comm, const std::string& filename, int amode, MPI_Info info, MPI_File* fh) {
  const Opening opening;
  if ((amode & kinds_of_access) == MPI_MODE_RDONLY && !is_special(filename)) return open_to_read(session, comm, filename, amode, info, fh);
  const bool writes = (amode & kinds_of_access) == MPI_MODE_WRONLY || (amode & kinds_of_access) == MPI_MODE_RDWR;
  if (!writes || !can_be_captured(session, comm, filename, amode)) return open_past(session, comm, filename, amode, info, fh);
  const std::string path = Session::absolute(filename);
  const bool is_exclusive = (amode & MPI_MODE_CREATE) != 0 && (amode & MPI_MODE_EXCL) != 0;
  StandInHandle stand_in(amode & kinds_of_access, info);
  // Again if other ranks have opened it in between, or it was published where it was looked for.
  bool again = true;
  for (int attempt = 0; again && attempt < 8; ++attempt) {
    SpareComm spare(comm);
    const Said all = choose(session, comm, path, amode, stand_in.is_open(), spare);
    if (all.way == Way::refused) return refuse(session, comm, all.refused, fh);
    if (all.way == Way::original) break;
    if (all.way == Way::impossible) {
      int rank = 0;
      PMPI_Comm_rank(comm, &rank);
      if (rank == 0) {
        base::log(base::LogLevel::error, "'{}' is not opened: only the stagers see it, and either not all nodes open it together, or other "
                  "ranks have it open", path);
      }
      *fh = MPI_FILE_NULL;
      return not_opened(MPI_ERR_UNSUPPORTED_OPERATION);
    }
    const bool is_new = all.way == Way::captured || all.way == Way::at_stagers;
    if (!is_new && is_exclusive) return open_original(comm, "/dev/null", amode, info, fh);   // says that it exists
    if (all.way == Way::working) {
      if (open_working_file(session, comm, path, amode, info, fh) != MPI_SUCCESS) continue;
      return MPI_SUCCESS;
    }
    int failed = MPI_SUCCESS;
    const auto file = capture(session, spare.use(all.spare), path, amode, info, stand_in, all.way, again, failed);
    if (!file && failed != MPI_SUCCESS && !again) {
      *fh = MPI_FILE_NULL;
      return not_opened(failed);
    }
    if (!file) continue;
    *fh = file->stand_in();
    Session::captured().count(Call::open);
    file->blocked_ns() = base::now_ns() - opening.begin_ns;
    return MPI_SUCCESS;
  }
  const int code = open_past(session, comm, filename, amode, info, fh);
  if (code != MPI_SUCCESS) return code;
  if (!session.is_written_by_mpi(path)) session.read_back().begin(path, false);
  watch(session, *fh, path, true, opening);
  return code;
}

int close_original(MPI_File* fh) {
  Session* session = Session::current();
  const auto [captured, watched, passed] = Session::find(*fh);   // `passed` stays until it is closed
  if (!watched) {
    if (passed && session != nullptr) session->remove(*fh);
    return PMPI_File_close(fh);
  }
  MPI_Offset bytes = 0;
  if (watched->is_written) PMPI_File_get_size(*fh, &bytes);
  const std::uint64_t begin = base::now_ns();
  if (session != nullptr) session->remove(*fh);
  const int code = PMPI_File_close(fh);
  if (session != nullptr) {
    session->read_back().add(watched->path, watched->blocked_ns + base::now_ns() - begin, watched->waited_ns, static_cast<Bytes>(bytes));
  }
  return code;
}

}  // namespace

int open_file(MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh) noexcept {
  Session* session = Session::current();
  int between_groups = 1;
  if (session != nullptr && comm != MPI_COMM_NULL) PMPI_Comm_test_inter(comm, &between_groups);
  if (between_groups != 0 || filename == nullptr || fh == nullptr || !session->core()->has_pool()) {
    Session::passed_through().count(Call::open);
    return PMPI_File_open(comm, filename, amode, info, fh);
  }
  const Blocked blocked(*session);
  posix::find_other_sessions();
  if (!is_special(filename)) posix::wait_for_other_sessions("MPI_File_open", AT_FDCWD, filename, posix::Wanted::file);
  return open_here(*session, comm, filename, amode, info, fh);
}

int close_file(MPI_File* fh) noexcept {
  const auto file = fh == nullptr ? nullptr : Session::find(*fh).captured;
  if (!file) {
    Session::passed_through().count(Call::close);
    return fh == nullptr ? PMPI_File_close(fh) : close_original(fh);
  }
  const int code = call(*file, [&] {
    Session::captured().count(Call::close);
    file->close();
  });
  session::Core& core = *file->session().core();
  core.step_times().mark(file.get(), session::StepTimes::End::file, core.figures());
  file->session().remove(*fh);
  *fh = MPI_FILE_NULL;
  return code;
}

int delete_file(const char* filename, MPI_Info info) noexcept {
  Session::passed_through().count(Call::delete_file);
  Session* session = Session::current();
  if (session == nullptr || filename == nullptr || is_special(filename) || !session->core()->has_pool()) {
    return PMPI_File_delete(filename, info);
  }
  const std::string path = Session::absolute(filename);
  ByteOutput::forget_checksums(path);   // first: a rank that is killed now leaves none without a file
  const int code = PMPI_File_delete(filename, info);
  if (code == MPI_SUCCESS) ByteOutput::forget_checksums(path);   // the drain may have published the file, and them, meanwhile
  return code;
}

}  // namespace glean::mpiio
