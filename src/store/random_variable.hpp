// SPDX-License-Identifier: BSD-3-Clause
//
// Variables and boxes for tests, at random.
#pragma once

#include <random>
#include <vector>

#include "store/layout.hpp"

namespace glean::store {

inline store::VariableLayout random_variable(std::mt19937& random, mesh::Type external) {
  store::VariableLayout variable;
  variable.name = "v";
  variable.external = external;
  for (std::size_t d = random() % 4; d > 0; --d) variable.shape.push_back(1 + random() % 7);
  variable.begin_bytes = 4 * (random() % 40);
  if (random() % 2 == 0) variable.record_stride_bytes = base::align_up(variable.record_bytes(), 4) + 4 * (random() % 30);
  for (auto& byte : variable.fill_value) byte = static_cast<std::byte>(random());
  return variable;
}

inline mesh::Box random_box(std::mt19937& random, const mesh::Shape& shape) {
  mesh::Box box;
  for (const std::uint64_t extent : shape) {
    box.start.push_back(random() % extent);
    box.count.push_back(1 + random() % (extent - box.start.back()));
  }
  return box;
}

// Cuts a box into many that cover it, none twice.
inline void cut(std::mt19937& random, const mesh::Box& box, unsigned one_in, std::vector<mesh::Box>& pieces) {
  for (std::size_t d = 0; d < box.count.size(); ++d) {
    if (box.count[d] < 2 || random() % one_in == 0) continue;
    mesh::Box low = box, high = box;
    low.count[d] = 1 + random() % (box.count[d] - 1);
    high.start[d] += low.count[d];
    high.count[d] -= low.count[d];
    cut(random, low, one_in, pieces);
    cut(random, high, one_in, pieces);
    return;
  }
  pieces.push_back(box);
}

// Positions in the array of the elements of a box, in order.
inline std::vector<std::uint64_t> positions(const mesh::Box& box, const mesh::Shape& shape) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < box.elements(); ++i) {
    std::uint64_t rest = i, position = 0, stride = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
      position += (box.start[d] + rest % box.count[d]) * stride;
      rest /= box.count[d];
      stride *= shape[d];
    }
    all.push_back(position);
  }
  return all;
}

}  // namespace glean::store
