// SPDX-License-Identifier: BSD-3-Clause
#include "session/grids/convention.hpp"

#include "base/error.hpp"

namespace glean::session {

void add_point_types(const Program& program, Contribution& contribution) {
  for (std::size_t g = 0; g < program.definitions().grids.size(); ++g) {
    const mesh::PointList* points = nullptr;
    if (const auto* mesh = std::get_if<mesh::UnstructuredMesh>(&program.mesh(static_cast<int>(g)))) points = &mesh->points;
    if (const auto* grid = std::get_if<mesh::CurvilinearGrid>(&program.mesh(static_cast<int>(g)))) points = &grid->points;
    if (points == nullptr) continue;
    contribution.least.push_back(points->count() != 0 && points->type == mesh::Type::float64 ? 0 : points->count() != 0 ? 1 : 2);
  }
}

// Without any points it is that of most programs.
mesh::Type point_type(double least) { return least == 1 ? mesh::Type::float32 : mesh::Type::float64; }

void add_mesh_counts(const Program& program, Contribution& contribution) {
  for (std::size_t g = 0; g < program.definitions().grids.size(); ++g) {
    const auto* mesh = std::get_if<mesh::UnstructuredMesh>(&program.mesh(static_cast<int>(g)));
    if (mesh == nullptr) continue;
    const std::uint64_t cells = mesh->types.size(), points = mesh->points.count();
    for (const std::uint64_t count : {cells, points, std::uint64_t{mesh->connectivity.size()}, std::uint64_t{cells + points != 0}}) {
      contribution.counts.push_back(count);
    }
  }
}

MeshCounts mesh_counts(std::span<const std::uint64_t> counts, std::size_t index) {
  const auto mine = counts.subspan(index * MeshCounts::numbers, MeshCounts::numbers);
  return {mine[0], mine[1], mine[2], mine[3]};
}

void number_meshes(Program& program, const Totals& totals) {
  std::size_t index = 0;
  for (std::size_t g = 0; g < program.definitions().grids.size(); ++g) {
    if (program.definitions().grids[g].kind != mesh::GridKind::unstructured) continue;
    const MeshCounts before = mesh_counts(totals.before, index), all = mesh_counts(totals.all, index);
    program.number(static_cast<int>(g), {before.cells, all.cells, before.points, all.points});
    ++index;
  }
}

std::unique_ptr<PutMap> own_points(int variable, const std::vector<mesh::Box>& blocks, const mesh::Shape& shape, std::uint32_t components) {
  std::vector<mesh::Box> own;
  for (const mesh::Box& block : blocks) {
    if (block.empty()) continue;
    mesh::Box& mine = own.emplace_back(mesh::own_points_of(block, shape));
    if (components == 1) continue;
    mine.start.push_back(0);
    mine.count.push_back(components);
  }
  return std::make_unique<OwnPoints>(variable, std::move(own));
}

void require_none(const std::vector<std::string>& problems, const std::string& what, const std::string& hint) {
  if (problems.empty()) return;
  std::string all;
  for (const std::string& problem : problems) all += (all.empty() ? "" : "; ") + problem;
  throw base::Error(base::Errc::invalid_argument, what + ": " + all, hint);
}

}  // namespace glean::session
