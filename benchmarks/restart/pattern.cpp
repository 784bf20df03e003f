// SPDX-License-Identifier: BSD-3-Clause
#include "restart/pattern.hpp"

#include <mpi.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace glean::benchmarks {
namespace {

std::pair<std::uint64_t, std::uint64_t> range(std::uint64_t all, int part, int parts) {
  const std::uint64_t begin = all * static_cast<std::uint64_t>(part) / static_cast<std::uint64_t>(parts);
  return {begin, all * static_cast<std::uint64_t>(part + 1) / static_cast<std::uint64_t>(parts) - begin};
}

RestartArray over_ranges(const std::string& name, glean::Type type, std::vector<std::uint64_t> shape, int rank, int ranks) {
  RestartArray array{name, type, shape, {std::vector<std::uint64_t>(shape.size(), 0), shape}};
  std::tie(array.mine.start[0], array.mine.count[0]) = range(shape[0], rank, ranks);
  return array;
}

RestartPattern flash(int rank, int ranks, bool quick) {
  RestartPattern pattern{"flash", {}};
  const std::uint64_t blocks = quick ? 24 : 480;
  pattern.arrays.push_back(over_ranges("lrefine", glean::Type::int64, {blocks}, rank, ranks));
  pattern.arrays.push_back(over_ranges("gid", glean::Type::int64, {blocks, 15}, rank, ranks));
  pattern.arrays.push_back(over_ranges("coordinates", glean::Type::float64, {blocks, 3}, rank, ranks));
  pattern.arrays.push_back(over_ranges("bndbox", glean::Type::float64, {blocks, 3, 2}, rank, ranks));
  for (const char* name : {"dens", "eint", "ener", "gamc", "game", "pres", "temp", "velx", "vely", "velz"}) {
    pattern.arrays.push_back(over_ranges(name, glean::Type::float64, {blocks, 16, 16, 16}, rank, ranks));
  }
  return pattern;
}

RestartPattern s3d(int rank, int ranks, bool quick) {
  const std::uint64_t side = quick ? 12 : 96;
  std::array<int, 3> parts{};
  MPI_Dims_create(ranks, 3, parts.data());
  const std::array<int, 3> at = {rank / (parts[1] * parts[2]), rank / parts[2] % parts[1], rank % parts[2]};
  RestartPattern pattern{"s3d", {}};
  for (const auto& [name, leading] : std::initializer_list<std::pair<const char*, std::uint64_t>>{
           {"yspecies", 11}, {"temp", 0}, {"pressure", 0}, {"u", 3}}) {
    RestartArray array{name, glean::Type::float64, {}, {}};
    if (leading != 0) {
      array.shape = {leading};
      array.mine = {{0}, {leading}};
    }
    for (std::size_t d = 0; d < 3; ++d) {
      const auto [begin, count] = range(side, at[d], parts[d]);
      array.shape.push_back(side);
      array.mine.start.push_back(begin);
      array.mine.count.push_back(count);
    }
    pattern.arrays.push_back(std::move(array));
  }
  return pattern;
}

RestartPattern mesh(int rank, int ranks, bool quick) {
  const std::uint64_t points = quick ? 1000 : 1'000'000;
  RestartPattern pattern{"mesh", {}};
  pattern.arrays.push_back(over_ranges("points", glean::Type::float64, {points, 3}, rank, ranks));
  pattern.arrays.push_back(over_ranges("connectivity", glean::Type::int64, {points, 8}, rank, ranks));
  for (const char* name : {"pressure", "temperature", "viscosity"}) {
    pattern.arrays.push_back(over_ranges(name, glean::Type::float64, {points}, rank, ranks));
  }
  pattern.arrays.push_back(over_ranges("velocity", glean::Type::float64, {points, 3}, rank, ranks));
  return pattern;
}

// Calls `each(number within the part, index in the array)` for all elements of this rank.
template <class Each>
void for_all(const RestartArray& array, Each each) {
  std::vector<std::uint64_t> at(array.shape.size(), 0);
  const std::uint64_t elements = array.mine.count.empty() ? 1 : [&] {
    std::uint64_t product = 1;
    for (const std::uint64_t count : array.mine.count) product *= count;
    return product;
  }();
  for (std::uint64_t i = 0; i < elements; ++i) {
    std::uint64_t index = 0;
    for (std::size_t d = 0; d < at.size(); ++d) index = index * array.shape[d] + array.mine.start[d] + at[d];
    each(i, index);
    for (std::size_t d = at.size(); d-- > 0 && ++at[d] == array.mine.count[d];) at[d] = 0;
  }
}

}  // namespace

std::uint64_t RestartPattern::bytes() const {
  std::uint64_t bytes = 0;
  for (const RestartArray& array : arrays) {
    std::uint64_t elements = 1;
    for (const std::uint64_t extent : array.shape) elements *= extent;
    bytes += elements * element_bytes;
  }
  return bytes;
}

RestartPattern restart_pattern(const std::string& name, int rank, int ranks, bool quick) {
  if (name == "flash") return flash(rank, ranks, quick);
  if (name == "s3d") return s3d(rank, ranks, quick);
  if (name == "mesh") return mesh(rank, ranks, quick);
  throw std::runtime_error("there is no pattern '" + name + "'; there are flash, s3d and mesh");
}

void fill(const RestartArray& array, std::size_t number, std::byte* values) {
  for_all(array, [&](std::uint64_t i, std::uint64_t index) {
    const std::int64_t integer = restart_value(number, index);
    const double real = static_cast<double>(integer);
    std::memcpy(values + i * element_bytes, array.type == glean::Type::int64 ? static_cast<const void*>(&integer) : &real, element_bytes);
  });
}

std::uint64_t wrong_values(const RestartArray& array, std::size_t number, const std::byte* values) {
  std::uint64_t wrong = 0;
  for_all(array, [&](std::uint64_t i, std::uint64_t index) {
    const std::int64_t integer = restart_value(number, index);
    const double real = static_cast<double>(integer);
    const void* expected = array.type == glean::Type::int64 ? static_cast<const void*>(&integer) : &real;
    if (std::memcmp(values + i * element_bytes, expected, element_bytes) != 0) ++wrong;
  });
  return wrong;
}

}  // namespace glean::benchmarks
