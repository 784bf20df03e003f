// SPDX-License-Identifier: BSD-3-Clause
#include "store/pnetcdf/image.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "store/convert.hpp"
#include "store/format/cdf/attribute_places.hpp"
#include "store/pnetcdf/define.hpp"

namespace glean::store {

namespace {

// The `_FillValue` attribute, or NetCDF's default, in the file's byte order.
std::array<std::byte, 8> fill_value(int file, int variable, mesh::Type external, const std::string& what) {
  std::array<std::byte, 8> native{}, result{};
  int no_fill = 0;
  check(ncmpi_inq_var_fill(file, variable, &no_fill, native.data()), what);
  converter(external, external)(native.data(), result.data(), 1, native.data());
  return result;
}

VariableLayout variable_layout(int file, CdfVersion version, const mesh::Definitions& definitions, int variable, Bytes record_bytes,
                               const std::string& what) {
  const mesh::VariableDefinition& definition = definitions.variables[static_cast<std::size_t>(variable)];
  MPI_Offset begin = 0;
  check(ncmpi_inq_varoffset(file, variable, &begin), what);
  return {.name = definition.name,
          .external = definition.external,
          .shape = definitions.shape(variable),
          .begin_bytes = static_cast<Bytes>(begin),
          .record_stride_bytes = definitions.per_step(variable) ? record_bytes : 0,
          .fill = definition.fill,
          .fill_value = fill_value(file, variable, definition.external, what),
          .stored = stored_in(version)};
}

// A file that is memory of this process and has a name as long as it is open.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("glean-metadata", MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw base::system_error(errno, "there is no memory for the metadata of a file");
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

  // All of it, which is at least `expected_bytes`. MPI-IO may keep a failed write to itself (ompio of Open MPI 4.1 does), and PnetCDF then
  // knows nothing of it.
  [[nodiscard]] std::vector<std::byte> content(Bytes expected_bytes) const {
    struct stat status {};
    if (fstat(descriptor_, &status) != 0) throw base::system_error(errno, "cannot inspect the metadata of a file");
    std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
    const bool arrived = bytes.size() >= expected_bytes &&
                         pread(descriptor_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()) &&
                         std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).starts_with("CDF");
    if (arrived) return bytes;
    throw base::Error(base::Errc::io, "the metadata of a file did not arrive in memory, and MPI-IO reported no error");
  }

 private:
  int descriptor_;
};

}  // namespace

FileLayout layout_of(int id, CdfVersion version, const mesh::Definitions& definitions, const std::string& what) {
  FileLayout layout;
  layout.format = name_of(version);
  MPI_Offset header_bytes = 0, record_bytes = 0;
  check(ncmpi_inq_header_size(id, &header_bytes), what);
  check(ncmpi_inq_recsize(id, &record_bytes), what);
  layout.header_bytes = static_cast<Bytes>(header_bytes);
  for (int variable = 0; variable < static_cast<int>(definitions.variables.size()); ++variable) {
    layout.variables.push_back(variable_layout(id, version, definitions, variable, static_cast<Bytes>(record_bytes), what));
  }
  return layout;
}

FileImage make_netcdf_image(CdfVersion version, const mesh::Definitions& definitions, base::RangeRule range) {
  const std::string what = "cannot make the metadata";
  const MemoryFile memory;
  int id = -1;
  check(ncmpi_create(MPI_COMM_SELF, memory.path().c_str(), creation_mode(version), MPI_INFO_NULL, &id), what);
  OpenFile file(id);
  define(id, definitions, FillMode::never);
  check(ncmpi_enddef(id), what);

  FileImage image{layout_of(id, version, definitions, what), {}};
  image.layout.range = range;
  check(file.close(), what);
  image.metadata.push_back({0, memory.content(image.layout.header_bytes)});
  image.layout.attributes = cdf_attribute_places(image.metadata.front().bytes, definitions);
  return image;
}

}  // namespace glean::store
