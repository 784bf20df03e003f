// SPDX-License-Identifier: BSD-3-Clause
#include "store/pnetcdf/define.hpp"

#include "base/error.hpp"

namespace glean::store {

namespace {

using base::Errc;
using base::Error;

Errc code_of(int status) {
  switch (status) {
    case NC_ENOENT: return Errc::not_found;
    case NC_EEXIST: return Errc::exists;
    case NC_EACCESS:
    case NC_EPERM: return Errc::permission;
    case NC_ENO_SPACE:
    case NC_EQUOTA: return Errc::no_space;
    case NC_ERANGE: return Errc::out_of_range;
    case NC_ENOMEM:
    case NC_EFILE:
    case NC_EREAD:
    case NC_EWRITE: return Errc::io;
    case NC_EINTOVERFLOW: return Errc::unsupported;
    default: return Errc::invalid_argument;
  }
}

std::string hint_of(int status) {
  switch (status) {
    case NC_ESTRICTCDF2: return "CDF-1 and CDF-2 know int8, int16, int32, float32, float64 and text; use CDF-5";
    case NC_EVARSIZE: return "use CDF-5";
    case NC_EMAXNAME: return "a name has at most " + std::to_string(NC_MAX_NAME) + " bytes";
    default: return {};
  }
}

// Names are whatever the program gave: messages show a beginning.
std::string quoted(const std::string& name) {
  constexpr std::size_t shown = 60;
  return name.size() <= shown ? "'" + name + "'" : "'" + name.substr(0, shown) + "...'";
}

void define_dimension(int file, const mesh::DimensionDefinition& dimension) {
  const std::string what = "cannot define dimension " + quoted(dimension.name);
  if (dimension.length == 0 && !dimension.unlimited) {
    throw Error(Errc::invalid_argument, what + ": its length is 0", "only the unlimited dimension has no length");
  }
  const MPI_Offset length = dimension.unlimited ? NC_UNLIMITED : static_cast<MPI_Offset>(dimension.length);
  int id = -1;
  check(ncmpi_def_dim(file, dimension.name.c_str(), length, &id), what);
}

void define_variable(int file, const mesh::VariableDefinition& variable, FillMode fill) {
  const std::string what = "cannot define variable " + quoted(variable.name);
  int id = -1;
  check(ncmpi_def_var(file, variable.name.c_str(), nc_type_of(variable.external),
                      static_cast<int>(variable.dimensions.size()), variable.dimensions.data(), &id), what);
  const bool filled = fill == FillMode::defined && variable.fill;
  check(ncmpi_def_var_fill(file, id, filled ? 0 : 1, nullptr), what);
}

}  // namespace

nc_type nc_type_of(mesh::Type type) {
  constexpr nc_type types[mesh::type_count] = {NC_BYTE, NC_UBYTE, NC_SHORT,  NC_USHORT, NC_INT, NC_UINT,
                                               NC_INT64, NC_UINT64, NC_FLOAT, NC_DOUBLE, NC_CHAR};
  return types[static_cast<int>(type)];
}

MPI_Datatype mpi_type_of(mesh::Type type) {
  // The types that PnetCDF tells apart, which MPI_INT64_T and its like are not among.
  const MPI_Datatype types[mesh::type_count] = {
      MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_SHORT, MPI_UNSIGNED_SHORT, MPI_INT, MPI_UNSIGNED,
      MPI_LONG_LONG_INT, MPI_UNSIGNED_LONG_LONG, MPI_FLOAT, MPI_DOUBLE, MPI_CHAR};
  return types[static_cast<int>(type)];
}

int creation_mode(CdfVersion version) {
  switch (version) {
    case CdfVersion::cdf1: return NC_CLOBBER;
    case CdfVersion::cdf2: return NC_CLOBBER | NC_64BIT_OFFSET;
    case CdfVersion::cdf5: break;
  }
  return NC_CLOBBER | NC_64BIT_DATA;
}

void check(int status, const std::string& what) {
  if (status == NC_NOERR) return;
  throw Error(code_of(status), what + ": " + ncmpi_strerror(status), hint_of(status));
}

void write_attribute(int file, const mesh::Definitions& definitions, const mesh::Attribute& attribute) {
  std::string what = "cannot define attribute " + quoted(attribute.name);
  int variable = NC_GLOBAL;
  if (attribute.variable >= 0) {
    variable = attribute.variable;
    what += " of variable " + quoted(definitions.variables.at(static_cast<std::size_t>(variable)).name);
  }
  const char* name = attribute.name.c_str();
  const auto count = static_cast<MPI_Offset>(attribute.count());
  if (attribute.type == mesh::Type::text) {
    const auto* text = reinterpret_cast<const char*>(attribute.values.data());
    check(ncmpi_put_att_text(file, variable, name, count, text), what);
  } else {
    check(ncmpi_put_att(file, variable, name, nc_type_of(attribute.type), count, attribute.values.data()), what);
  }
}

void define(int file, const mesh::Definitions& definitions, FillMode fill) {
  for (const mesh::DimensionDefinition& dimension : definitions.dimensions) define_dimension(file, dimension);
  for (const mesh::VariableDefinition& variable : definitions.variables) define_variable(file, variable, fill);
  for (const mesh::Attribute& attribute : definitions.attributes) write_attribute(file, definitions, attribute);
}

OpenFile::~OpenFile() {
  if (open_) ncmpi_abort(id_);
}

int OpenFile::release() {
  open_ = false;
  return id_;
}

int OpenFile::close() {
  open_ = false;
  return ncmpi_close(id_);
}

}  // namespace glean::store
