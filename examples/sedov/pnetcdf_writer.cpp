// SPDX-License-Identifier: BSD-3-Clause
//
// Writes as FLASH does: one blocking collective call per variable, from a buffer into which the cells of all
// blocks were packed without their ghosts.
#include <fcntl.h>
#include <pnetcdf.h>
#include <unistd.h>

#include <stdexcept>

#include "packing.hpp"
#include "writer.hpp"

namespace sedov {

namespace {

void require(int status, const std::string& what) {
  if (status != NC_NOERR) throw std::runtime_error(what + ": " + ncmpi_strerror(status));
}

class PnetcdfWriter final : public Writer {
 public:
  PnetcdfWriter(MPI_Comm comm, Trace& trace, Durability durability)
      : comm_(comm), trace_(trace), durability_(durability) {}

  void write(const Mesh& mesh, const FileContents& contents) override;
  void finish() override {}   // the last ncmpi_close has left nothing to do

 private:
  struct Defined {
    int file = 0;
    int level = 0, parent = 0, box = 0;
    std::vector<int> variables;
  };
  Defined define(const Mesh& mesh, const FileContents& contents);
  void write_blocks(const Mesh& mesh, const FileContents& contents, const Defined& defined);
  void write_variable(const Mesh& mesh, const FileContents& contents, const Defined& defined,
                      std::size_t index);
  void make_durable(const FileContents& contents);

  MPI_Comm comm_;
  Trace& trace_;
  Durability durability_;
  std::vector<double> packed_;
};

void PnetcdfWriter::write(const Mesh& mesh, const FileContents& contents) {
  const Defined defined = define(mesh, contents);
  write_blocks(mesh, contents, defined);
  for (std::size_t i = 0; i < contents.variables.size(); ++i) write_variable(mesh, contents, defined, i);

  const Timed timed(trace_, Activity::output, contents.path);
  require(ncmpi_close(defined.file), "cannot close " + contents.path);
  if (durability_ == Durability::fsync) make_durable(contents);
}

PnetcdfWriter::Defined PnetcdfWriter::define(const Mesh& mesh, const FileContents& contents) {
  const Timed timed(trace_, Activity::output, contents.path);
  const auto define = [&](int status) { require(status, "cannot define " + contents.path); };
  const int mode = contents.format == FileFormat::cdf5   ? NC_64BIT_DATA
                   : contents.format == FileFormat::cdf2 ? NC_64BIT_OFFSET
                                                         : 0;
  Defined made;
  require(ncmpi_create(comm_, contents.path.c_str(), NC_CLOBBER | mode, MPI_INFO_NULL, &made.file),
          "cannot create " + contents.path);

  for (const auto& [name, value] : contents.attributes) {
    if (const auto* text = std::get_if<std::string>(&value)) {
      const auto length = static_cast<MPI_Offset>(text->size());
      define(ncmpi_put_att_text(made.file, NC_GLOBAL, name.c_str(), length, text->data()));
    } else if (const auto* integer = std::get_if<int>(&value)) {
      define(ncmpi_put_att_int(made.file, NC_GLOBAL, name.c_str(), NC_INT, 1, integer));
    } else {
      const double real = std::get<double>(value);
      define(ncmpi_put_att_double(made.file, NC_GLOBAL, name.c_str(), NC_DOUBLE, 1, &real));
    }
  }

  int blocks = 0, nzb = 0, nyb = 0, nxb = 0, ndim = 0, lo_hi = 0;
  define(ncmpi_def_dim(made.file, "blocks", mesh.blocks_total(), &blocks));
  define(ncmpi_def_dim(made.file, "nzb", block_cells, &nzb));
  define(ncmpi_def_dim(made.file, "nyb", block_cells, &nyb));
  define(ncmpi_def_dim(made.file, "nxb", block_cells, &nxb));
  define(ncmpi_def_dim(made.file, "ndim", 3, &ndim));
  define(ncmpi_def_dim(made.file, "lo_hi", 2, &lo_hi));
  const int of_box[] = {blocks, ndim, lo_hi};
  define(ncmpi_def_var(made.file, "lrefine", NC_INT, 1, &blocks, &made.level));
  define(ncmpi_def_var(made.file, "parent", NC_INT, 1, &blocks, &made.parent));
  define(ncmpi_def_var(made.file, "bndbox", NC_DOUBLE, 3, of_box, &made.box));
  const int of_cells[] = {blocks, nzb, nyb, nxb};
  const nc_type external = contents.precision == Precision::twice ? NC_DOUBLE : NC_FLOAT;
  for (const Variable variable : contents.variables) {
    int& id = made.variables.emplace_back();
    define(ncmpi_def_var(made.file, variable_names[variable], external, 4, of_cells, &id));
  }
  require(ncmpi_enddef(made.file), "cannot write the header of " + contents.path);
  return made;
}

void PnetcdfWriter::write_blocks(const Mesh& mesh, const FileContents& contents, const Defined& defined) {
  const BlockTable table = block_table(mesh);
  const Timed timed(trace_, Activity::output, contents.path);
  const MPI_Offset start[] = {mesh.first_block(), 0, 0}, counts[] = {mesh.block_count(), 3, 2};
  const auto put = [&](int status) { require(status, "cannot write the blocks of " + contents.path); };
  put(ncmpi_put_vara_int_all(defined.file, defined.level, start, counts, table.levels.data()));
  put(ncmpi_put_vara_int_all(defined.file, defined.parent, start, counts, table.parents.data()));
  put(ncmpi_put_vara_double_all(defined.file, defined.box, start, counts, table.boxes.data()));
}

void PnetcdfWriter::write_variable(const Mesh& mesh, const FileContents& contents, const Defined& defined,
                                   std::size_t index) {
  {
    const Timed timed(trace_, Activity::pack, contents.path);
    pack(mesh, contents.variables[index], packed_);
  }
  const Timed timed(trace_, Activity::output, contents.path);
  const MPI_Offset start[] = {mesh.first_block(), 0, 0, 0};
  const MPI_Offset count[] = {mesh.block_count(), block_cells, block_cells, block_cells};
  require(ncmpi_put_vara_double_all(defined.file, defined.variables[index], start, count, packed_.data()),
          std::string("cannot write ") + variable_names[contents.variables[index]] + " of " + contents.path);
}

void PnetcdfWriter::make_durable(const FileContents& contents) {
  int rank = 0;
  MPI_Comm_rank(comm_, &rank);
  int failed = 0;
  if (rank == 0) {   // after ncmpi_close all bytes are in the page cache of the file, whichever rank wrote them
    const int file = open(contents.path.c_str(), O_WRONLY);
    failed = file < 0 || fsync(file) != 0;
    if (file >= 0) close(file);
  }
  MPI_Bcast(&failed, 1, MPI_INT, 0, comm_);
  if (failed != 0) throw std::runtime_error("cannot fsync " + contents.path);
}

}  // namespace

std::unique_ptr<Writer> make_pnetcdf_writer(MPI_Comm comm, Trace& trace, Durability durability) {
  return std::make_unique<PnetcdfWriter>(comm, trace, durability);
}

}  // namespace sedov
