// SPDX-License-Identifier: BSD-3-Clause
//
// The functions that open, close and change files, in place of the library's, which makes them; what matters to puts is kept.
#include <array>
#include <cstdlib>
#include <string_view>

#include "frontends/mpiio/session.hpp"
#include "library.hpp"
#include "puts.hpp"

namespace glean::pnetcdf {
namespace {

// As the library reads it: then collective puts compare their arguments.
bool is_safe_mode() {
  const char* value = std::getenv("PNETCDF_SAFE_MODE");
  return value != nullptr && *value != '0';
}

// Puts of such files do not go to the file, or not to this one.
bool is_elsewhere(int ncid) {
  MPI_Info info = MPI_INFO_NULL;
  if (GLEAN_PNETCDF_ORIGINAL(ncmpi_inq_file_info)(ncid, &info) != NC_NOERR || info == MPI_INFO_NULL) return true;
  const auto value_of = [&](const char* key) {
    char value[MPI_MAX_INFO_VAL + 1] = {};
    int found = 0;
    PMPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
    return std::string(found != 0 ? value : "");
  };
  const bool has_log = value_of("nc_burst_buf") == "enable";
  const std::string parts = value_of("nc_num_subfiles"), aggregators = value_of("nc_num_aggrs_per_node");
  PMPI_Info_free(&info);
  return has_log || std::atoi(parts.c_str()) > 1 || std::atoi(aggregators.c_str()) > 0;
}

std::optional<store::CdfVersion> format_of(int ncid) {
  int format = 0;
  if (GLEAN_PNETCDF_ORIGINAL(ncmpi_inq_format)(ncid, &format) != NC_NOERR) return std::nullopt;
  switch (format) {
    case NC_FORMAT_CLASSIC: return store::CdfVersion::cdf1;
    case NC_FORMAT_CDF2: return store::CdfVersion::cdf2;
    case NC_FORMAT_CDF5: return store::CdfVersion::cdf5;
    default: return std::nullopt;
  }
}

std::uint64_t captured_opens() { return mpiio::Session::captured().values()[static_cast<std::size_t>(mpiio::Call::open)]; }

// The hints of a program, and one that makes newer libraries use MPI-IO.
class Hints {
 public:
  Hints(MPI_Info given, bool is_wanted) : info_(given) {
    if (!is_wanted) return;
    if (given == MPI_INFO_NULL) PMPI_Info_create(&info_);
    else PMPI_Info_dup(given, &info_);
    PMPI_Info_set(info_, "nc_driver", "mpiio");
    is_own_ = true;
  }
  ~Hints() {
    if (is_own_) PMPI_Info_free(&info_);
  }
  Hints(const Hints&) = delete;
  Hints& operator=(const Hints&) = delete;
  [[nodiscard]] MPI_Info info() const { return info_; }

