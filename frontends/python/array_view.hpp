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
  enum class For { reading, writing };
  // Throws invalid_argument if elements are of another size than `type`, if neighbours are not a whole number of elements apart, if it
  // is to be written and is not contiguous, and what the object throws that has no such memory.
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
  void measure(std::size_t size, For purpose);

  Py_buffer view_{};
  std::size_t elements_ = 1;
  std::vector<std::ptrdiff_t> strides_;
  std::vector<std::uint64_t> shape_;
};

// The types of elements as Python counts them: in the order of glean::Type. Throws invalid_argument.
[[nodiscard]] Type type_of_number(int number);

}  // namespace glean::python
