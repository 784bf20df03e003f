// SPDX-License-Identifier: BSD-3-Clause
#include "store/pnetcdf/passthrough.hpp"

#include <cstring>
#include <utility>

#include "store/convert.hpp"
#include "store/pnetcdf/define.hpp"

namespace glean::store {

namespace {

int created(MPI_Comm comm, const std::string& path, const Definitions& definitions) {
  const std::string what = "cannot create '" + path + "'";
  int id = -1;
  check(ncmpi_create(comm, path.c_str(), creation_mode(definitions.format), MPI_INFO_NULL, &id), what);
  OpenFile file(id);
  define(id, definitions, FillMode::defined);
  // The header is written by one rank only, and only that rank hears of a failure.
  int status = ncmpi_enddef(id);
  MPI_Allreduce(MPI_IN_PLACE, &status, 1, MPI_INT, MPI_MIN, comm);
  check(status, what);
  return file.release();
}

}  // namespace

PassthroughFile::PassthroughFile(MPI_Comm comm, const std::string& path, const Definitions& definitions)
    : id_(created(comm, path, definitions)), path_(path), definitions_(definitions) {}

PassthroughFile::~PassthroughFile() {
  if (id_ >= 0) ncmpi_abort(id_);
}

void PassthroughFile::put(int variable, std::uint64_t record, const mesh::Box& box, mesh::Type memory,
                          const void* data) {
  if (box.empty()) return;
  const VariableDefinition& definition = definitions_.variables.at(static_cast<std::size_t>(variable));
  const std::string what = "cannot write variable '" + definition.name + "'";
  // PnetCDF's flexible calls end the program at this instead of refusing it.
  if (converter(memory, definition.external, definitions_.format) == nullptr) check(NC_ECHAR, what);

  std::vector<MPI_Offset> start, count;
  if (definitions_.per_step(variable)) {
    start.push_back(static_cast<MPI_Offset>(record));
    count.push_back(1);
  }
  start.insert(start.end(), box.start.begin(), box.start.end());
  count.insert(count.end(), box.count.begin(), box.count.end());

  Queued queued{NC_REQ_NULL, std::vector<std::byte>(box.elements() * mesh::size_of(memory))};
  std::memcpy(queued.data.data(), data, queued.data.size());
  const int status = ncmpi_iput_vara(id_, variable, start.data(), count.data(), queued.data.data(),
                                     static_cast<MPI_Offset>(box.elements()), mpi_type_of(memory), &queued.request);
  // PnetCDF queues the rest all the same; end_step tells.
  if (status == NC_ERANGE && out_of_range_.empty()) out_of_range_ = definition.name;
  if (status != NC_ERANGE) check(status, what);
  queued_.push_back(std::move(queued));
}

// Every rank makes every collective call, whatever failed before on this one.
void PassthroughFile::end_step(std::uint64_t record) {
  int fill_status = NC_NOERR;
  for (int variable = 0; variable < static_cast<int>(definitions_.variables.size()); ++variable) {
    const bool fill = definitions_.variables[static_cast<std::size_t>(variable)].fill;
    if (!fill || !definitions_.per_step(variable)) continue;
    const int status = ncmpi_fill_var_rec(id_, variable, static_cast<MPI_Offset>(record));
    if (fill_status == NC_NOERR) fill_status = status;
  }
  std::vector<int> requests, statuses(queued_.size());
  for (const Queued& queued : queued_) requests.push_back(queued.request);
  const int wait_status =
      ncmpi_wait_all(id_, static_cast<int>(requests.size()), requests.data(), statuses.data());
  queued_.clear();
  const std::string out_of_range = std::exchange(out_of_range_, {});

  const std::string what = "cannot write '" + path_ + "'";
  check(fill_status, what);
  if (wait_status != NC_ERANGE) check(wait_status, what);
  for (const int status : statuses) {
    if (status != NC_ERANGE) check(status, what);
  }
  if (!out_of_range.empty()) check(NC_ERANGE, "variable '" + out_of_range + "' of '" + path_ + "'");
}

void PassthroughFile::synchronize() { check(ncmpi_sync(id_), "cannot store '" + path_ + "'"); }

void PassthroughFile::close() { check(ncmpi_close(std::exchange(id_, -1)), "cannot close '" + path_ + "'"); }

}  // namespace glean::store
