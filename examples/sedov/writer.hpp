// SPDX-License-Identifier: BSD-3-Clause
//
// What a run writes, and the interface that writes it. Nothing else of the program knows which implementation is at
// work: pnetcdf_writer.cpp, hdf5_writer.cpp or glean_writer.cpp. Put side by side, they are the answer to "what would my
// code look like?".
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "mesh.hpp"
#include "trace.hpp"

namespace sedov {

enum class FileFormat { cdf1, cdf2, cdf5 };
enum class FileKind { checkpoint, plot };
enum class Precision { single, twice };

// A file as a value: attributes and mesh variables in their order in the file.
struct FileContents {
  using Value = std::variant<int, double, std::string>;

  std::string path;
  FileKind kind = FileKind::checkpoint;
  FileFormat format = FileFormat::cdf5;
  Precision precision = Precision::twice;
  std::vector<std::pair<std::string, Value>> attributes;
  std::vector<Variable> variables;

  // The bytes of all variables, without header and metadata.
  [[nodiscard]] std::size_t data_bytes(const Mesh& mesh) const {
    const std::size_t cells = std::size_t{block_cells} * block_cells * block_cells;
    return variables.size() * static_cast<std::size_t>(mesh.blocks_total()) * cells *
           (precision == Precision::twice ? sizeof(double) : sizeof(float));
  }
};

class Writer {
 public:
  virtual ~Writer() = default;
  // Writes one file: `lrefine`, `parent` and `bndbox` of all blocks, then the variables as [block][z][y][x].
  // The mesh may change as soon as it returns. Collective, blocks. Throws std::runtime_error.
  virtual void write(const Mesh& mesh, const FileContents& contents) = 0;
  // No more files; returns when all of them are as safe as the writer makes them. Collective, blocks.
  virtual void finish() = 0;
};

enum class Durability { leave_to_kernel, fsync };

// Collective. Time spent inside the libraries is entered into `trace` as output, copying out of the ghost
// cells for PnetCDF's or HDF5's sake as packing. Both must outlive the writer.
std::unique_ptr<Writer> make_pnetcdf_writer(MPI_Comm comm, Trace& trace, Durability durability);
std::unique_ptr<Writer> make_hdf5_writer(MPI_Comm comm, Trace& trace);   // where there is HDF5: SEDOV_HAVE_HDF5
std::unique_ptr<Writer> make_glean_writer(MPI_Comm comm, Trace& trace);

}  // namespace sedov
