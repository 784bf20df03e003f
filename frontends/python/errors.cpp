// SPDX-License-Identifier: BSD-3-Clause
//
// glean::Error becomes the class of glean._errors that has its code.
#include <exception>

#include "handle.hpp"

namespace glean::python {

namespace {

// As nanobind calls it: sets Python's error for what it knows, and throws the rest on.
void set_error(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    try {
      const nb::object classes = nb::module_::import_("glean._errors").attr("CLASSES");
      const nb::object type = classes[nb::int_(static_cast<int>(error.code()))];
      PyErr_SetObject(type.ptr(), type(error.what(), error.hint().c_str()).ptr());
    } catch (nb::python_error& failed) {   // while the interpreter ends nothing can be imported
      failed.restore();
    }
  }
}

}  // namespace

void bind_errors(nb::module_&) { nb::register_exception_translator(set_error); }

}  // namespace glean::python
