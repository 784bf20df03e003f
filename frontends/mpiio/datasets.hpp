// SPDX-License-Identifier: BSD-3-Clause
//
// What libraries above MPI-IO say of the bytes that they write: variables and datasets, not offsets.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "report/report.hpp"

namespace glean::mpiio {

// Datasets of this process. Any thread.
class Datasets {
 public:
  // A write of `bytes` of that dataset by this rank: bytes in the file. `shape`: as it is now, the slowest dimension first.
  // `type`: in the file, such as "float64". More names than `most` are counted together, as "…".
  //
  // What comes back stands for the dataset in add_again(), for as long as the process lives.
  using Known = report::DatasetFigures*;
  Known add(const std::string& path, const std::string& name, const std::string& type, const std::vector<std::uint64_t>& shape,
            std::uint64_t bytes);
  // Another write, without looking for its dataset. `shape`: as it is now; empty: as it was.
  void add_again(Known dataset, const std::vector<std::uint64_t>& shape, std::uint64_t bytes);
  // The figures of all ranks, on rank 0; empty on others. Shapes: the largest that any rank has seen. No rank holds more than `most` names
  // of others. Collective, a tree of messages.
  [[nodiscard]] std::vector<report::DatasetFigures> gather(MPI_Comm comm) const;

  static constexpr std::size_t most = 10'000;

 private:
  mutable std::mutex lock_;
  std::map<std::pair<std::string, std::string>, report::DatasetFigures> datasets_;   // by path and name
};

}  // namespace glean::mpiio
