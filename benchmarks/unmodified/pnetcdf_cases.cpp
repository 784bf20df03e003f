// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "checkpoint/pnetcdf_files.hpp"
#include "checkpoint/workload.hpp"
#include "unmodified/cases.hpp"

namespace glean::benchmarks {

std::vector<Case> pnetcdf_cases(const Ranks& ranks, bool quick) {
  const auto of_flash = std::make_shared<const Workload>(flash(ranks.rank(), ranks.count(), quick ? 2 : 198));
  const auto of_s3d = std::make_shared<const Workload>(s3d(ranks.rank(), ranks.count(), quick ? 2 : 36));
  std::vector<Case> cases;
  for (const auto& workload : {of_flash, of_s3d}) {
    for (const auto calls : {PnetcdfCalls::blocking, PnetcdfCalls::nonblocking}) {
      Case one;
      one.name = workload->name + (calls == PnetcdfCalls::blocking ? ", blocking" : ", nonblocking");
      for (const File& file : workload->files) one.files.push_back(file.name);
      one.bytes = workload->bytes_of_all_ranks();
      one.run = [workload, calls](const std::string& directory) {
        for (const File& file : workload->files) write_with_pnetcdf(file, directory + "/" + file.name, calls);
      };
      cases.push_back(std::move(one));
    }
  }
  return cases;
}

}  // namespace glean::benchmarks
