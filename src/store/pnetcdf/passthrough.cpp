// SPDX-License-Identifier: BSD-3-Clause
#include "store/pnetcdf/passthrough.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "store/convert.hpp"
#include "store/pnetcdf/define.hpp"
#include "store/windows/range_error.hpp"

namespace glean::store {

namespace {

int created(MPI_Comm comm, const std::string& path, CdfVersion version, const mesh::Definitions& definitions, const Tuning& tuning) {
  const std::string what = "cannot create '" + path + "'";
  int id = -1;
  MPI_Info info = MPI_INFO_NULL;
  if (!tuning.hints.empty()) MPI_Info_create(&info);
  for (const auto& [name, value] : tuning.hints) MPI_Info_set(info, name.c_str(), value.c_str());
  const int created = ncmpi_create(comm, path.c_str(), creation_mode(version), info, &id);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  check(created, what);
  OpenFile file(id);
  define(id, definitions, FillMode::defined);
  // The header is written by one rank only, and only that rank hears of a failure.
  int status = ncmpi_enddef(id);
  MPI_Allreduce(MPI_IN_PLACE, &status, 1, MPI_INT, MPI_MIN, comm);
  check(status, what);
  return file.release();
}

// Batches are of whole variables, so that every rank has the same.
std::vector<int> batch_ends(const mesh::Definitions& definitions, Bytes batch_bytes) {
  std::vector<int> ends;
  Bytes bytes = 0;
  const int variables = static_cast<int>(definitions.variables.size());
  for (int variable = 0; variable < variables; ++variable) {
    bytes += mesh::whole(definitions.shape(variable)).elements() *
             mesh::size_of(definitions.variables[static_cast<std::size_t>(variable)].external);
    if (bytes < batch_bytes && variable + 1 < variables) continue;
    ends.push_back(variable + 1);
    bytes = 0;
  }
  return ends;
}

bool is_floating(mesh::Type type) { return type == mesh::Type::float32 || type == mesh::Type::float64; }

// The first that was NaN.
template <class Float>
std::optional<std::uint64_t> replace_nan(std::vector<std::byte>& data) {
  std::optional<std::uint64_t> first;
  for (std::size_t at = 0; at + sizeof(Float) <= data.size(); at += sizeof(Float)) {
    Float value;
    std::memcpy(&value, data.data() + at, sizeof value);
    if (!std::isnan(value)) continue;
    if (!first) first = at / sizeof(Float);
    value = std::numeric_limits<Float>::infinity();
    std::memcpy(data.data() + at, &value, sizeof value);
  }
  return first;
}

// No integer is NaN, and PnetCDF does not refuse it: it does refuse infinity, and writes the same fill value for it. Returns the first
// that was NaN.
std::optional<std::uint64_t> make_nan_out_of_range(mesh::Type memory, mesh::Type external, std::vector<std::byte>& data) {
  if (is_floating(external) || external == mesh::Type::text) return std::nullopt;
  if (memory == mesh::Type::float32) return replace_nan<float>(data);
  if (memory == mesh::Type::float64) return replace_nan<double>(data);
  return std::nullopt;
}

// PnetCDF says that there is one, and not which: the conversion of the other modes, which has the same rules, finds it.
base::Error first_out_of_range(const mesh::VariableDefinition& definition, const PutElements& put, const std::vector<std::byte>& data,
                               const std::optional<std::uint64_t>& first_nan) {
  constexpr std::uint64_t at_once = 4096;
  const std::size_t size = mesh::size_of(put.memory), external_size = mesh::size_of(definition.external);
  const Converter convert = converter(put.memory, definition.external);
  std::vector<std::byte> converted(at_once * external_size);
  const std::array<std::byte, 8> fill{};
  const std::uint64_t elements = data.size() / size;
  std::uint64_t first = 0;
  for (std::uint64_t begin = 0; begin < elements; begin += at_once) {
    const OutOfRange found = convert(data.data() + begin * size, converted.data(), std::min(at_once, elements - begin), fill.data());
    first = begin + found.first;
    if (found.count != 0) break;
  }
  std::array<std::byte, 8> value{};
  std::memcpy(value.data(), data.data() + first * size, size);
  if (first == first_nan) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto single = static_cast<float>(nan);
    if (put.memory == mesh::Type::float32) std::memcpy(value.data(), &single, sizeof single);
    else std::memcpy(value.data(), &nan, sizeof nan);
  }
  return out_of_range_error(definition.name, definition.external, first, value.data(), put);
}

}  // namespace

