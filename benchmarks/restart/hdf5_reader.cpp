// SPDX-License-Identifier: BSD-3-Clause
#include <hdf5.h>

#include <stdexcept>

#include "restart/readers.hpp"

namespace glean::benchmarks {
namespace {

hid_t check(hid_t id, const std::string& what) {
  if (id < 0) throw std::runtime_error("HDF5: " + what);
  return id;
}

// Selects this rank's part of an array and calls `transfer(in memory, in the file, native type)`.
template <class Transfer>
void of_my_part(const RestartArray& array, Transfer transfer) {
  const std::vector<hsize_t> shape(array.shape.begin(), array.shape.end());
  const std::vector<hsize_t> start(array.mine.start.begin(), array.mine.start.end());
  const std::vector<hsize_t> count(array.mine.count.begin(), array.mine.count.end());
  const hid_t in_file = check(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), "space");
  const hid_t in_memory = check(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), "space");
  check(H5Sselect_hyperslab(in_file, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), "selection");
  transfer(in_memory, in_file, array.type == glean::Type::int64 ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE);
  H5Sclose(in_memory);
  H5Sclose(in_file);
}

hid_t parallel_access() {
  const hid_t access = check(H5Pcreate(H5P_FILE_ACCESS), "access properties");
  check(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL), "access properties");
  check(H5Pset_all_coll_metadata_ops(access, true), "access properties");
  return access;
}

}  // namespace

void write_with_hdf5(const std::string& path, const RestartPattern& pattern, const Parts& parts) {
  const hid_t access = parallel_access();
  const hid_t file = check(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), path);
  const hid_t transfer = check(H5Pcreate(H5P_DATASET_XFER), "transfer properties");
  H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
  for (std::size_t i = 0; i < pattern.arrays.size(); ++i) {
    of_my_part(pattern.arrays[i], [&](hid_t in_memory, hid_t in_file, hid_t type) {
      const std::string& name = pattern.arrays[i].name;
      const hid_t dataset = check(H5Dcreate2(file, name.c_str(), type, in_file, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), name);
      check(H5Dwrite(dataset, type, in_memory, in_file, transfer, parts[i].data()), name);
      H5Dclose(dataset);
    });
  }
  H5Pclose(transfer);
  check(H5Fclose(file), path);
  H5Pclose(access);
}

void read_with_hdf5(const std::string& path, const RestartPattern& pattern, Parts& into, bool collective) {
  const hid_t access = parallel_access();
  const hid_t file = check(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), path);
  const hid_t transfer = check(H5Pcreate(H5P_DATASET_XFER), "transfer properties");
  H5Pset_dxpl_mpio(transfer, collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
  for (std::size_t i = 0; i < pattern.arrays.size(); ++i) {
    of_my_part(pattern.arrays[i], [&](hid_t in_memory, hid_t in_file, hid_t type) {
      const std::string& name = pattern.arrays[i].name;
      const hid_t dataset = check(H5Dopen2(file, name.c_str(), H5P_DEFAULT), name);
      check(H5Dread(dataset, type, in_memory, in_file, transfer, into[i].data()), name);
      H5Dclose(dataset);
    });
  }
  H5Pclose(transfer);
  check(H5Fclose(file), path);
  H5Pclose(access);
}

}  // namespace glean::benchmarks
