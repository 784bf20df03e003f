// SPDX-License-Identifier: BSD-3-Clause
#include "array_types.hpp"

#include <mpi.h>

#include <algorithm>
#include <vector>

namespace glean::mpiio {
namespace {

// Calls visit(dimension) from the fastest to the slowest.
template <class Visit>
void for_each_dimension(std::size_t dimensions, int order, Visit visit) {
  for (std::size_t d = 0; d < dimensions; ++d) visit(order == MPI_ORDER_C ? dimensions - 1 - d : d);
}

struct Distribution {
  std::int64_t size;        // of the array in this dimension
  int kind;
  int argument;
  std::int64_t processes;
  std::int64_t coordinate;  // of this process
};

// What one process has of a dimension whose indices are `stride` bytes apart.
ByteMap distributed(const ByteMap& map, std::int64_t stride, const Distribution& part) {
  const auto run = [&](std::int64_t first, std::int64_t count) {
    return map.repeated(static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0)), stride).shifted(first * stride);
  };
  if (part.kind == MPI_DISTRIBUTE_NONE) return run(0, part.size);

  const bool by_default = part.argument == MPI_DISTRIBUTE_DFLT_DARG;
  if (part.kind == MPI_DISTRIBUTE_BLOCK) {
    const std::int64_t block = by_default ? (part.size + part.processes - 1) / part.processes : part.argument;
    const std::int64_t first = part.coordinate * block;
    return run(first, std::min(block, part.size - first));
  }
  const std::int64_t block = by_default ? 1 : part.argument;
  const std::int64_t period = block * part.processes;
  const std::int64_t first = part.coordinate * block;
  const std::int64_t whole = first + block <= part.size ? (part.size - first - block) / period + 1 : 0;
  const std::int64_t rest = first + whole * period;   // where a block begins that the end of the array cuts
  return ByteMap::sequence({run(first, block).repeated(static_cast<std::uint64_t>(whole), period * stride),
                            run(rest, std::min(block, part.size - rest))});
}

}  // namespace

ByteMap map_of_subarray(std::span<const int> integers, const ByteMap& element, std::int64_t extent) {
  const auto dimensions = static_cast<std::size_t>(integers[0]);
  const auto sizes = integers.subspan(1, dimensions);
  const auto subsizes = integers.subspan(1 + dimensions, dimensions);
  const auto starts = integers.subspan(1 + 2 * dimensions, dimensions);
  ByteMap map = element;
  std::int64_t stride = extent;
  for_each_dimension(dimensions, integers[1 + 3 * dimensions], [&](std::size_t d) {
    map = map.repeated(static_cast<std::uint64_t>(subsizes[d]), stride).shifted(starts[d] * stride);
    stride *= sizes[d];
  });
  return map;
}

ByteMap map_of_darray(std::span<const int> integers, const ByteMap& element, std::int64_t extent) {
  std::int64_t processes_inside = integers[0];
  std::int64_t rank = integers[1];
  const auto dimensions = static_cast<std::size_t>(integers[2]);
  const auto sizes = integers.subspan(3, dimensions);
  const auto kinds = integers.subspan(3 + dimensions, dimensions);
  const auto arguments = integers.subspan(3 + 2 * dimensions, dimensions);
  const auto grid = integers.subspan(3 + 3 * dimensions, dimensions);
  // The grid of processes is row-major, whatever the order of the array.
  std::vector<Distribution> parts;
  for (std::size_t d = 0; d < dimensions; ++d) {
    processes_inside /= grid[d];
    parts.push_back({sizes[d], kinds[d], arguments[d], grid[d], rank / processes_inside});
    rank %= processes_inside;
  }
  ByteMap map = element;
  std::int64_t stride = extent;
  for_each_dimension(dimensions, integers[3 + 4 * dimensions], [&](std::size_t d) {
    map = distributed(map, stride, parts[d]);
    stride *= sizes[d];
  });
  return map;
}

}  // namespace glean::mpiio
