// SPDX-License-Identifier: BSD-3-Clause
//
// The memory of a Python object that has the buffer protocol, as NumPy's arrays have, without a copy of it.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "glean/glean.hpp"

namespace glean::python {

// Keeps the object's memory where it is. Made and destroyed with the interpreter's lock.
class ArrayView {
 public:
  // The last two want elements without gaps, in row-major order.
  enum class For { reading, reading_in_order, writing };
  // Throws invalid_argument if elements are of another size than `type`, if neighbours are not a whole number of elements apart, and
  // what the object throws that has no such memory, or has gaps where none may be.
  ArrayView(nanobind::handle object, Type type, For purpose);
  ~ArrayView() { PyBuffer_Release(&view_); }
  ArrayView(const ArrayView&) = delete;
  ArrayView& operator=(const ArrayView&) = delete;

  [[nodiscard]] void* first() const { return view_.buf; }
  [[nodiscard]] std::size_t elements() const { return elements_; }
  // In elements, slowest dimension first: negative and 0 are strides like others.
  [[nodiscard]] std::span<const std::ptrdiff_t> strides() const { return strides_; }
  [[nodiscard]] std::span<const std::uint64_t> shape() const { return shape_; }

 private:
  void measure(std::size_t size);

  Py_buffer view_{};
  std::size_t elements_ = 1;
  std::vector<std::ptrdiff_t> strides_;
  std::vector<std::uint64_t> shape_;
};

// The types of elements as Python counts them: in the order of glean::Type. Throws invalid_argument.
[[nodiscard]] Type type_of_number(int number);

}  // namespace glean::python
