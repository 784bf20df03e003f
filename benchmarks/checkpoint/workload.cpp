// SPDX-License-Identifier: BSD-3-Clause
#include "workload.hpp"

#include <mpi.h>

#include <array>
#include <cstdio>
#include <numeric>

namespace glean::benchmarks {
namespace {

std::uint64_t size_of(glean::Type type) {
  switch (type) {
    case glean::Type::float64: return 8;
    case glean::Type::float32:
    case glean::Type::int32: return 4;
    default: return 0;   // the workloads have no others
  }
}

// The values of elements `first` and following.
std::vector<double> made_up_values(std::uint64_t first, std::uint64_t count, int variable) {
  std::vector<double> values(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    values[i] = 1.0 + variable * 0.01 + static_cast<double>((first + i) % 8191) * 1e-4;
  }
  return values;
}

}  // namespace

std::uint64_t Workload::bytes_of_all_ranks() const {
  std::uint64_t bytes = 0;
  for (const File& file : files) {
    for (const Array& array : file.arrays) {
      std::uint64_t elements = 1;
      for (const int dimension : array.dimensions) {
        elements *= file.dimensions[static_cast<std::size_t>(dimension)].length;
      }
      bytes += elements * size_of(array.external);
    }
  }
  return bytes;
}

Workload flash(int rank, int ranks, std::uint64_t blocks_per_rank) {
  constexpr std::uint64_t cells = 16;
  static constexpr const char* names[] = {"dens", "eint", "ener", "gamc", "game",
                                          "pres", "temp", "velx", "vely", "velz"};
  const std::uint64_t blocks = blocks_per_rank * static_cast<std::uint64_t>(ranks);
  const std::uint64_t first = blocks_per_rank * static_cast<std::uint64_t>(rank);
  Workload workload{"flash", {}, {}, {}};
  const auto values = [&](std::uint64_t per_block, int variable) {
    workload.doubles.push_back(made_up_values(first * per_block, blocks_per_rank * per_block, variable));
  };
  for (int variable = 0; variable < 10; ++variable) values(cells * cells * cells, variable);
  values(3, 10);
  values(6, 11);
  workload.integers.emplace_back(blocks_per_rank, 3);
  workload.integers.emplace_back(blocks_per_rank * 15);
  std::iota(workload.integers[1].begin(), workload.integers[1].end(), static_cast<std::int32_t>(first * 15));

  const auto file_of = [&](const std::string& name, glean::Type external, const std::vector<int>& variables) {
    File file{name, {{"blocks", blocks}, {"z", cells}, {"y", cells}, {"x", cells}, {"space", 3}, {"two", 2},
                     {"neighbours", 15}}, {}};
    const auto mesh = [&](const char* array, std::vector<int> dimensions, glean::Type type,
                          std::vector<std::uint64_t> rest, const void* data) {
      glean::Box mine{{first}, {blocks_per_rank}};
      mine.start.resize(rest.size() + 1, 0);
      mine.count.insert(mine.count.end(), rest.begin(), rest.end());
      file.arrays.push_back({array, std::move(dimensions), type, type, std::move(mine), data});
    };
    mesh("lrefine", {0}, glean::Type::int32, {}, workload.integers[0].data());
    mesh("gid", {0, 6}, glean::Type::int32, {15}, workload.integers[1].data());
    mesh("coordinates", {0, 4}, glean::Type::float64, {3}, workload.doubles[10].data());
    mesh("bndbox", {0, 4, 5}, glean::Type::float64, {3, 2}, workload.doubles[11].data());
    for (const int variable : variables) {
      const auto index = static_cast<std::size_t>(variable);
      file.arrays.push_back({names[index], {0, 1, 2, 3}, external, glean::Type::float64,
                             {{first, 0, 0, 0}, {blocks_per_rank, cells, cells, cells}},
                             workload.doubles[index].data()});
    }
    return file;
  };
  workload.files.push_back(file_of("flash_chk_0001.nc", glean::Type::float64, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  workload.files.push_back(file_of("flash_plt_cnt_0001.nc", glean::Type::float32, {0, 5, 6}));
  return workload;
}

Workload s3d(int rank, int ranks, int dumps) {
  constexpr std::array<std::uint64_t, 3> brick = {22, 36, 22};   // z, y, x
  std::array<int, 3> bricks{};
  MPI_Dims_create(ranks, 3, bricks.data());
  const std::array<int, 3> at = {rank / (bricks[1] * bricks[2]), rank / bricks[2] % bricks[1], rank % bricks[2]};
  Workload workload{"s3d", {}, {}, {}};
  File file{"", {{"species", 11}, {"component", 3}}, {}};
  glean::Box mine;
  std::uint64_t cells = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    static constexpr const char* names[] = {"z", "y", "x"};
    file.dimensions.push_back({names[d], brick[d] * static_cast<std::uint64_t>(bricks[d])});
    mine.start.push_back(brick[d] * static_cast<std::uint64_t>(at[d]));
    mine.count.push_back(brick[d]);
    cells *= brick[d];
  }
  const auto add = [&](const char* name, int leading_dimension, std::uint64_t leading) {
    const auto variable = static_cast<int>(workload.doubles.size());
    workload.doubles.push_back(made_up_values(static_cast<std::uint64_t>(rank) * cells * leading, cells * leading, variable));
    Array array{name, {2, 3, 4}, glean::Type::float64, glean::Type::float64, mine, nullptr};
    if (leading > 1) {
      array.dimensions.insert(array.dimensions.begin(), leading_dimension);
      array.mine.start.insert(array.mine.start.begin(), 0);
      array.mine.count.insert(array.mine.count.begin(), leading);
    }
    array.data = workload.doubles.back().data();
    file.arrays.push_back(std::move(array));
  };
  add("yspecies", 0, 11);
  add("temp", 0, 1);
  add("pressure", 0, 1);
  add("u", 1, 3);
  for (int dump = 0; dump < dumps; ++dump) {
    char name[64];
    std::snprintf(name, sizeof name, "s3d_restart_%04d.nc", dump);
    file.name = name;
    workload.files.push_back(file);
  }
  return workload;
}

}  // namespace glean::benchmarks
