// SPDX-License-Identifier: BSD-3-Clause
// A datatype as a value: it can be drawn at random, printed, made into an MPI datatype, and flattened without MPI.
//
// All lengths and places are in units of a leaf, which is chosen when the shape is used.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mpi.h>

namespace transparent {

// Which datatypes are drawn. ROMIO goes wrong, or corrupts memory, with some: common are those that it can do.
enum class Types { common, any };

// splitmix64; the same on every machine, which the distributions of <random> are not.
class Random {
 public:
  explicit Random(std::uint64_t seed, Types types = Types::any) : state_(seed), types_(types) {
    state_ = next();   // neighbouring seeds have nothing in common
  }
  std::uint64_t next();
  int between(int low, int high) { return low + static_cast<int>(next() % static_cast<std::uint64_t>(high - low + 1)); }
  [[nodiscard]] Types types() const { return types_; }
  bool one_in(int n) { return next() % static_cast<std::uint64_t>(n) == 0; }

 private:
  std::uint64_t state_;
  Types types_;
};

struct Piece {
  std::int64_t offset, length;
};

// One instance of a datatype: its bytes in the order of the type map.
struct Flat {
  std::vector<Piece> pieces;
  std::int64_t lower = 0, upper = 0;
  [[nodiscard]] std::int64_t extent() const { return upper - lower; }
  [[nodiscard]] std::int64_t size() const;
};

enum class ShapeKind { leaf, contiguous, vector, hvector, indexed, hindexed, indexed_block, hindexed_block, structure, subarray,
                       darray, resized, duplicate };

struct Shape {
  ShapeKind kind = ShapeKind::leaf;
  // vector: {count, length, stride}; indexed: lengths; subarray: sizes, parts, starts one after the other;
  // darray: {ranks, rank}, sizes, blocks, grid; resized: {lower, extent}
  std::vector<int> numbers = {};
  std::vector<int> places = {};   // of blocks
  bool by_column = false;    // subarray, darray
  std::vector<Shape> inner = {};
};

[[nodiscard]] Flat flatten(const Shape& shape, std::int64_t leaf_bytes);
[[nodiscard]] MPI_Datatype build(const Shape& shape, MPI_Datatype leaf, std::int64_t leaf_bytes);  // committed
[[nodiscard]] std::string text_of(const Shape& shape);

[[nodiscard]] Shape contiguous(int count);
[[nodiscard]] Shape resized(Shape inner, int lower, int extent);

// Blocks that do not overlap; in ascending order, as filetypes must be.
[[nodiscard]] Shape draw_ascending(Random& random, int depth);
// Blocks that do not overlap; in any order, and before the origin.
[[nodiscard]] Shape draw_memory(Random& random);
// The part of rank `rank` of an array that is distributed over `ranks`.
[[nodiscard]] std::vector<Shape> draw_distribution(Random& random, int ranks);

}  // namespace transparent
