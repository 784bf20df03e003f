// SPDX-License-Identifier: BSD-3-Clause
// Holds the flattening of shapes to what the MPI library packs: the model is right about datatypes, or MPI is wrong.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "shape.hpp"

namespace {

using transparent::Flat;
using transparent::Piece;

// The places of the bytes in the order in which MPI packs them; two bytes say where an element was.
bool agrees(const transparent::Shape& shape) {
  constexpr std::int64_t leaf = 2, count = 3;
  const Flat flat = flatten(shape, leaf);
  MPI_Datatype type = build(shape, MPI_SHORT, leaf);
  MPI_Aint lower, extent;
  int size;
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Type_size(type, &size);
  bool same = size == flat.size() && lower == flat.lower && extent == flat.extent();
  if (!same) {
    std::printf("%s: size %d, lower bound %ld, extent %ld\n", text_of(shape).c_str(), size, static_cast<long>(lower),
                static_cast<long>(extent));
  }
  std::vector<short> memory(20000), packed(static_cast<std::size_t>(size) * count / 2);
  std::iota(memory.begin(), memory.end(), short{0});
  int position = 0;
  MPI_Pack(memory.data() + memory.size() / 2, count, type, packed.data(), size * static_cast<int>(count), &position, MPI_COMM_SELF);
  std::size_t at = 0;
  for (std::int64_t i = 0; i < count && same; ++i) {
    for (const Piece& piece : flat.pieces) {
      for (std::int64_t byte = 0; byte < piece.length; byte += leaf, ++at) {
        const auto place = static_cast<std::int64_t>(memory.size() / 2) + (i * flat.extent() + piece.offset + byte) / leaf;
        same = same && packed[at] == memory[static_cast<std::size_t>(place)];
      }
    }
  }
  if (!same) std::printf("%s: MPI packs it differently\n", text_of(shape).c_str());
  MPI_Type_free(&type);
  return same;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int shapes = argc > 1 ? std::atoi(argv[1]) : 1000;
  int wrong = 0;
  for (int seed = 1; seed <= shapes; ++seed) {
    transparent::Random random(static_cast<std::uint64_t>(seed));
    const auto memory = draw_memory(random), file = draw_ascending(random, 2);
    wrong += (flatten(memory, 1).extent() < 1000 && !agrees(memory) ? 1 : 0) + (flatten(file, 1).extent() < 1000 && !agrees(file) ? 1 : 0);
    // A filetype must not go backwards.
    const Flat flat = flatten(file, 1);
    const auto ascending = [](const Piece& a, const Piece& b) { return a.offset + a.length > b.offset; };
    if (std::adjacent_find(flat.pieces.begin(), flat.pieces.end(), ascending) != flat.pieces.end() || flat.pieces.front().offset < 0) {
      std::printf("%s: not ascending\n", text_of(file).c_str());
      ++wrong;
    }
  }
  std::printf("%d shapes, %d wrong\n", 2 * shapes, wrong);
  MPI_Finalize();
  return wrong > 0 ? 1 : 0;
}
