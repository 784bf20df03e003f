// SPDX-License-Identifier: BSD-3-Clause
#include "shape.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace transparent {
namespace {

// Puts instances of inner types at places, in this order.
class Placing {
 public:
  void put(const Flat& inner, std::int64_t offset, std::int64_t count = 1) {
    for (std::int64_t i = 0; i < count; ++i, offset += inner.extent()) {
      for (const Piece& piece : inner.pieces) {
        if (!flat_.pieces.empty() && flat_.pieces.back().offset + flat_.pieces.back().length == offset + piece.offset) {
          flat_.pieces.back().length += piece.length;
        } else {
          flat_.pieces.push_back({offset + piece.offset, piece.length});
        }
      }
      lower_ = std::min(lower_, offset + inner.lower);
      upper_ = std::max(upper_, offset + inner.upper);
    }
  }
  Flat done() {
    flat_.lower = lower_;
    flat_.upper = upper_;
    return std::move(flat_);
  }
  Flat done(std::int64_t lower, std::int64_t extent) {
    flat_.lower = lower;
    flat_.upper = lower + extent;
    return std::move(flat_);
  }

 private:
  Flat flat_;
  std::int64_t lower_ = std::numeric_limits<std::int64_t>::max(), upper_ = std::numeric_limits<std::int64_t>::min();
};

std::vector<int> part(const std::vector<int>& numbers, std::size_t start, std::size_t count) {
  const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(start);
  return {first, first + static_cast<std::ptrdiff_t>(count)};
}

// Walks over an array of leaves in the order of its storage and puts those that `is_mine` says.
template <class IsMine>
Flat walk(const Shape& shape, const std::vector<int>& sizes, std::int64_t leaf_bytes, IsMine is_mine) {
  const Flat leaf = {{{0, leaf_bytes}}, 0, leaf_bytes};
  const int dimensions = static_cast<int>(sizes.size());
  const std::int64_t total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
  Placing placing;
  std::vector<int> index(sizes.size());
  for (std::int64_t element = 0; element < total; ++element) {
    std::int64_t rest = element;
    for (int i = 0; i < dimensions; ++i) {
      const auto dimension = static_cast<std::size_t>(shape.by_column ? i : dimensions - 1 - i);   // the fastest first
      index[dimension] = static_cast<int>(rest % sizes[dimension]);
      rest /= sizes[dimension];
    }
    if (is_mine(index)) placing.put(leaf, element * leaf_bytes);
  }
  return placing.done(0, total * leaf_bytes);
}

Flat flatten_subarray(const Shape& shape, std::int64_t leaf_bytes) {
  const std::size_t n = shape.numbers.size() / 3;
  const auto sizes = part(shape.numbers, 0, n), parts = part(shape.numbers, n, n), starts = part(shape.numbers, 2 * n, n);
  return walk(shape, sizes, leaf_bytes, [&](const std::vector<int>& index) {
    for (std::size_t i = 0; i < n; ++i) {
      if (index[i] < starts[i] || index[i] >= starts[i] + parts[i]) return false;
    }
    return true;
  });
}

// A block of 0 stands for MPI_DISTRIBUTE_BLOCK with the default argument.
Flat flatten_darray(const Shape& shape, std::int64_t leaf_bytes) {
  const std::size_t n = (shape.numbers.size() - 2) / 3;
  const auto sizes = part(shape.numbers, 2, n), blocks = part(shape.numbers, 2 + n, n), grid = part(shape.numbers, 2 + 2 * n, n);
  std::vector<int> place(n);
  int rest = shape.numbers[1];
  for (std::size_t i = n; i-- > 0; rest /= grid[i]) place[i] = rest % grid[i];
  return walk(shape, sizes, leaf_bytes, [&](const std::vector<int>& index) {
    for (std::size_t i = 0; i < n; ++i) {
      const int block = blocks[i] ? blocks[i] : (sizes[i] + grid[i] - 1) / grid[i];
      if (index[i] / block % grid[i] != place[i]) return false;
    }
    return true;
  });
}

MPI_Datatype build_darray(const Shape& shape, MPI_Datatype leaf) {
  const std::size_t n = (shape.numbers.size() - 2) / 3;
  const auto sizes = part(shape.numbers, 2, n), blocks = part(shape.numbers, 2 + n, n), grid = part(shape.numbers, 2 + 2 * n, n);
  std::vector<int> distributions(n), arguments(n);
  for (std::size_t i = 0; i < n; ++i) {
    distributions[i] = blocks[i] ? MPI_DISTRIBUTE_CYCLIC : MPI_DISTRIBUTE_BLOCK;
    arguments[i] = blocks[i] ? blocks[i] : MPI_DISTRIBUTE_DFLT_DARG;
  }
  MPI_Datatype type;
  MPI_Type_create_darray(shape.numbers[0], shape.numbers[1], static_cast<int>(n), sizes.data(), distributions.data(),
                         arguments.data(), grid.data(), shape.by_column ? MPI_ORDER_FORTRAN : MPI_ORDER_C, leaf, &type);
  return type;
}

}  // namespace