 private:
  MPI_Info info_;
  bool is_own_ = false;
};

// For the ranks of `comm`, which have just opened the target: that of all that have opened it, unless this rank has it open again by
// itself. Null if others have it open than the library was asked for.
std::shared_ptr<mpiio::FileComm> comm_of(const mpiio::Target& target, MPI_Comm comm) {
  int result = MPI_UNEQUAL;
  PMPI_Comm_compare(comm, target.comm->get(), &result);
  if (result == MPI_CONGRUENT) return target.comm;
  int ranks = 0;
  PMPI_Comm_size(comm, &ranks);
  return ranks == 1 ? mpiio::FileComm::duplicate(comm) : nullptr;
}

// `call(info)` is the library's ncmpi_create or ncmpi_open. Collective.
template <class Function>
int open_file(MPI_Comm comm, const char* path, int flags, MPI_Info given, int* ncid, Mode mode, Function call) {
  mpiio::Session* session = mpiio::Session::current();
  if (session == nullptr || path == nullptr || ncid == nullptr || comm == MPI_COMM_NULL) return call(given);
  const bool is_wanted = session->captures(path);
  const Hints hints(given, is_wanted && is_at_least(1, 15));
  if (is_wanted && is_told_to_use_gio()) session->core()->notice(session::Core::Notice::pnetcdf_past_mpi_io);
  const std::uint64_t before = captured_opens();
  const int code = call(hints.info());
  if (code != NC_NOERR) session->explain_missing(path);
  const auto format = code == NC_NOERR ? format_of(*ncid) : std::nullopt;
  if (!format) return code;
  OpenFile::Opened opened{mpiio::Session::absolute(path), {}, nullptr, *format, mode};
  const bool is_shared = (flags & NC_SHARE) != 0;   // each put is synchronized
  if (is_wanted && captured_opens() > before && !is_shared && !is_safe_mode() && !is_elsewhere(*ncid)) {
    const auto target = session->find_target(opened.path);
    if (target) opened.comm = comm_of(*target, comm);
    if (opened.comm) opened.target = target;
  }
  const auto file = std::make_shared<OpenFile>(std::move(opened));
  add_file(*ncid, file);
  if (mode == Mode::collective && (flags & NC_WRITE) != 0) file->tell_meaning(*ncid);
  return code;
}

// Whether the library fills a variable before anything is put to it. The same on all ranks.
bool fills(int ncid) {
  int variables = 0;
  if (GLEAN_PNETCDF_ORIGINAL(ncmpi_inq_nvars)(ncid, &variables) != NC_NOERR) return true;
  for (int varid = 0; varid < variables; ++varid) {
    int is_not_filled = 0;
    std::array<std::byte, 8> value{};
    if (GLEAN_PNETCDF_ORIGINAL(ncmpi_inq_var_fill)(ncid, varid, &is_not_filled, value.data()) != NC_NOERR) return true;
    if (is_not_filled == 0) return true;
  }
  return false;
}

// Nothing has changed: the library refuses the call in the mode that the file is in, on this rank perhaps only.
bool is_mistake(int code) {
  return code == NC_ENOTINDEFINE || code == NC_EINDEFINE || code == NC_ENOTINDEP || code == NC_EINDEP || code == NC_EPERM;
}

// A call after which the file is in that mode.
template <class Function>
int enter_mode(OpenFile& file, Mode mode, Function call) {
  const int code = call();
  if (!is_mistake(code)) file.enter(code == NC_NOERR ? mode : Mode::unknown);
  return code;
}

template <class Function>
int leave_collective(int ncid, Mode mode, Function call) {
  const auto file = find_file(ncid);
  return file ? enter_mode(*file, mode, call) : call();
}

// A call after which puts may be collective. The library may move what any rank has put, and fill what others will put to. Not where it
// is called by mistake.
template <class Function>
int enter_collective(int ncid, Mode from, Function call) {
  const auto file = find_file(ncid);
  if (!file) return call();
  const bool changes = file->mode() == from || file->mode() == Mode::unknown;
  const bool waits = changes && file->target() && (!file->is_being_made() || fills(ncid));
  if (waits) file->wait_for_all();
  const int code = enter_mode(*file, Mode::collective, call);
  if (code == NC_NOERR && from == Mode::define) file->tell_meaning(ncid);
  if (waits) file->wait_for_all();
  return code;
}

}  // namespace
}  // namespace glean::pnetcdf

using glean::pnetcdf::Ending;
using glean::pnetcdf::Mode;

