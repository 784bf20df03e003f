// SPDX-License-Identifier: BSD-3-Clause
//
// Writes the same data as plain parallel HDF5: one dataset and one collective H5Dwrite per variable.
#include <hdf5.h>

#include <stdexcept>
#include <utility>

#include "packing.hpp"
#include "writer.hpp"

namespace sedov {

namespace {

// An identifier of HDF5 that is closed when it goes.
class Handle {
 public:
  Handle(hid_t id, herr_t (*closing)(hid_t), const std::string& what) : id_(id), close_(closing) {
    if (id < 0) throw std::runtime_error("HDF5: cannot make " + what);
  }
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator hid_t() const { return id_; }
  // Throws, which a destructor cannot.
  void close() {
    if (close_(std::exchange(id_, -1)) < 0) throw std::runtime_error("HDF5: cannot close");
  }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

void require(herr_t status, const std::string& what) {
  if (status < 0) throw std::runtime_error("HDF5: cannot " + what);
}

class Hdf5Writer final : public Writer {
 public:
  Hdf5Writer(MPI_Comm comm, Trace& trace) : comm_(comm), trace_(trace) {}

  void write(const Mesh& mesh, const FileContents& contents) override;
  void finish() override {}   // the last H5Fclose has left nothing to do

 private:
  // The rows of this rank's blocks of a dataset [block]... in `file`. `memory_type` of `data`. Collective.
  void write_rows(hid_t file, const Mesh& mesh, const char* name, hid_t file_type, std::vector<hsize_t> shape, hid_t memory_type,
                  const void* data);

  MPI_Comm comm_;
  Trace& trace_;
  std::vector<double> packed_;
};

void write_attributes(hid_t file, const FileContents& contents) {
  const Handle scalar(H5Screate(H5S_SCALAR), H5Sclose, "a space");
  const auto put = [&](const std::string& name, hid_t type, const void* value) {
    const Handle attribute(H5Acreate2(file, name.c_str(), type, scalar, H5P_DEFAULT, H5P_DEFAULT), H5Aclose, name);
    require(H5Awrite(attribute, type, value), "write " + name);
  };
  for (const auto& [name, value] : contents.attributes) {
    if (const auto* text = std::get_if<std::string>(&value)) {
      const Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "a type");
      require(H5Tset_size(type, text->size()), "make a text");
      put(name, type, text->data());
    } else if (const auto* integer = std::get_if<int>(&value)) {
      put(name, H5T_NATIVE_INT, integer);
    } else {
      put(name, H5T_NATIVE_DOUBLE, &std::get<double>(value));
    }
  }
}

void Hdf5Writer::write_rows(hid_t file, const Mesh& mesh, const char* name, hid_t file_type, std::vector<hsize_t> shape,
                            hid_t memory_type, const void* data) {
  shape.insert(shape.begin(), static_cast<hsize_t>(mesh.blocks_total()));
  const int dimensions = static_cast<int>(shape.size());
  const Handle space(H5Screate_simple(dimensions, shape.data(), nullptr), H5Sclose, "a space");
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "properties");
  require(H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER), "leave out the fill values");   // every element is written
  require(H5Pset_obj_track_times(creation, false), "leave out the times");   // two runs are to leave the same bytes
  const Handle dataset(H5Dcreate2(file, name, file_type, space, H5P_DEFAULT, creation, H5P_DEFAULT), H5Dclose, name);

  std::vector<hsize_t> start(shape.size(), 0), count = shape;
  start[0] = static_cast<hsize_t>(mesh.first_block());
  count[0] = static_cast<hsize_t>(mesh.block_count());
  const Handle memory(H5Screate_simple(dimensions, count.data(), nullptr), H5Sclose, "a space");
  if (count[0] > 0) {
    require(H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), "select");
  } else {
    require(H5Sselect_none(space), "select");
  }
  const Handle transfer(H5Pcreate(H5P_DATASET_XFER), H5Pclose, "properties");
  require(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE), "write together");
  require(H5Dwrite(dataset, memory_type, memory, space, transfer, data), std::string("write ") + name);
}

void Hdf5Writer::write(const Mesh& mesh, const FileContents& contents) {
  const BlockTable table = block_table(mesh);
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "properties");
  require(H5Pset_fapl_mpio(access, comm_, MPI_INFO_NULL), "open by MPI-IO");
  Handle file = [&] {
    const Timed timed(trace_, Activity::output, contents.path);
    return Handle(H5Fcreate(contents.path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose, contents.path);
  }();
  {
    const Timed timed(trace_, Activity::output, contents.path);
    write_attributes(file, contents);
    write_rows(file, mesh, "lrefine", H5T_STD_I32LE, {}, H5T_NATIVE_INT, table.levels.data());
    write_rows(file, mesh, "parent", H5T_STD_I32LE, {}, H5T_NATIVE_INT, table.parents.data());
    write_rows(file, mesh, "bndbox", H5T_IEEE_F64LE, {3, 2}, H5T_NATIVE_DOUBLE, table.boxes.data());
  }
  for (const Variable variable : contents.variables) {
    {
      const Timed timed(trace_, Activity::pack, contents.path);
      pack(mesh, variable, packed_);
    }
    const Timed timed(trace_, Activity::output, contents.path);
    write_rows(file, mesh, variable_names[variable], contents.precision == Precision::twice ? H5T_IEEE_F64LE : H5T_IEEE_F32LE,
               {block_cells, block_cells, block_cells}, H5T_NATIVE_DOUBLE, packed_.data());
  }
  const Timed timed(trace_, Activity::output, contents.path);
  file.close();
}

}  // namespace

std::unique_ptr<Writer> make_hdf5_writer(MPI_Comm comm, Trace& trace) { return std::make_unique<Hdf5Writer>(comm, trace); }

}  // namespace sedov
