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
  module.def("lagrange_hexahedron_point", &glean::lagrange_hexahedron_point, nanobind::arg("i"), nanobind::arg("j"), nanobind::arg("k"),
             nanobind::arg("order"),
             "Where a Lagrange hexahedron has the point that is the i-th along x, the j-th along y and the k-th along z, each from 0 to "
             "`order`.");
  module.def("keep_other_threads_in_calls", &glean::python::keep_other_threads_in_calls,
             "Before the interpreter ends: only the thread that calls it comes back from calls from now on.");
  glean::python::bind_errors(module);
  glean::python::bind_session(module);
  glean::python::bind_output(module);
  glean::python::bind_input(module);
  glean::python::bind_containers(module);
}
