// SPDX-License-Identifier: BSD-3-Clause
#include "hints.hpp"

namespace glean::mpiio {

void Hints::add(MPI_Info info) {
  if (info == MPI_INFO_NULL) return;
  int keys = 0;
  PMPI_Info_get_nkeys(info, &keys);
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1] = {};
    int length = 0, found = 0;
    PMPI_Info_get_nthkey(info, i, key);
    PMPI_Info_get_valuelen(info, key, &length, &found);
    if (found == 0) continue;
    std::string value(static_cast<std::size_t>(length) + 1, '\0');
    PMPI_Info_get(info, key, length, value.data(), &found);
    value.resize(static_cast<std::size_t>(length));
    values_[key] = value;
  }
}

MPI_Info Hints::make_info() const {
  MPI_Info info = MPI_INFO_NULL;
  PMPI_Info_create(&info);
  for (const auto& [key, value] : values_) PMPI_Info_set(info, key.c_str(), value.c_str());
  return info;
}

}  // namespace glean::mpiio
