// SPDX-License-Identifier: BSD-3-Clause
//
// Definitions in PnetCDF's terms. For the sources of this folder.
#pragma once

#include <mpi.h>
#include <pnetcdf.h>

#include <string>

#include "mesh/definitions.hpp"
#include "store/format/cdf/cdf.hpp"

namespace glean::store {

[[nodiscard]] nc_type nc_type_of(mesh::Type type);
[[nodiscard]] MPI_Datatype mpi_type_of(mesh::Type type);
// For ncmpi_create.
[[nodiscard]] int creation_mode(CdfVersion version);

// Throws "<what>: <PnetCDF's message>" with the code that fits, unless `status` is NC_NOERR.
void check(int status, const std::string& what);

enum class FillMode { defined, never };   // never: PnetCDF writes no fill values, whatever the definitions say

// Defines everything in a file in define mode; the ids are the indices. Throws, naming the dimension, variable
// or attribute that was refused. Collective over the file's communicator.
void define(int file, const mesh::Definitions& definitions, FillMode fill);

// Of a file in define mode; or one that has such values already. Throws, naming it. Collective.
void write_attribute(int file, const mesh::Definitions& definitions, const mesh::Attribute& attribute);

// The layout of a file whose definitions have ended. Local.
[[nodiscard]] FileLayout layout_of(int file, CdfVersion version, const mesh::Definitions& definitions, const std::string& what);

// A PnetCDF file that is abandoned unless it was closed.
class OpenFile {
 public:
  explicit OpenFile(int id) : id_(id) {}
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  [[nodiscard]] int id() const { return id_; }
  // PnetCDF's status.
  [[nodiscard]] int close();
  // The caller closes it.
  int release();

 private:
  int id_;
  bool open_ = true;
};

}  // namespace glean::store
