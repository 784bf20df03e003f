// SPDX-License-Identifier: BSD-3-Clause
//
// The oracle uses nothing of the store: PnetCDF's calls and types are named here once more.
#include <fcntl.h>
#include <pnetcdf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "base/error.hpp"
#include "scenario.hpp"
#include "store/convert.hpp"
#include "store/format/cdf/cdf.hpp"
#include "store/format/new_file.hpp"
#include "store/pnetcdf/image.hpp"
#include "store/pnetcdf/passthrough.hpp"

namespace glean::test {

namespace {

using mesh::Type;
using store::CdfVersion;

struct PnetcdfType {
  nc_type external;
  MPI_Datatype memory;
};

PnetcdfType pnetcdf_type(Type type) {
  switch (type) {
    case Type::int8: return {NC_BYTE, MPI_SIGNED_CHAR};
    case Type::uint8: return {NC_UBYTE, MPI_UNSIGNED_CHAR};
    case Type::int16: return {NC_SHORT, MPI_SHORT};
    case Type::uint16: return {NC_USHORT, MPI_UNSIGNED_SHORT};
    case Type::int32: return {NC_INT, MPI_INT};
    case Type::uint32: return {NC_UINT, MPI_UNSIGNED};
    case Type::int64: return {NC_INT64, MPI_LONG_LONG_INT};
    case Type::uint64: return {NC_UINT64, MPI_UNSIGNED_LONG_LONG};
    case Type::float32: return {NC_FLOAT, MPI_FLOAT};
    case Type::float64: return {NC_DOUBLE, MPI_DOUBLE};
    case Type::text: break;
  }
  return {NC_CHAR, MPI_CHAR};
}

Type type_of_pnetcdf(nc_type external) {
  for (int type = 0; type < mesh::type_count; ++type) {
    if (pnetcdf_type(static_cast<Type>(type)).external == external) return static_cast<Type>(type);
  }
  throw std::runtime_error("a type that is not known");
}

void expect_no_error(int status, const std::string& call) {
  if (status != NC_NOERR) throw std::runtime_error(call + ": " + ncmpi_strerror(status));
}

int create_and_define(MPI_Comm comm, const std::string& path, CdfVersion format, const mesh::Definitions& definitions) {
  const int formats[] = {0, NC_64BIT_OFFSET, NC_64BIT_DATA};
  int file = -1, id = -1;
  expect_no_error(ncmpi_create(comm, path.c_str(), NC_CLOBBER | formats[static_cast<int>(format)],
                               MPI_INFO_NULL, &file), "create");
  for (const auto& dimension : definitions.dimensions) {
    const MPI_Offset length = dimension.unlimited ? NC_UNLIMITED : static_cast<MPI_Offset>(dimension.length);
    expect_no_error(ncmpi_def_dim(file, dimension.name.c_str(), length, &id), "def_dim");
  }
  for (const auto& variable : definitions.variables) {
    expect_no_error(ncmpi_def_var(file, variable.name.c_str(), pnetcdf_type(variable.external).external,
                                  static_cast<int>(variable.dimensions.size()), variable.dimensions.data(), &id),
                    "def_var");
    if (variable.fill) expect_no_error(ncmpi_def_var_fill(file, id, 0, nullptr), "def_var_fill");
  }
  for (const auto& attribute : definitions.attributes) {
    const int owner = attribute.variable < 0 ? NC_GLOBAL : attribute.variable;
    const auto count = static_cast<MPI_Offset>(attribute.count());
    const auto* text = reinterpret_cast<const char*>(attribute.values.data());
    const int status = attribute.type == Type::text
                           ? ncmpi_put_att_text(file, owner, attribute.name.c_str(), count, text)
                           : ncmpi_put_att(file, owner, attribute.name.c_str(),
                                           pnetcdf_type(attribute.type).external, count, attribute.values.data());
    expect_no_error(status, "put_att " + attribute.name);
  }
  expect_no_error(ncmpi_enddef(file), "enddef");
  return file;
}

// Calls `visit(position in the array, number in the box)` for every element of the box.
template <class Visit>
void for_each_element(const mesh::Box& box, const mesh::Shape& shape, const Visit& visit) {
  for (std::uint64_t element = 0; element < box.elements(); ++element) {
    std::uint64_t rest = element, position = 0, stride = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
      position += (box.start[d] + rest % box.count[d]) * stride;
      rest /= box.count[d];
      stride *= shape[d];
    }
    visit(position, element);
  }
}

// A file that remembers what was written.
class PlainFile {
 public:
  explicit PlainFile(const std::string& path) : descriptor_(open(path.c_str(), O_WRONLY)) {
    if (descriptor_ < 0) throw std::runtime_error("cannot open " + path);
  }
  ~PlainFile() { close(descriptor_); }
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;

