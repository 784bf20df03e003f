// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "array_view.hpp"
#include "handle.hpp"

namespace glean::python {

namespace {

using Counts = std::vector<std::uint64_t>;

// Of each variable: name, type, whether it is per step, shape of a step, names of all dimensions.
nb::list variables(InputHandle& self) {
  nb::list all;
  for (const VariableDescription& variable : self.call([](Input& input) { return input.variables(); })) {
    all.append(nb::make_tuple(variable.name, static_cast<int>(variable.external), variable.per_step, variable.shape, variable.dimensions));
  }
  return all;
}

// Of each attribute: name, type, elements.
nb::list attributes(InputHandle& self, int variable) {
  nb::list all;
  for (const AttributeDescription& one : self.call([&](Input& input) { return input.attributes(Variable{variable}); })) {
    all.append(nb::make_tuple(one.name, static_cast<int>(one.external), one.elements));
  }
  return all;
}

void read(InputHandle& self, int variable, std::uint64_t step, const Counts& start, const Counts& count, int type, nb::handle out) {
  const Type memory = type_of_number(type);
  const ArrayView view(out, memory, ArrayView::For::writing);
  self.call([&](Input& input) { input.read_box(Variable{variable}, step, {start, count}, memory, view.first(), view.elements()); });
}

void read_all(InputHandle& self, int variable, std::uint64_t step, const Counts& start, const Counts& count, int type, nb::handle out) {
  const Type memory = type_of_number(type);
  const ArrayView view(out, memory, ArrayView::For::writing);
  self.call([&](Input& input) { input.read_box_all(Variable{variable}, step, {start, count}, memory, view.first(), view.elements()); });
}

void prefetch(InputHandle& self, int variable, std::uint64_t step, const Counts& start, const Counts& count) {
  self.call([&](Input& input) { input.prefetch(Variable{variable}, step, {start, count}); });
}

void read_attribute(InputHandle& self, int variable, const std::string& name, int type, nb::handle out) {
  const Type memory = type_of_number(type);
  const ArrayView view(out, memory, ArrayView::For::writing);
  self.call([&](Input& input) {
    static_cast<void>(input.read_attribute(Variable{variable}, name, memory, view.first(), view.elements()));
  });
}

}  // namespace

void bind_input(nb::module_& module) {
  nb::class_<InputHandle>(module, "Input")
      .def("path", [](InputHandle& self) { return self.call([](Input& input) { return input.path(); }); })
      .def("steps", [](InputHandle& self) { return self.call([](Input& input) { return input.steps(); }); })
      .def("variables", variables)
      .def("find_variable",
           [](InputHandle& self, const std::string& name) { return self.call([&](Input& input) { return input.find_variable(name).id; }); },
           nb::arg("name"))
      .def("attributes", attributes, nb::arg("variable"))
      .def("read", read, nb::arg("variable"), nb::arg("step"), nb::arg("start"), nb::arg("count"), nb::arg("type"), nb::arg("out"))
      .def("read_all", read_all, nb::arg("variable"), nb::arg("step"), nb::arg("start"), nb::arg("count"), nb::arg("type"), nb::arg("out"))
      .def("prefetch", prefetch, nb::arg("variable"), nb::arg("step"), nb::arg("start"), nb::arg("count"))
      .def("read_attribute", read_attribute, nb::arg("variable"), nb::arg("name"), nb::arg("type"), nb::arg("out"))
      .def("close", &InputHandle::destroy);
}

}  // namespace glean::python
