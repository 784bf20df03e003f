// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers in floating point with fewer significant bits: the rest is zero, which compresses well.
#pragma once

#include "mesh/type.hpp"

namespace glean::reduce {

// The nearest number of `type`, which is float32 or float64, with so many bits behind the first one; the even one of two. The relative
// error is 2^-(bits + 1) at most. What is not finite, or would become so, stays as it is.
[[nodiscard]] double round_to_bits(double value, int bits, mesh::Type type);

// With which the relative error is half a unit of that decimal digit at most.
[[nodiscard]] int bits_of_digits(int digits);

}   // namespace glean::reduce
