// SPDX-License-Identifier: BSD-3-Clause
#include "store/pnetcdf/read.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.hpp"
#include "store/pnetcdf/define.hpp"

namespace glean::store {

namespace {

mesh::Type type_of(nc_type external) {
  for (int i = 0; i < mesh::type_count; ++i) {
    if (nc_type_of(static_cast<mesh::Type>(i)) == external) return static_cast<mesh::Type>(i);
  }
  throw base::Error(base::Errc::unsupported, "no such type: " + std::to_string(external));
}

// PnetCDF's flexible calls end the program at text for a number instead of refusing it.
void check_conversion(mesh::Type external, mesh::Type memory, const std::string& what) {
  if ((external == mesh::Type::text) == (memory == mesh::Type::text)) return;
  throw base::Error(base::Errc::invalid_argument, what + " of type " + std::string(mesh::name_of(external)) + " as " +
                                                      std::string(mesh::name_of(memory)));
}

int get_attribute(int file, int variable, const char* name, mesh::Type memory, void* values) {
  switch (memory) {
    case mesh::Type::int8: return ncmpi_get_att_schar(file, variable, name, static_cast<signed char*>(values));
    case mesh::Type::uint8: return ncmpi_get_att_uchar(file, variable, name, static_cast<unsigned char*>(values));
    case mesh::Type::int16: return ncmpi_get_att_short(file, variable, name, static_cast<short*>(values));
    case mesh::Type::uint16: return ncmpi_get_att_ushort(file, variable, name, static_cast<unsigned short*>(values));
    case mesh::Type::int32: return ncmpi_get_att_int(file, variable, name, static_cast<int*>(values));
    case mesh::Type::uint32: return ncmpi_get_att_uint(file, variable, name, static_cast<unsigned*>(values));
    case mesh::Type::int64: return ncmpi_get_att_longlong(file, variable, name, static_cast<long long*>(values));
    case mesh::Type::uint64:
      return ncmpi_get_att_ulonglong(file, variable, name, static_cast<unsigned long long*>(values));
    case mesh::Type::float32: return ncmpi_get_att_float(file, variable, name, static_cast<float*>(values));
    case mesh::Type::float64: return ncmpi_get_att_double(file, variable, name, static_cast<double*>(values));
    case mesh::Type::text: break;
  }
  return ncmpi_get_att_text(file, variable, name, static_cast<char*>(values));
}

// How long a file is that PnetCDF opens by its name. It may grow, or be renamed or replaced at any moment.
class Sizing {
 public:
  Sizing() = default;
  ~Sizing() { forget(); }
  Sizing(const Sizing&) = delete;
  Sizing& operator=(const Sizing&) = delete;

  // A file that is not there is for PnetCDF to complain about.
  void look_at(const std::string& path) {
    forget();
    descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  }
  // Another file has the name now, and PnetCDF may have opened that one.
  [[nodiscard]] bool was_replaced(const std::string& path) const {
    struct stat mine {}, there {};
    if (stat(path.c_str(), &there) != 0) return false;
    return fstat(descriptor_, &mine) != 0 || mine.st_ino != there.st_ino || mine.st_dev != there.st_dev;
  }
  [[nodiscard]] base::Bytes bytes() const {
    struct stat status {};
    return fstat(descriptor_, &status) == 0 ? static_cast<base::Bytes>(status.st_size) : 0;
  }

 private:
  void forget() {
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = -1;
  }
  int descriptor_ = -1;
};

}  // namespace

NetcdfReader::NetcdfReader(const std::string& path, base::Bytes request_bytes_max)
    : path_(path), request_bytes_max_(request_bytes_max) {
  const std::string what = "cannot read '" + path + "'";
  Sizing sizing;
  do {
    sizing.look_at(path);
    check(ncmpi_open(MPI_COMM_SELF, path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &id_), what);
  } while (sizing.was_replaced(path) && ncmpi_close(id_) == NC_NOERR);
  OpenFile file(id_);
  file_bytes_ = sizing.bytes();   // now: it has all that the header, which was read before, says
  int variables = 0, record_dimension = -1;
  check(ncmpi_inq_nvars(id_, &variables), what);
  check(ncmpi_inq_unlimdim(id_, &record_dimension), what);
  if (record_dimension >= 0) {
    MPI_Offset records = 0;
    check(ncmpi_inq_dimlen(id_, record_dimension, &records), what);
    records_ = static_cast<std::uint64_t>(records);
  }
  for (int variable = 0; variable < variables; ++variable) variables_.push_back(inquire(variable, record_dimension));
  check(ncmpi_begin_indep_data(id_), what);
  file.release();
}

NetcdfReader::~NetcdfReader() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0) ncmpi_close(id_);
}

NetcdfReader::Variable NetcdfReader::inquire(int variable, int record_dimension) const {
  const std::string what = "cannot read '" + path_ + "'";
  int count = 0;
  check(ncmpi_inq_varndims(id_, variable, &count), what);
  std::array<char, NC_MAX_NAME + 1> name{};
  nc_type external = NC_NAT;
  std::vector<int> dimensions(static_cast<std::size_t>(count));
  check(ncmpi_inq_var(id_, variable, name.data(), &external, &count, dimensions.data(), nullptr), what);
  MPI_Offset begin = 0, record_bytes = 0;
  check(ncmpi_inq_varoffset(id_, variable, &begin), what);
  check(ncmpi_inq_recsize(id_, &record_bytes), what);
  Variable result{name.data(), type_of(external), false, {}, static_cast<base::Bytes>(begin), 0, {}};
  for (const int dimension : dimensions) {
    check(ncmpi_inq_dimname(id_, dimension, name.data()), what);
    result.dimensions.emplace_back(name.data());
    if (dimension == record_dimension) {
      result.per_step = true;
      result.record_stride_bytes = static_cast<base::Bytes>(record_bytes);
      continue;
    }
    MPI_Offset length = 0;
    check(ncmpi_inq_dimlen(id_, dimension, &length), what);
    result.shape.push_back(static_cast<std::uint64_t>(length));
  }
  return result;
}

