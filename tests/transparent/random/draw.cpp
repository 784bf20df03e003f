// SPDX-License-Identifier: BSD-3-Clause
// Shapes at random.
#include <algorithm>

#include "shape.hpp"

namespace transparent {
namespace {

// Blocks one behind the other, with gaps; in units that are `unit` apart.
void draw_blocks(Random& random, Shape& shape, int blocks, int unit, bool same_length) {
  int place = random.types() == Types::any && random.one_in(3) ? random.between(1, 3) : 0;
  const int length = random.between(1, 4);
  for (int i = 0; i < blocks; ++i) {
    const int each = same_length ? length : random.between(1, 4);
    if (!same_length || i == 0) shape.numbers.push_back(each);
    shape.places.push_back(place * unit);
    place += each + random.between(0, 4);
  }
}

void reorder(Random& random, Shape& shape) {
  const bool same_length = shape.numbers.size() != shape.places.size();
  for (std::size_t i = shape.places.size(); i-- > 1;) {
    const auto j = static_cast<std::size_t>(random.between(0, static_cast<int>(i)));
    std::swap(shape.places[i], shape.places[j]);
    if (!same_length) std::swap(shape.numbers[i], shape.numbers[j]);
    if (shape.kind == ShapeKind::structure) std::swap(shape.inner[i], shape.inner[j]);
  }
}

constexpr int depth_max = 2;

Shape draw(Random& random, int depth, bool any_order);

Shape draw_structure(Random& random, int depth, bool any_order) {
  Shape shape{.kind = ShapeKind::structure};
  int place = 0;
  for (int i = random.between(1, 3); i > 0; --i) {
    shape.inner.push_back(draw(random, depth - 1, any_order));
    const Flat flat = flatten(shape.inner.back(), 1);
    shape.numbers.push_back(random.between(1, 2));
    shape.places.push_back(place - static_cast<int>(flat.lower));
    place += shape.numbers.back() * static_cast<int>(flat.extent()) + random.between(0, 3);
  }
  return shape;
}

Shape draw(Random& random, int depth, bool any_order) {
  Shape shape{.kind = static_cast<ShapeKind>(random.between(depth > 0 ? 1 : 0, depth > 0 ? 12 : 1))};
  if (shape.kind == ShapeKind::leaf) return shape;
  const bool common = random.types() == Types::common;
  if (common && depth < depth_max && (shape.kind == ShapeKind::structure || shape.kind == ShapeKind::resized)) {
    return contiguous(random.between(1, 6));
  }
  if (shape.kind == ShapeKind::subarray || shape.kind == ShapeKind::darray) {
    if (common) return contiguous(random.between(1, 6));
    const int ranks = random.between(1, 4);
    return draw_distribution(random, ranks)[static_cast<std::size_t>(random.between(0, ranks - 1))];
  }
  if (shape.kind == ShapeKind::structure) {
    shape = draw_structure(random, depth, any_order);
    if (any_order && random.one_in(2)) reorder(random, shape);
    return shape;
  }
  shape.inner.push_back(depth > 0 && random.one_in(2) ? draw(random, depth - 1, any_order) : Shape{});
  const Flat inner = flatten(shape.inner.front(), 1);
  const int extent = static_cast<int>(inner.extent());
  switch (shape.kind) {
    case ShapeKind::contiguous: shape.numbers = {random.between(1, 6)}; break;
    case ShapeKind::vector:
    case ShapeKind::hvector: {
      const int length = random.between(1, 3), stride = length + random.between(0, 3);
      shape.numbers = {random.between(1, 5), length,
                       shape.kind == ShapeKind::vector ? stride : stride * extent + random.between(0, 3)};
      break;
    }
    case ShapeKind::resized: {
      int lower = std::min(0, static_cast<int>(inner.lower));
      if (any_order && random.types() == Types::any) lower -= random.between(0, 2);
      shape.numbers = {lower, static_cast<int>(inner.upper) - lower + random.between(0, 5)};
      break;
    }
    case ShapeKind::duplicate: break;
    default: {
      const bool in_leaves = shape.kind == ShapeKind::hindexed || shape.kind == ShapeKind::hindexed_block;
      const bool same = shape.kind == ShapeKind::indexed_block || shape.kind == ShapeKind::hindexed_block;
      draw_blocks(random, shape, random.between(1, 4), in_leaves ? extent : 1, same);
      if (any_order) {
        const int shift = random.types() == Types::any && random.one_in(3) ? random.between(1, 4) * (in_leaves ? extent : 1) : 0;
        for (int& place : shape.places) place -= shift;
        if (random.one_in(2)) reorder(random, shape);
      }
    }
  }
  return shape;
}

}  // namespace

Shape contiguous(int count) { return {.kind = ShapeKind::contiguous, .numbers = {count}, .places = {}, .inner = {Shape{}}}; }

Shape resized(Shape inner, int lower, int extent) {
  return {.kind = ShapeKind::resized, .numbers = {lower, extent}, .places = {}, .inner = {std::move(inner)}};
}

Shape draw_ascending(Random& random, int depth) {
  for (;;) {
    Shape shape = draw(random, depth, false);
    if (!flatten(shape, 1).pieces.empty()) return shape;
  }
}

Shape draw_memory(Random& random) {
  for (;;) {
    Shape shape = random.one_in(3) ? contiguous(random.between(1, 4)) : draw(random, 2, true);
    if (!flatten(shape, 1).pieces.empty()) return shape;
  }
}

std::vector<Shape> draw_distribution(Random& random, int ranks) {
  int grid[2] = {0, 0};
  MPI_Dims_create(ranks, 2, grid);
  const bool by_column = random.one_in(2), blocks = random.one_in(2);
  const int rows = grid[0] * random.between(1, 5), columns = grid[1] * random.between(1, 5);
  const bool evenly = blocks || random.types() == Types::common;
  const int extra = evenly ? 0 : random.between(0, 3);   // a darray need not divide evenly, nor in blocks
  const int block[2] = {evenly ? 0 : random.between(0, 3), evenly ? 0 : random.between(0, 3)};
  std::vector<Shape> parts;
  for (int rank = 0; rank < ranks; ++rank) {
    Shape shape{.kind = blocks ? ShapeKind::subarray : ShapeKind::darray, .by_column = by_column};
    if (blocks) {
      const int part[2] = {rows / grid[0], columns / grid[1]};
      shape.numbers = {rows, columns, part[0], part[1], rank / grid[1] * part[0], rank % grid[1] * part[1]};
    } else {
      shape.numbers = {ranks, rank, rows + extra, columns + extra, block[0], block[1], grid[0], grid[1]};
    }
    parts.push_back(std::move(shape));
  }
  return parts;
}

}  // namespace transparent