PassthroughFile::PassthroughFile(MPI_Comm comm, const std::string& path, CdfVersion version, const mesh::Definitions& definitions,
                                 const Tuning& tuning)
    : id_(created(comm, path, version, definitions, tuning)),
      path_(path),
      version_(version),
      definitions_(definitions),
      batch_ends_(batch_ends(definitions, tuning.batch_bytes)) {}

PassthroughFile::~PassthroughFile() {
  if (id_ >= 0) ncmpi_abort(id_);
}

FileLayout PassthroughFile::layout() const { return layout_of(id_, version_, definitions_, "cannot inspect '" + path_ + "'"); }

void PassthroughFile::put(int variable, std::uint64_t record, const mesh::Box& box, mesh::Type memory,
                          std::vector<std::byte> data) {
  if (box.empty()) return;
  const mesh::VariableDefinition& definition = definitions_.variables.at(static_cast<std::size_t>(variable));
  const std::string what = "cannot write variable '" + definition.name + "'";
  // PnetCDF's flexible calls end the program at this instead of refusing it.
  if (converter(memory, definition.external) == nullptr) check(NC_ECHAR, what);

  std::vector<MPI_Offset> start, count;
  if (definitions_.per_step(variable)) {
    start.push_back(static_cast<MPI_Offset>(record));
    count.push_back(1);
  }
  start.insert(start.end(), box.start.begin(), box.start.end());
  count.insert(count.end(), box.count.begin(), box.count.end());

  const auto first_nan = make_nan_out_of_range(memory, definition.external, data);
  Queued queued{variable, NC_REQ_NULL, std::move(data)};
  const int status = ncmpi_iput_vara(id_, variable, start.data(), count.data(), queued.data.data(),
                                     static_cast<MPI_Offset>(box.elements()), mpi_type_of(memory), &queued.request);
  // PnetCDF queues the rest all the same; end_step tells.
  if (status == NC_ERANGE && !out_of_range_) {
    const PutElements put{.box = box, .memory = memory, .rank = -1, .step = record};   // the ranks that agree on it name the rank
    out_of_range_ = first_out_of_range(definition, put, queued.data, first_nan);
  }
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
  int write_status = NC_NOERR;
  for (const int end : batch_ends_) {
    const int status = write_queued(end);
    if (write_status == NC_NOERR) write_status = status;
  }
  queued_.clear();
  const std::optional<base::Error> out_of_range = std::exchange(out_of_range_, std::nullopt);

  const std::string what = "cannot write '" + path_ + "'";
  check(fill_status, what);
  check(write_status, what);
  if (out_of_range) throw base::Error(*out_of_range);
}

int PassthroughFile::write_queued(int end) {
  const auto rest = std::stable_partition(queued_.begin(), queued_.end(), [&](const Queued& put) { return put.variable < end; });
  std::vector<int> requests;
  for (auto put = queued_.begin(); put != rest; ++put) requests.push_back(put->request);
  std::vector<int> statuses(requests.size());
  int result = ncmpi_wait_all(id_, static_cast<int>(requests.size()), requests.data(), statuses.data());
  if (result == NC_ERANGE) result = NC_NOERR;
  for (const int status : statuses) {
    if (result == NC_NOERR && status != NC_ERANGE) result = status;
  }
  queued_.erase(queued_.begin(), rest);
  return result;
}

void PassthroughFile::set_attribute(const mesh::Attribute& attribute) { write_attribute(id_, definitions_, attribute); }

void PassthroughFile::synchronize() { check(ncmpi_sync(id_), "cannot store '" + path_ + "'"); }

void PassthroughFile::close() { check(ncmpi_close(std::exchange(id_, -1)), "cannot close '" + path_ + "'"); }

}  // namespace glean::store