  void write(const std::byte* data, std::size_t size, base::Bytes offset) {
    if (pwrite(descriptor_, data, size, static_cast<off_t>(offset)) != static_cast<ssize_t>(size)) {
      throw std::runtime_error("cannot write");
    }
    written.extents.push_back({offset, offset + size});
  }
  // Longer than it ends up before, as a file with reserved room is.
  void cut(base::Bytes size) {
    const auto length = static_cast<off_t>(size);
    if (ftruncate(descriptor_, length + 5000) != 0 || ftruncate(descriptor_, length) != 0) {
      throw std::runtime_error("cannot cut");
    }
  }
  Written written;

 private:
  int descriptor_;
};

// Returns the end of the last element that was written.
base::Bytes write_put(PlainFile& file, const store::FileLayout& layout, const Put& put, std::uint64_t record) {
  const store::VariableLayout& variable = layout.variables[static_cast<std::size_t>(put.variable)];
  const std::size_t size = mesh::size_of(variable.external);
  std::vector<std::byte> external(put.box.elements() * size);
  const store::OutOfRange out = store::converter(put.memory, variable.external, variable.stored)(
      put.data.data(), external.data(), put.box.elements(), variable.fill_value.data());
  file.written.puts_out_of_range += out.count > 0 ? 1 : 0;
  base::Bytes end = 0;
  for_each_element(put.box, variable.shape, [&](std::uint64_t position, std::uint64_t element) {
    const base::Bytes offset = variable.record_begin_bytes(record) + position * size;
    file.write(external.data() + element * size, size, offset);
    end = std::max(end, offset + size);
  });
  return end;
}

void write_fill(PlainFile& file, const store::VariableLayout& variable, std::uint64_t record) {
  const std::size_t size = mesh::size_of(variable.external);
  for (base::Bytes done = 0; done < variable.record_bytes(); done += size) {
    file.write(variable.fill_value.data(), size, variable.record_begin_bytes(record) + done);
  }
}

template <class Float>
void replace_nan(std::vector<std::byte>& data) {
  for (std::size_t at = 0; at < data.size(); at += sizeof(Float)) {
    Float value;
    std::memcpy(&value, data.data() + at, sizeof value);
    if (value == value) continue;
    value = std::numeric_limits<Float>::infinity();
    std::memcpy(data.data() + at, &value, sizeof value);
  }
}

// PnetCDF takes NaN for an integer, GLEAN does not: as infinity both refuse it.
std::vector<std::byte> without_nan(const Put& put, mesh::Type external) {
  std::vector<std::byte> data = put.data;
  if (external == mesh::Type::float32 || external == mesh::Type::float64) return data;
  if (put.memory == mesh::Type::float32) replace_nan<float>(data);
  if (put.memory == mesh::Type::float64) replace_nan<double>(data);
  return data;
}

}  // namespace

int write_with_pnetcdf(MPI_Comm comm, const std::string& path, const Scenario& scenario) {
  int rank = 0, size = 1, out_of_range = 0, turn = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const mesh::Definitions& definitions = scenario.definitions;
  const int file = create_and_define(comm, path, scenario.format, definitions);
  for (std::size_t step = 0; step < scenario.steps.size(); ++step) {
    for (int variable = 0; variable < static_cast<int>(definitions.variables.size()); ++variable) {
      const bool fill = definitions.variables[static_cast<std::size_t>(variable)].fill;
      if (!fill || !definitions.per_step(variable)) continue;
      expect_no_error(ncmpi_fill_var_rec(file, variable, static_cast<MPI_Offset>(step)), "fill_var_rec");
    }
    for (const Put& put : scenario.steps[step]) {
      const bool mine = turn++ % size == rank;
      std::vector<MPI_Offset> start(put.box.start.begin(), put.box.start.end());
      std::vector<MPI_Offset> count(put.box.count.begin(), put.box.count.end());
      if (definitions.per_step(put.variable)) {
        start.insert(start.begin(), static_cast<MPI_Offset>(step));
        count.insert(count.begin(), 1);
      }
      // A scalar cannot be put in part: every rank puts the same.
      const bool scalar = count.empty();
      if (!mine) std::ranges::fill(count, 0);
      const MPI_Offset elements = mine || scalar ? static_cast<MPI_Offset>(put.box.elements()) : 0;
      const MPI_Datatype memory = pnetcdf_type(put.memory).memory;
      const auto data = without_nan(put, definitions.variables[static_cast<std::size_t>(put.variable)].external);
      const int status = scalar ? ncmpi_put_var_all(file, put.variable, data.data(), elements, memory)
                                : ncmpi_put_vara_all(file, put.variable, start.data(), count.data(), data.data(), elements, memory);
      if (status == NC_ERANGE) out_of_range += mine ? 1 : 0;
      else expect_no_error(status, "put_vara_all");
    }
  }
  expect_no_error(ncmpi_close(file), "close");
  return out_of_range;
}

