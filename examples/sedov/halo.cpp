// SPDX-License-Identifier: BSD-3-Clause
#include "halo.hpp"

#include "faces.hpp"

namespace sedov {

namespace {

// What `where` of a part says. Sides and quadrants are those of faces.hpp.
struct Way {
  Beside::Kind kind;   // of the source, as the destination sees it
  Side side;
  int quadrant;

  [[nodiscard]] int number() const {
    return static_cast<int>(side) + 2 * quadrant + 8 * static_cast<int>(kind);
  }
  static Way of(int number) { return {static_cast<Beside::Kind>(number / 8), static_cast<Side>(number % 2), number / 2 % 4}; }
};

std::size_t values_of(Beside::Kind kind) {
  if (kind == Beside::Kind::finer) return means_values;
  return kind == Beside::Kind::coarser ? coarse_values : face_values;
}

}  // namespace

void Halo::plan_face(int axis, int block, Side side) {
  const int self = mesh_.owner(block);
  Messages& messages = axes_[static_cast<std::size_t>(axis)].messages;
  const Beside beside = mesh_.tree().beside(block, axis, side);
  if (beside.kind == Beside::Kind::outside) {
    axes_[static_cast<std::size_t>(axis)].mirrored.push_back({block, side});
    return;
  }
  const Beside::Kind back = beside.kind == Beside::Kind::coarser ? Beside::Kind::finer
                            : beside.kind == Beside::Kind::finer ? Beside::Kind::coarser
                                                                 : Beside::Kind::same;
  const int others = beside.kind == Beside::Kind::finer ? 4 : 1;
  for (int i = 0; i < others; ++i) {
    const int other = beside.blocks[static_cast<std::size_t>(i)];
    const int owner = mesh_.owner(other);
    const int quadrant = beside.kind == Beside::Kind::finer ? i : beside.quadrant;
    messages.add({other, block, Way{beside.kind, side, quadrant}.number(), values_of(beside.kind)}, owner, self, self);
    if (owner == self) continue;   // it finds what it gets from this block by itself
    messages.add({block, other, Way{back, opposite(side), quadrant}.number(), values_of(back)}, self, owner, self);
  }
}

void Halo::plan(int axis) {
  for (int local = 0; local < mesh_.block_count(); ++local) {
    if (!mesh_.is_leaf(local)) continue;
    for (const Side side : {Side::lower, Side::upper}) plan_face(axis, mesh_.first_block() + local, side);
  }
  axes_[static_cast<std::size_t>(axis)].messages.complete();
}

void Halo::exchange(int axis) {
  if (planned_generation_ != mesh_.generation()) {
    axes_.clear();
    for (int each = 0; each < 3; ++each) axes_.emplace_back(each);
    for (int each = 0; each < 3; ++each) plan(each);
    planned_generation_ = mesh_.generation();
  }

  const auto pack = [&](const Part& part, double* values) {
    const Way way = Way::of(part.where);
    const int block = part.source - mesh_.first_block();
    if (way.kind == Beside::Kind::same) read_layers(mesh_, axis, way.side, block, Layers::as_they_are, values);
    else if (way.kind == Beside::Kind::finer) read_layers_of_means(mesh_, axis, way.side, block, values);
    else read_coarse(mesh_, axis, way.side, way.quadrant, block, values);
  };
  const auto unpack = [&](const Part& part, const double* values) {
    const Way way = Way::of(part.where);
    const int block = part.destination - mesh_.first_block();
    if (way.kind == Beside::Kind::same) write_layers(mesh_, axis, way.side, block, values);
    else if (way.kind == Beside::Kind::finer) write_quadrant(mesh_, axis, way.side, way.quadrant, block, values);
    else write_interpolated(mesh_, axis, way.side, block, values);
  };
  Axis& along = axes_[static_cast<std::size_t>(axis)];
  along.messages.exchange(mesh_.comm(), pack, unpack);

  std::array<double, face_values> values;
  for (const Face& face : along.mirrored) {
    const int block = face.block - mesh_.first_block();
    read_layers(mesh_, axis, face.side, block, Layers::mirrored, values.data());
    write_layers(mesh_, axis, face.side, block, values.data());
  }
}

void Halo::exchange() {
  for (int axis = 0; axis < 3; ++axis) exchange(axis);
}

}  // namespace sedov
