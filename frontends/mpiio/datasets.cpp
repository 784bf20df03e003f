// SPDX-License-Identifier: BSD-3-Clause
#include "datasets.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace glean::mpiio {
namespace {

void grow(std::vector<std::uint64_t>& shape, const std::vector<std::uint64_t>& to) {
  if (shape.size() != to.size()) shape = to;
  for (std::size_t i = 0; i < to.size(); ++i) shape[i] = std::max(shape[i], to[i]);
}

void merge(report::DatasetFigures& into, const report::DatasetFigures& one) {
  into.type = one.type;
  grow(into.shape, one.shape);
  into.puts += one.puts;
  into.bytes += one.bytes;
}

using ByName = std::map<std::pair<std::string, std::string>, report::DatasetFigures>;

report::DatasetFigures& add_to(ByName& all, const report::DatasetFigures& one) {
  const bool is_new = all.size() >= Datasets::most && !all.contains({one.path, one.name});
  auto& into = all[{one.path, is_new ? "…" : one.name}];
  into.path = one.path;
  into.name = is_new ? "…" : one.name;
  merge(into, one);
  return into;
}

std::vector<std::uint8_t> encode(const ByName& all) {
  nlohmann::json text = nlohmann::json::array();
  for (const auto& [key, one] : all) text.push_back({one.path, one.name, one.type, one.shape, one.puts, one.bytes});
  return nlohmann::json::to_cbor(text);   // names need not be UTF-8
}

}  // namespace

Datasets::Known Datasets::add(const std::string& path, const std::string& name, const std::string& type,
                              const std::vector<std::uint64_t>& shape, std::uint64_t bytes) {
  const std::lock_guard lock(lock_);
  return &add_to(datasets_, {path, name, type, shape, 1, bytes});
}

void Datasets::add_again(Known dataset, const std::vector<std::uint64_t>& shape, std::uint64_t bytes) {
  const std::lock_guard lock(lock_);
  if (!shape.empty()) grow(dataset->shape, shape);
  ++dataset->puts;
  dataset->bytes += bytes;
}

std::vector<report::DatasetFigures> Datasets::gather(MPI_Comm comm) const {
  int rank = 0, ranks = 1;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &ranks);
  ByName all;
  {
    const std::lock_guard lock(lock_);
    all = datasets_;
  }
  for (int distance = 1; distance < ranks; distance *= 2) {
    if (rank % (2 * distance) != 0) {
      const auto text = encode(all);
      PMPI_Send(text.data(), static_cast<int>(text.size()), MPI_BYTE, rank - distance, 0, comm);
      return {};
    }
    if (rank + distance >= ranks) continue;
    MPI_Status status;
    int size = 0;
    PMPI_Probe(rank + distance, 0, comm, &status);
    PMPI_Get_count(&status, MPI_BYTE, &size);
    std::vector<std::uint8_t> text(static_cast<std::size_t>(size));
    PMPI_Recv(text.data(), size, MPI_BYTE, rank + distance, 0, comm, MPI_STATUS_IGNORE);
    for (const auto& one : nlohmann::json::from_cbor(text)) add_to(all, {one[0], one[1], one[2], one[3], one[4], one[5]});
  }
  std::vector<report::DatasetFigures> datasets;
  for (auto& [key, one] : all) datasets.push_back(std::move(one));
  return datasets;
}

}  // namespace glean::mpiio
