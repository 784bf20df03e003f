// SPDX-License-Identifier: BSD-3-Clause
//
// What programs that know nothing of GLEAN do with files, as cases that are timed one by one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "measure.hpp"

namespace glean::benchmarks {

struct Case {
  std::string name;
  std::vector<std::string> files;   // that it leaves behind, in the directory
  std::uint64_t bytes = 0;          // written, and read back, by all ranks
  std::function<void(const std::string& directory)> prepare;   // not timed; on the root only; may be empty
  std::function<void(const std::string& directory)> run;       // from the first open to the last close; collective
  // Does what `run` does past whatever is interposed; both are timed in turns, so many in each repetition. For what leaves everything as it
  // was.
  std::function<void(const std::string& directory)> run_past;
  int turns = 1;
};

// As IOR has them: transfers of 4 KiB, 64 KiB, 1 MiB and 8 MiB, each rank in a piece of the file of its own (segmented) or all in
// turns (strided), collective and independent; written, written and read back, the same
// with another open in between, and read from a file that was there before.
[[nodiscard]] std::vector<Case> mpiio_cases(const Ranks& ranks, bool quick);
// FLASH's and S3D's files, blocking and nonblocking.
[[nodiscard]] std::vector<Case> pnetcdf_cases(const Ranks& ranks, bool quick);
// Collective hyperslabs of datasets of one and of three dimensions; files that are read as soon as they are written. None where the
// build has no parallel HDF5.
[[nodiscard]] std::vector<Case> hdf5_cases(const Ranks& ranks, bool quick);
// One collective write of doubles that are scattered over all ranks, each a piece of its own: without gaps and with.
[[nodiscard]] std::vector<Case> piece_cases(const Ranks& ranks, bool quick);
// No files at all: one copy of as many bytes past the caches, which is the least that any of the others can take when it is captured.
[[nodiscard]] std::vector<Case> copy_cases(const Ranks& ranks, bool quick);

// With so many bytes, on one rank.
void make_file(const std::string& path, std::uint64_t bytes);

}  // namespace glean::benchmarks
