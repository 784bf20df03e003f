// SPDX-License-Identifier: BSD-3-Clause
//
// Says of the writes of HDF5 which datasets they were, for the report. The bytes are captured where HDF5 hands them to MPI-IO.
#pragma once

#include "hdf5.hpp"

namespace glean::hdf5 {

// After a write that went well, with its arguments. Asks HDF5 nothing that it could complain of to the program. Local.
void wrote(const Library& library, hid_t dataset, hid_t memory_space, hid_t file_space) noexcept;
// Notes a chunk that was written, `bytes` as they are in the file.
void wrote_chunk(const Library& library, hid_t dataset, std::uint64_t bytes) noexcept;
// HDF5 has been closed: it begins with the same identifiers again.
void closed() noexcept;

}  // namespace glean::hdf5
