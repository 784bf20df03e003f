// SPDX-License-Identifier: BSD-3-Clause
#include <hdf5.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "unmodified/cases.hpp"

namespace glean::benchmarks {
namespace {

hid_t check(hid_t id, const char* what) {
  if (id < 0) throw std::runtime_error(std::string("HDF5: ") + what);
  return id;
}

enum class Access { write, read };

// One file of eight datasets; each rank writes its slabs along the first dimension, or reads those of the next rank.
void transfer_hyperslabs(Access way, const Ranks& ranks, const std::string& path, const std::vector<hsize_t>& part,
                         std::vector<double>& values) {
  const bool writes = way == Access::write;
  const hid_t access = check(H5Pcreate(H5P_FILE_ACCESS), "access properties");
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  const hid_t file = check(writes ? H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access)
                                  : H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), "file");
  const hid_t transfer = check(H5Pcreate(H5P_DATASET_XFER), "transfer properties");
  H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
  const int dimensions = static_cast<int>(part.size());
  std::vector<hsize_t> all = part, start(part.size(), 0);
  all[0] *= static_cast<hsize_t>(ranks.count());
  start[0] = part[0] * static_cast<hsize_t>((ranks.rank() + (writes ? 0 : 1)) % ranks.count());
  for (int variable = 0; variable < 8; ++variable) {
    const hid_t in_file = check(H5Screate_simple(dimensions, all.data(), nullptr), "space");
    const hid_t in_memory = check(H5Screate_simple(dimensions, part.data(), nullptr), "space");
    const std::string name = "variable" + std::to_string(variable);
    H5Sselect_hyperslab(in_file, H5S_SELECT_SET, start.data(), nullptr, part.data(), nullptr);
    const hid_t dataset = check(writes ? H5Dcreate2(file, name.c_str(), H5T_IEEE_F64LE, in_file, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)
                                       : H5Dopen2(file, name.c_str(), H5P_DEFAULT), "dataset");
    if (writes) check(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, in_memory, in_file, transfer, values.data()), "write");
    else check(H5Dread(dataset, H5T_NATIVE_DOUBLE, in_memory, in_file, transfer, values.data()), "read");
    H5Dclose(dataset);
    H5Sclose(in_memory);
    H5Sclose(in_file);
  }
  H5Pclose(transfer);
  check(H5Fclose(file), "close");
  H5Pclose(access);
}

}  // namespace

std::vector<Case> hdf5_cases(const Ranks& ranks, bool quick) {
  std::vector<Case> cases;
  const std::pair<const char*, std::vector<hsize_t>> parts[] = {{"1-D hyperslabs", {quick ? 512U : 512 * 1024U}},
                                                               {"3-D hyperslabs", {quick ? 8U : 128, quick ? 8U : 64, quick ? 8U : 64}}};
  for (const auto& [name, part] : parts) {
    std::size_t elements = 1;
    for (const hsize_t extent : part) elements *= extent;
    const auto values = std::make_shared<std::vector<double>>(elements, 1.5 + ranks.rank());
    Case one;
    one.name = std::string("collective ") + name;
    one.files = {"hdf5.h5"};
    one.bytes = elements * sizeof(double) * 8 * static_cast<std::uint64_t>(ranks.count());
    one.run = [&ranks, part = part, values](const std::string& directory) {
      transfer_hyperslabs(Access::write, ranks, directory + "/hdf5.h5", part, *values);
    };
    cases.push_back(std::move(one));
  }
  const std::vector<hsize_t> part = {quick ? 512U : 280 * 1024U};
  Case back;
  back.name = "four files written and read back";
  back.bytes = part[0] * sizeof(double) * 8 * static_cast<std::uint64_t>(ranks.count());
  for (int file = 0; file < 4; ++file) back.files.push_back("hdf5." + std::to_string(file) + ".h5");
  back.bytes *= back.files.size();
  back.run = [&ranks, part, files = back.files, values = std::make_shared<std::vector<double>>(part[0])](const std::string& directory) {
    for (const std::string& file : files) {
      std::fill(values->begin(), values->end(), 1.5 + ranks.rank());
      transfer_hyperslabs(Access::write, ranks, directory + "/" + file, part, *values);
      transfer_hyperslabs(Access::read, ranks, directory + "/" + file, part, *values);
      if (values->front() != 1.5 + (ranks.rank() + 1) % ranks.count()) throw std::runtime_error("HDF5: what is read back is wrong");
    }
  };
  cases.push_back(std::move(back));
  return cases;
}

}  // namespace glean::benchmarks
