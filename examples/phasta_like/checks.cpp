// SPDX-License-Identifier: BSD-3-Clause
#include "checks.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace phasta {

namespace {

std::int64_t sum_of(MPI_Comm comm, std::int64_t value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_SUM, comm);
  return value;
}

double sum_of(MPI_Comm comm, double value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, comm);
  return value;
}

// Both cells of a face send it to the same rank, whichever that is.
std::vector<Face> meet(MPI_Comm comm, const std::vector<Face>& faces) {
  int ranks = 1;
  MPI_Comm_size(comm, &ranks);
  std::vector<std::vector<Face>> of_rank(static_cast<std::size_t>(ranks));
  for (const Face& face : faces) of_rank[(face[0] ^ face[1] * 31 ^ face[2] * 961) % of_rank.size()].push_back(face);
  std::vector<Face> sent;
  std::vector<int> give, give_at, take(of_rank.size()), take_at;
  for (const auto& list : of_rank) {
    give_at.push_back(static_cast<int>(3 * sent.size()));
    give.push_back(static_cast<int>(3 * list.size()));
    sent.insert(sent.end(), list.begin(), list.end());
  }
  MPI_Alltoall(give.data(), 1, MPI_INT, take.data(), 1, MPI_INT, comm);
  int total = 0;
  for (const int count : take) {
    take_at.push_back(total);
    total += count;
  }
  std::vector<Face> met(static_cast<std::size_t>(total) / 3);
  MPI_Alltoallv(sent.data(), give.data(), give_at.data(), MPI_UINT64_T, met.data(), take.data(), take_at.data(), MPI_UINT64_T, comm);
  return met;
}

std::array<double, 5> as_array(const State& s) { return {s.pressure, s.velocity[0], s.velocity[1], s.velocity[2], s.temperature}; }

}  // namespace

Conformity check_mesh(MPI_Comm comm, const Part& part, const Forest& forest) {
  const Faces mine = open_faces(part, forest);
  std::vector<Face> met = meet(comm, mine.open);
  std::sort(met.begin(), met.end());
  std::int64_t wrong = mine.crowded;
  for (auto face = met.begin(); face != met.end();) {
    const auto other = std::find_if(face, met.end(), [&](const Face& f) { return f != *face; });
    if (other - face != 2) ++wrong;
    face = other;
  }
  Conformity found;
  found.cells = sum_of(comm, static_cast<std::int64_t>(part.cells.size()));
  found.points = sum_of(comm, static_cast<std::int64_t>(part.points.size()));
  found.parts = static_cast<int>(sum_of(comm, std::int64_t{part.cells.empty() ? 0 : 1}));
  found.wrong_faces = sum_of(comm, wrong);
  found.volume_error = std::abs(sum_of(comm, volume(part)) / forest.volume() - 1);
  return found;
}

std::vector<State> solution_at(const Part& part, const Vortex& vortex, double time) {
  std::vector<State> solution;
  for (const auto& [x, y, z] : part.points) solution.push_back(vortex.at(x, y, z, time));
  return solution;
}

double interpolation_error(MPI_Comm comm, const Part& part, const std::vector<State>& solution, const Vortex& vortex, double time) {
  double squares = 0, total = 0;
  for (const auto& cell : part.cells) {
    std::array<double, 3> centre{};
    std::array<double, 5> mean{};
    for (const std::int32_t point : cell) {
      const auto at = static_cast<std::size_t>(point);
      const std::array<double, 5> values = as_array(solution[at]);
      for (std::size_t i = 0; i < 3; ++i) centre[i] += part.points[at][i] / 4;
      for (std::size_t i = 0; i < 5; ++i) mean[i] += values[i] / 4;
    }
    const std::array<double, 5> exact = as_array(vortex.at(centre[0], centre[1], centre[2], time));
    const double share = volume(part, cell);
    for (std::size_t i = 0; i < 5; ++i) squares += share * (mean[i] - exact[i]) * (mean[i] - exact[i]);
    total += share;
  }
  squares = sum_of(comm, squares);
  return std::sqrt(squares / sum_of(comm, total));
}

}  // namespace phasta