std::vector<std::byte> read_with_pnetcdf(const std::string& path, int variable, std::uint64_t record) {
  // PnetCDF gives anything for what lies behind the end of a file: it reads a copy that is long enough.
  const std::string copy = path + ".read";
  std::filesystem::copy_file(path, copy, std::filesystem::copy_options::overwrite_existing);
  std::filesystem::resize_file(copy, std::filesystem::file_size(copy) + 16 * base::MiB);
  int file = -1, record_dimension = -1, count = 0;
  nc_type external = NC_NAT;
  expect_no_error(ncmpi_open(MPI_COMM_SELF, copy.c_str(), NC_NOWRITE, MPI_INFO_NULL, &file), "open");
  expect_no_error(ncmpi_begin_indep_data(file), "begin_indep_data");
  expect_no_error(ncmpi_inq_unlimdim(file, &record_dimension), "inq_unlimdim");
  expect_no_error(ncmpi_inq_varndims(file, variable, &count), "inq_varndims");
  std::vector<int> dimensions(static_cast<std::size_t>(count));
  expect_no_error(ncmpi_inq_var(file, variable, nullptr, &external, nullptr, dimensions.data(), nullptr), "inq_var");
  std::vector<MPI_Offset> start(static_cast<std::size_t>(count)), counts(start.size(), 1);
  for (std::size_t d = 0; d < start.size(); ++d) {
    if (dimensions[d] == record_dimension) start[d] = static_cast<MPI_Offset>(record);
    else expect_no_error(ncmpi_inq_dimlen(file, dimensions[d], &counts[d]), "inq_dimlen");
  }
  const Type type = type_of_pnetcdf(external);
  const MPI_Offset elements = std::accumulate(counts.begin(), counts.end(), MPI_Offset{1}, std::multiplies{});
  std::vector<std::byte> values(static_cast<std::size_t>(elements) * mesh::size_of(type));
  expect_no_error(ncmpi_get_vara(file, variable, start.data(), counts.data(), values.data(), elements, pnetcdf_type(type).memory),
                  "get_vara");
  expect_no_error(ncmpi_close(file), "close");
  std::filesystem::remove(copy);
  return values;
}

int write_with_passthrough(MPI_Comm comm, const std::string& path, const Scenario& scenario) {
  int rank = 0, size = 1, out_of_range = 0, turn = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  store::PassthroughFile file(comm, path, scenario.format, scenario.definitions);
  for (std::size_t step = 0; step < scenario.steps.size(); ++step) {
    for (const Put& put : scenario.steps[step]) {
      if (turn++ % size == rank) file.put(put.variable, step, put.box, put.memory, put.data);
    }
    try {
      file.end_step(step);
    } catch (const base::Error& error) {
      if (error.code() != base::Errc::out_of_range) throw;
      ++out_of_range;
    }
  }
  file.synchronize();
  file.close();
  return out_of_range;
}

Written write_plainly(const std::string& path, const Scenario& scenario) {
  const auto format = store::make_cdf_format(scenario.format, store::make_netcdf_image);
  const store::FileImage image = format->image(scenario.definitions, base::RangeRule::fill);
  const store::FileLayout& layout = image.layout;
  store::SystemCalls calls;
  store::make_new_file(calls, {path, path}, image.metadata);
  PlainFile file(path);
  file.written.extents.push_back({0, layout.header_bytes});
  std::uint64_t records = 0;
  base::Bytes end = 0;
  for (const store::VariableLayout& variable : layout.variables) {
    if (variable.fill && !variable.per_step()) write_fill(file, variable, 0);
  }
  for (std::size_t step = 0; step < scenario.steps.size(); ++step) {
    for (const store::VariableLayout& variable : layout.variables) {
      if (!variable.fill || !variable.per_step()) continue;
      write_fill(file, variable, step);
      records = step + 1;
    }
    for (const Put& put : scenario.steps[step]) {
      end = std::max(end, write_put(file, layout, put, step));
      if (layout.variables[static_cast<std::size_t>(put.variable)].per_step()) records = step + 1;
    }
  }
  const store::Finished finished = format->finish(image, {records, end});
  for (const store::Patch& patch : finished.patches) file.write(patch.bytes.data(), patch.bytes.size(), patch.offset);
  file.cut(finished.size);
  return file.written;
}

}  // namespace glean::test
