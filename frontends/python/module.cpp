// SPDX-License-Identifier: BSD-3-Clause
//
// The module glean._glean: calls of C++ as they are, for the classes of the package to stand on.
#include <nanobind/nanobind.h>

#include "handle.hpp"

NB_MODULE(_glean, module) {
  // Objects that still live when the interpreter ends have been closed by then (glean/_session.py).
  nanobind::set_leak_warnings(false);
  module.doc() = "Calls of libglean.so as they are. The package glean is what programs use.";
  module.def("version", &glean::version, "The version of the library.");
  glean::python::bind_errors(module);
  glean::python::bind_session(module);
  glean::python::bind_output(module);
  glean::python::bind_input(module);
}
