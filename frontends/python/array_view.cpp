// SPDX-License-Identifier: BSD-3-Clause
#include "array_view.hpp"

#include <iterator>
#include <string>

namespace glean::python {

namespace {

constexpr std::size_t sizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 1};   // as glean::Type
static_assert(std::size(sizes) == static_cast<std::size_t>(Type::text) + 1);

}  // namespace

Type type_of_number(int number) {
  if (number < 0 || number > static_cast<int>(Type::text)) {
    throw Error(Errc::invalid_argument, "there is no type of number " + std::to_string(number));
  }
  return static_cast<Type>(number);
}

ArrayView::ArrayView(nanobind::handle object, Type type, For purpose) {
  const int flags = purpose == For::reading ? PyBUF_STRIDES : PyBUF_C_CONTIGUOUS | (purpose == For::writing ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw nanobind::python_error();
  try {
    measure(sizes[static_cast<std::size_t>(type)]);
  } catch (...) {
    PyBuffer_Release(&view_);
    throw;
  }
}

void ArrayView::measure(std::size_t size) {
  if (static_cast<std::size_t>(view_.itemsize) != size) {
    throw Error(Errc::invalid_argument, "elements of " + std::to_string(view_.itemsize) + " bytes where there are to be " +
                                            std::to_string(size));
  }
  for (int d = 0; d < view_.ndim; ++d) {
    const Py_ssize_t stride = view_.strides[d];
    if (stride % view_.itemsize != 0) {
      throw Error(Errc::invalid_argument, "elements that are " + std::to_string(stride) + " bytes apart, no multiple of their size",
                  "numpy.ascontiguousarray makes a copy without gaps");
    }
    elements_ *= static_cast<std::size_t>(view_.shape[d]);
    shape_.push_back(static_cast<std::uint64_t>(view_.shape[d]));
    strides_.push_back(stride / view_.itemsize);
  }
}

}  // namespace glean::python
