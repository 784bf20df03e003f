// SPDX-License-Identifier: BSD-3-Clause
#include "stand_in_handle.hpp"

#include <algorithm>
#include <mutex>
#include <string_view>
#include <vector>

#include "failure.hpp"

namespace glean::mpiio {
namespace {

constexpr std::size_t most_spare = 16;

struct Spare {
  MPI_File file;
  int access;
  Hints hints;
};

struct Spares {
  std::mutex lock;
  std::vector<Spare> handles;
};

Spares& spares() {
  static Spares& all = *new Spares;   // calls may come after destructors of statics
  return all;
}

// MPI_FILE_NULL: there is none.
MPI_File take_spare(int access, const Hints& hints) {
  const std::lock_guard lock(spares().lock);
  auto& handles = spares().handles;
  const auto serves = [&](const Spare& one) { return one.access == access && one.hints == hints; };
  const auto found = std::find_if(handles.begin(), handles.end(), serves);
  if (found == handles.end()) return MPI_FILE_NULL;
  const MPI_File file = found->file;
  handles.erase(found);
  return file;
}

bool keep(Spare spare) {
  const std::lock_guard lock(spares().lock);
  if (spares().handles.size() >= most_spare) return false;
  spares().handles.push_back(std::move(spare));
  return true;
}

// As that of a file that has just been opened.
void reset_error_handler(MPI_File file) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  PMPI_File_get_errhandler(MPI_FILE_NULL, &handler);
  PMPI_File_set_errhandler(file, handler);
  PMPI_Errhandler_free(&handler);
}

// A communicator of this rank alone, on which errors are returned.
MPI_Comm comm_to_ask() {
  static const MPI_Comm comm = [] {
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    PMPI_Comm_group(MPI_COMM_SELF, &group);
    PMPI_Comm_create(MPI_COMM_SELF, group, &made);   // without what the program has attached to its own
    PMPI_Group_free(&group);
    PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    return made;
  }();
  return comm;
}

// MPI has no call that tells; a call that sends nothing to MPI_PROC_NULL still needs a committed datatype.
bool is_committed(MPI_Datatype type) {
  return has_name(type) || PMPI_Send(nullptr, 0, type, MPI_PROC_NULL, 0, comm_to_ask()) == MPI_SUCCESS;
}

// As MPI asks of a filetype: no displacement is negative, none lies before one that comes earlier, and nothing is in two of its parts.
// Copies of it may overlap, as PnetCDF's would.
bool is_in_order(const FlatType& type) { return type.map().is_ascending() && type.true_lb() >= 0; }

// Every MPI library takes it. What is wrong about others it says itself.
bool is_plain_view(MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype, const FlatType* flat, const char* representation) {
  if (displacement < 0 || etype == MPI_DATATYPE_NULL || filetype == MPI_DATATYPE_NULL) return false;
  if (representation == nullptr || std::string_view(representation) != "native") return false;
  MPI_Count unit = 0, bytes = 0;
  PMPI_Type_size_x(etype, &unit);
  PMPI_Type_size_x(filetype, &bytes);
  if (unit <= 0 || bytes % unit != 0) return false;
  if (etype == filetype) return has_name(etype) || (flat != nullptr && is_in_order(*flat) && is_committed(etype));
  if (!has_name(etype)) return false;
  return has_name(filetype) || (flat != nullptr && is_in_order(*flat) && is_committed(filetype));
}

}  // namespace

StandInHandle::StandInHandle(int access, MPI_Info info) : access_(access) {
  hints_.add(info);
  file_ = take_spare(access, hints_);
  if (is_open()) {
    reset_error_handler(file_);
    return;
  }
  MPI_Info own = hints_.of_one_rank().make_info();
  if (PMPI_File_open(MPI_COMM_SELF, "/dev/null", access, own, &file_) != MPI_SUCCESS) file_ = MPI_FILE_NULL;
  PMPI_Info_free(&own);
}

StandInHandle::~StandInHandle() {
  if (!is_open()) return;
  if (is_changed_ || !keep({file_, access_, std::move(hints_)})) PMPI_File_close(&file_);
}

MPI_File StandInHandle::file_with_view() {
  if (kept_view_) {
    const View view = *std::exchange(kept_view_, std::nullopt);
    is_changed_ = true;
    succeeded_for_program(
        PMPI_File_set_view(file_, view.displacement, view.etype.get(), view.filetype.get(), "native", MPI_INFO_NULL));
  }
  return file_;
}

int StandInHandle::set_view(MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype, const FlatType* flat,
                            const char* representation, MPI_Info info) {
  Hints with = hints_;
  with.add(info);
  if (with == hints_ && !is_changed_ && is_plain_view(displacement, etype, filetype, flat, representation)) {
    kept_view_.emplace(View{displacement, DatatypeCopy(etype), DatatypeCopy(filetype)});
    return MPI_SUCCESS;
  }
  const MPI_File file = file_with_view();   // which it has if it refuses this one
  is_changed_ = true;
  return PMPI_File_set_view(file, displacement, etype, filetype, representation, info);
}

int StandInHandle::set_info(MPI_Info info) {
  is_changed_ = true;
  return PMPI_File_set_info(file_, info);
}

// As it is of a file that has been opened with what the program has said.
int StandInHandle::get_info(MPI_Info* info) const {
  const int code = PMPI_File_get_info(file_, info);
  const auto of_program = hints_.find(aggregating_hosts), of_file = hint_of_romio_file(aggregating_hosts);
  if (code != MPI_SUCCESS || (!of_program && !of_file)) return code;
  int length = 0, is_there = 0, is_romio = 0;
  PMPI_Info_get_valuelen(*info, aggregating_hosts, &length, &is_there);
  PMPI_Info_get_valuelen(*info, "romio_cb_read", &length, &is_romio);
  if (is_there == 0) return code;
  if (of_program || is_romio != 0) PMPI_Info_set(*info, aggregating_hosts, (of_program ? of_program : of_file)->c_str());
  else PMPI_Info_delete(*info, aggregating_hosts);
  return code;
}

void StandInHandle::close_spare() {
  const std::lock_guard lock(spares().lock);
  for (Spare& one : std::exchange(spares().handles, {})) PMPI_File_close(&one.file);
}

}  // namespace glean::mpiio