void NetcdfReader::read(int variable, std::uint64_t record, const mesh::Box& box, mesh::Type memory,
                        std::byte* values) const {
  const Variable& known = variables_.at(static_cast<std::size_t>(variable));
  const std::string what = "cannot read variable '" + known.name + "' of '" + path_ + "'";
  check_conversion(known.external, memory, what);
  if (known.per_step && record >= records_) {
    throw base::Error(base::Errc::not_found, "variable '" + known.name + "' of '" + path_ + "' has no step " +
                                                 std::to_string(record) + ": the file has " + std::to_string(records_));
  }
  if (box.empty()) return;
  check(read_part(variable, record, box, memory, values), what);
}

NetcdfReader::Where NetcdfReader::place(const Variable& variable, std::uint64_t record, const mesh::Box& box) const {
  const mesh::Rows rows(box, variable.shape);
  const base::Bytes size = mesh::size_of(variable.external);
  const base::Bytes begin = variable.begin_bytes + (variable.per_step ? record * variable.record_stride_bytes : 0);
  if (begin + rows.position(0) * size >= file_bytes_) return Where::behind_the_end;
  const std::uint64_t end = rows.position(rows.row_count() - 1) + rows.row_elements();
  return begin + end * size <= file_bytes_ ? Where::in_the_file : Where::across_the_end;
}

int NetcdfReader::read_part(int variable, std::uint64_t record, const mesh::Box& box, mesh::Type memory,
                            std::byte* values) const {
  const Variable& known = variables_[static_cast<std::size_t>(variable)];
  const base::Bytes element_bytes = std::max(mesh::size_of(memory), mesh::size_of(known.external));
  // What is read behind the end of the file is whatever PnetCDF's buffer held, converted.
  const Where where = place(known, record, box);
  if (where == Where::behind_the_end) {
    std::memset(values, 0, box.elements() * mesh::size_of(memory));
    return NC_NOERR;
  }
  const auto divisible = std::find_if(box.count.begin(), box.count.end(), [](auto count) { return count > 1; });
  const bool too_large = where == Where::across_the_end || box.elements() * element_bytes > request_bytes_max_;
  if (too_large && divisible != box.count.end()) {
    const auto d = static_cast<std::size_t>(divisible - box.count.begin());
    mesh::Box low = box, high = box;
    low.count[d] /= 2;
    high.start[d] += low.count[d];
    high.count[d] -= low.count[d];
    const int status = read_part(variable, record, low, memory, values);
    if (status != NC_NOERR && status != NC_ERANGE) return status;
    const int rest = read_part(variable, record, high, memory, values + low.elements() * mesh::size_of(memory));
    return rest == NC_NOERR ? status : rest;
  }
  std::vector<MPI_Offset> start(box.start.begin(), box.start.end()), count(box.count.begin(), box.count.end());
  if (known.per_step) {
    start.insert(start.begin(), static_cast<MPI_Offset>(record));
    count.insert(count.begin(), 1);
  }
  return ncmpi_get_vara(id_, variable, start.data(), count.data(), values, static_cast<MPI_Offset>(box.elements()),
                        mpi_type_of(memory));
}

std::vector<NetcdfReader::Attribute> NetcdfReader::attributes(int variable) const {
  const int owner = variable < 0 ? NC_GLOBAL : variable;
  const std::string what = "cannot read the attributes of '" + path_ + "'";
  int count = 0;
  check(owner == NC_GLOBAL ? ncmpi_inq_natts(id_, &count) : ncmpi_inq_varnatts(id_, owner, &count), what);
  std::vector<Attribute> all;
  for (int number = 0; number < count; ++number) {
    std::array<char, NC_MAX_NAME + 1> name{};
    nc_type external = NC_NAT;
    MPI_Offset elements = 0;
    check(ncmpi_inq_attname(id_, owner, number, name.data()), what);
    check(ncmpi_inq_att(id_, owner, name.data(), &external, &elements), what);
    all.push_back({name.data(), type_of(external), static_cast<std::size_t>(elements)});
  }
  return all;
}

std::size_t NetcdfReader::attribute_elements(int variable, const std::string& name) const {
  const int owner = variable < 0 ? NC_GLOBAL : variable;
  MPI_Offset elements = 0;
  const int status = ncmpi_inq_attlen(id_, owner, name.c_str(), &elements);
  if (status == NC_ENOTATT) {
    const std::string of =
        variable < 0 ? "" : "variable '" + variables_.at(static_cast<std::size_t>(variable)).name + "' of ";
    throw base::Error(base::Errc::not_found, of + "'" + path_ + "' has no attribute '" + name + "'");
  }
  check(status, "cannot read attribute '" + name + "' of '" + path_ + "'");
  return static_cast<std::size_t>(elements);
}

void NetcdfReader::read_attribute(int variable, const std::string& name, mesh::Type memory, void* values) const {
  const int owner = variable < 0 ? NC_GLOBAL : variable;
  const std::string what = "cannot read attribute '" + name + "' of '" + path_ + "'";
  nc_type external = NC_NAT;
  check(ncmpi_inq_atttype(id_, owner, name.c_str(), &external), what);
  check_conversion(type_of(external), memory, what);
  check(get_attribute(id_, owner, name.c_str(), memory, values), what);
}

}  // namespace glean::store