#pragma GCC visibility push(default)
extern "C" {

int ncmpi_create(MPI_Comm comm, const char* path, int cmode, MPI_Info info, int* ncidp) {
  return glean::pnetcdf::open_file(comm, path, cmode, info, ncidp, Mode::define, [&](MPI_Info hints) {
    return GLEAN_PNETCDF_ORIGINAL(ncmpi_create)(comm, path, cmode, hints, ncidp);
  });
}

int ncmpi_open(MPI_Comm comm, const char* path, int omode, MPI_Info info, int* ncidp) {
  return glean::pnetcdf::open_file(comm, path, omode, info, ncidp, Mode::collective, [&](MPI_Info hints) {
    return GLEAN_PNETCDF_ORIGINAL(ncmpi_open)(comm, path, omode, hints, ncidp);
  });
}

int ncmpi_enddef(int ncid) {
  return glean::pnetcdf::enter_collective(ncid, Mode::define, [&] { return GLEAN_PNETCDF_ORIGINAL(ncmpi_enddef)(ncid); });
}

int ncmpi__enddef(int ncid, MPI_Offset h_minfree, MPI_Offset v_align, MPI_Offset v_minfree, MPI_Offset r_align) {
  return glean::pnetcdf::enter_collective(ncid, Mode::define, [&] {
    return GLEAN_PNETCDF_ORIGINAL(ncmpi__enddef)(ncid, h_minfree, v_align, v_minfree, r_align);
  });
}

int ncmpi_redef(int ncid) {
  return glean::pnetcdf::leave_collective(ncid, Mode::define, [&] { return GLEAN_PNETCDF_ORIGINAL(ncmpi_redef)(ncid); });
}

int ncmpi_begin_indep_data(int ncid) {
  return glean::pnetcdf::leave_collective(ncid, Mode::independent, [&] { return GLEAN_PNETCDF_ORIGINAL(ncmpi_begin_indep_data)(ncid); });
}

int ncmpi_end_indep_data(int ncid) {
  return glean::pnetcdf::enter_collective(ncid, Mode::independent, [&] { return GLEAN_PNETCDF_ORIGINAL(ncmpi_end_indep_data)(ncid); });
}

int ncmpi_fill_var_rec(int ncid, int varid, MPI_Offset recno) {
  const int code = GLEAN_PNETCDF_ORIGINAL(ncmpi_fill_var_rec)(ncid, varid, recno);
  const auto file = glean::pnetcdf::find_file(ncid);
  if (file && code == NC_NOERR) file->wait_for_all();
  return code;
}

int ncmpi_rename_var(int ncid, int varid, const char* name) {
  const int code = GLEAN_PNETCDF_ORIGINAL(ncmpi_rename_var)(ncid, varid, name);
  if (const auto file = glean::pnetcdf::find_file(ncid)) file->forget_variables();
  return code;
}

int ncmpi_close(int ncid) {
  const int code = GLEAN_PNETCDF_ORIGINAL(ncmpi_close)(ncid);
  glean::pnetcdf::remove_file(ncid);
  return code;
}

int ncmpi_abort(int ncid) {
  const int code = GLEAN_PNETCDF_ORIGINAL(ncmpi_abort)(ncid);
  glean::pnetcdf::remove_file(ncid);
  return code;
}

int ncmpi_inq_put_size(int ncid, MPI_Offset* size) {
  const int code = GLEAN_PNETCDF_ORIGINAL(ncmpi_inq_put_size)(ncid, size);
  const auto file = glean::pnetcdf::find_file(ncid);
  if (file && code == NC_NOERR && size != nullptr) *size += file->unseen_bytes;
  return code;
}

int ncmpi_wait(int ncid, int count, int array_of_requests[], int array_of_statuses[]) {
  return glean::pnetcdf::end_requests(Ending::wait, ncid, count, array_of_requests, array_of_statuses, [&] {
    return GLEAN_PNETCDF_ORIGINAL(ncmpi_wait)(ncid, count, array_of_requests, array_of_statuses);
  });
}

int ncmpi_wait_all(int ncid, int count, int array_of_requests[], int array_of_statuses[]) {
  return glean::pnetcdf::end_requests(Ending::wait_all, ncid, count, array_of_requests, array_of_statuses, [&] {
    return GLEAN_PNETCDF_ORIGINAL(ncmpi_wait_all)(ncid, count, array_of_requests, array_of_statuses);
  });
}

int ncmpi_cancel(int ncid, int num, int* reqs, int* statuses) {
  return glean::pnetcdf::end_requests(Ending::cancel, ncid, num, reqs, statuses, [&] {
    return GLEAN_PNETCDF_ORIGINAL(ncmpi_cancel)(ncid, num, reqs, statuses);
  });
}

}  // extern "C"
#pragma GCC visibility pop