std::uint64_t Random::next() {
  std::uint64_t value = state_ += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

std::int64_t Flat::size() const {
  std::int64_t sum = 0;
  for (const Piece& piece : pieces) sum += piece.length;
  return sum;
}

Flat flatten(const Shape& shape, std::int64_t leaf_bytes) {
  if (shape.kind == ShapeKind::leaf) return {{{0, leaf_bytes}}, 0, leaf_bytes};
  if (shape.kind == ShapeKind::subarray) return flatten_subarray(shape, leaf_bytes);
  if (shape.kind == ShapeKind::darray) return flatten_darray(shape, leaf_bytes);
  const std::vector<int>& n = shape.numbers;
  const Flat inner = flatten(shape.inner.front(), leaf_bytes);
  Placing placing;
  switch (shape.kind) {
    case ShapeKind::contiguous: placing.put(inner, 0, n[0]); break;
    case ShapeKind::vector:
    case ShapeKind::hvector: {
      const std::int64_t stride = n[2] * (shape.kind == ShapeKind::vector ? inner.extent() : leaf_bytes);
      for (int i = 0; i < n[0]; ++i) placing.put(inner, i * stride, n[1]);
      break;
    }
    case ShapeKind::structure:
      for (std::size_t i = 0; i < n.size(); ++i) {
        placing.put(flatten(shape.inner[i], leaf_bytes), shape.places[i] * leaf_bytes, n[i]);
      }
      break;
    case ShapeKind::resized: placing.put(inner, 0); return placing.done(n[0] * leaf_bytes, n[1] * leaf_bytes);
    case ShapeKind::duplicate: placing.put(inner, 0); break;
    default: {
      const bool in_leaves = shape.kind == ShapeKind::hindexed || shape.kind == ShapeKind::hindexed_block;
      const bool same_length = shape.kind == ShapeKind::indexed_block || shape.kind == ShapeKind::hindexed_block;
      for (std::size_t i = 0; i < shape.places.size(); ++i) {
        placing.put(inner, shape.places[i] * (in_leaves ? leaf_bytes : inner.extent()), n[same_length ? 0 : i]);
      }
    }
  }
  return placing.done();
}

MPI_Datatype build(const Shape& shape, MPI_Datatype leaf, std::int64_t leaf_bytes) {
  std::vector<MPI_Datatype> inner;
  for (const Shape& each : shape.inner) inner.push_back(build(each, leaf, leaf_bytes));
  const std::vector<int>& n = shape.numbers;
  const int blocks = static_cast<int>(shape.places.size());
  std::vector<MPI_Aint> bytes;
  for (const int place : shape.places) bytes.push_back(place * leaf_bytes);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  switch (shape.kind) {
    case ShapeKind::leaf: MPI_Type_dup(leaf, &type); break;
    case ShapeKind::contiguous: MPI_Type_contiguous(n[0], inner[0], &type); break;
    case ShapeKind::vector: MPI_Type_vector(n[0], n[1], n[2], inner[0], &type); break;
    case ShapeKind::hvector: MPI_Type_create_hvector(n[0], n[1], n[2] * leaf_bytes, inner[0], &type); break;
    case ShapeKind::indexed: MPI_Type_indexed(blocks, n.data(), shape.places.data(), inner[0], &type); break;
    case ShapeKind::hindexed: MPI_Type_create_hindexed(blocks, n.data(), bytes.data(), inner[0], &type); break;
    case ShapeKind::indexed_block: MPI_Type_create_indexed_block(blocks, n[0], shape.places.data(), inner[0], &type); break;
    case ShapeKind::hindexed_block: MPI_Type_create_hindexed_block(blocks, n[0], bytes.data(), inner[0], &type); break;
    case ShapeKind::structure: {
      // The extent of a struct may have been rounded up for alignment: say what it is.
      const Flat flat = flatten(shape, leaf_bytes);
      MPI_Datatype rounded;
      MPI_Type_create_struct(blocks, n.data(), bytes.data(), inner.data(), &rounded);
      MPI_Type_create_resized(rounded, flat.lower, flat.extent(), &type);
      MPI_Type_free(&rounded);
      break;
    }
    case ShapeKind::subarray: {
      const int d = static_cast<int>(n.size() / 3);
      MPI_Type_create_subarray(d, n.data(), n.data() + d, n.data() + 2 * d,
                               shape.by_column ? MPI_ORDER_FORTRAN : MPI_ORDER_C, leaf, &type);
      break;
    }
    case ShapeKind::darray: type = build_darray(shape, leaf); break;
    case ShapeKind::resized: MPI_Type_create_resized(inner[0], n[0] * leaf_bytes, n[1] * leaf_bytes, &type); break;
    case ShapeKind::duplicate: MPI_Type_dup(inner[0], &type); break;
  }
  for (MPI_Datatype& each : inner) MPI_Type_free(&each);
  MPI_Type_commit(&type);
  return type;
}

std::string text_of(const Shape& shape) {
  static constexpr const char* names[] = {"leaf", "contiguous", "vector", "hvector", "indexed", "hindexed", "indexed_block",
                                          "hindexed_block", "struct", "subarray", "darray", "resized", "dup"};
  if (shape.kind == ShapeKind::leaf) return "leaf";
  const auto list = [](const std::vector<int>& values) {
    std::string text;
    for (const int value : values) text += (text.empty() ? "" : " ") + std::to_string(value);
    return text;
  };
  std::string text = std::string(names[static_cast<int>(shape.kind)]) + "(" + list(shape.numbers);
  if (!shape.places.empty()) text += " at " + list(shape.places);
  if (shape.by_column) text += " by column";
  for (const Shape& inner : shape.inner) text += ", " + text_of(inner);
  return text + ")";
}

}  // namespace transparent
