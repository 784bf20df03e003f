// SPDX-License-Identifier: BSD-3-Clause
#include "datasets.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace glean::mpiio {
namespace {

void merge(report::DatasetFigures& into, const report::DatasetFigures& one) {
  into.type = one.type;
  if (one.shape.size() == into.shape.size()) {
    for (std::size_t i = 0; i < one.shape.size(); ++i) into.shape[i] = std::max(into.shape[i], one.shape[i]);
  } else {
    into.shape = one.shape;
  }
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

}  // namespace

Datasets::Known Datasets::add(const std::string& path, const std::string& name, const std::string& type,
                              const std::vector<std::uint64_t>& shape, std::uint64_t bytes) {
  const std::lock_guard lock(lock_);
  return &add_to(datasets_, {path, name, type, shape, 1, bytes});
}

void Datasets::add_again(Known dataset, std::uint64_t bytes) {
  const std::lock_guard lock(lock_);
  ++dataset->puts;
  dataset->bytes += bytes;
}

std::vector<report::DatasetFigures> Datasets::gather(MPI_Comm comm) const {
  nlohmann::json mine = nlohmann::json::array();
  {
    const std::lock_guard lock(lock_);
    for (const auto& [key, one] : datasets_) mine.push_back({one.path, one.name, one.type, one.shape, one.puts, one.bytes});
  }
  const auto text = nlohmann::json::to_cbor(mine);   // names need not be UTF-8
  int rank = 0, ranks = 1;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &ranks);
  int size = static_cast<int>(text.size());
  std::vector<int> sizes(static_cast<std::size_t>(ranks)), begins(sizes.size());
  PMPI_Gather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, comm);
  for (std::size_t i = 1; i < sizes.size(); ++i) begins[i] = begins[i - 1] + sizes[i - 1];
  std::vector<std::uint8_t> texts(rank == 0 ? static_cast<std::size_t>(begins.back() + sizes.back()) : 0);
  PMPI_Gatherv(text.data(), size, MPI_BYTE, texts.data(), sizes.data(), begins.data(), MPI_BYTE, 0, comm);
  if (rank != 0) return {};

  ByName all;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto begin = texts.begin() + begins[i];
    for (const auto& one : nlohmann::json::from_cbor(begin, begin + sizes[i])) {
      add_to(all, {one[0], one[1], one[2], one[3], one[4], one[5]});
    }
  }
  std::vector<report::DatasetFigures> datasets;
  for (auto& [key, one] : all) datasets.push_back(std::move(one));
  return datasets;
}

}  // namespace glean::mpiio
