// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "array_view.hpp"
#include "handle.hpp"

namespace glean::python {

namespace {

using Counts = std::vector<std::uint64_t>;

VariableOptions options(bool fill, bool per_step, int centring, int components) {
  return {fill ? Fill::on : Fill::off, per_step, static_cast<Centring>(centring), components};
}

int define_dimension(OutputHandle& self, const std::string& name, std::optional<std::uint64_t> length) {
  return self.call([&](Output& output) { return length ? output.define_dimension(name, *length) : output.define_unlimited(name); }).id;
}

int define_variable(OutputHandle& self, const std::string& name, int type, const std::vector<int>& dimensions,
                    const std::vector<std::pair<Counts, Counts>>& blocks, bool fill, bool per_step, int centring, int components) {
  const Type external = type_of_number(type);
  std::vector<Dimension> handles;
  for (const int dimension : dimensions) handles.push_back({dimension});
  std::vector<Box> boxes;
  for (const auto& [start, count] : blocks) boxes.push_back({start, count});
  return self.call([&](Output& output) {
    return output.define_variable(name, external, handles, std::move(boxes), options(fill, per_step, centring, components));
  }).id;
}

int define_grid_variable(OutputHandle& self, const std::string& name, int type, int grid, bool fill, bool per_step, int centring,
                         int components) {
  const Type external = type_of_number(type);
  return self.call([&](Output& output) {
    return output.define_variable(name, external, Grid{grid}, options(fill, per_step, centring, components));
  }).id;
}

void define_attribute(OutputHandle& self, int variable, const std::string& name, int type, nb::handle values) {
  const Type external = type_of_number(type);
  const ArrayView view(values, external, ArrayView::For::reading);
  self.call([&](Output& output) { output.attribute(Variable{variable}, name, external, view.first(), view.elements()); });
}

void set_attribute(OutputHandle& self, int variable, const std::string& name, int type, nb::handle values) {
  const Type external = type_of_number(type);
  const ArrayView view(values, external, ArrayView::For::reading);
  self.call([&](Output& output) { output.late_attribute(Variable{variable}, name, external, view.first(), view.elements()); });
}

void allow_attribute_change(OutputHandle& self, int variable, const std::string& name) {
  self.call([&](Output& output) { output.allow_attribute_change(Variable{variable}, name); });
}

// The array stays as it is until the call returns: its elements are copied from where they lie.
void put(OutputHandle& self, int variable, const Counts& start, int type, nb::handle array) {
  const Type memory = type_of_number(type);
  const ArrayView view(array, memory, ArrayView::For::reading);
  self.call([&](Output& output) { output.put_box(Variable{variable}, start, view.shape(), memory, view.first(), view.strides()); });
}

// All of this rank's blocks, as one array without gaps.
void put_all(OutputHandle& self, int variable, int type, nb::handle array) {
  const Type memory = type_of_number(type);
  const ArrayView view(array, memory, ArrayView::For::reading_in_order);
  self.call([&](Output& output) { output.put_all(Variable{variable}, memory, view.first(), view.elements()); });
}

void set_time(OutputHandle& self, double time, const std::string& unit) {
  self.call([&](Output& output) { output.set_time(time, unit); });
}

void fail(OutputHandle& self, int code, const std::string& what, const std::string& hint) {
  self.call([&](Output& output) { output.fail(Error(static_cast<Errc>(code), what, hint)); });
}

void close(OutputHandle& self, std::optional<int> level, double seconds) {
  self.call([&](Output& output) { level ? output.close(static_cast<Level>(*level), seconds) : output.close(); });
}

void wait(OutputHandle& self, int level, double seconds) {
  self.call([&](Output& output) { output.wait(static_cast<Level>(level), seconds); });
}

bool reached(OutputHandle& self, int level) {
  return self.call([&](Output& output) { return output.reached(static_cast<Level>(level)); });
}

}  // namespace

void bind_output(nb::module_& module) {
  nb::class_<OutputHandle> output(module, "Output");
  output.def("define_dimension", define_dimension, nb::arg("name"), nb::arg("length").none())
      .def("define_variable", define_variable, nb::arg("name"), nb::arg("type"), nb::arg("dimensions"), nb::arg("blocks"), nb::arg("fill"),
           nb::arg("per_step"), nb::arg("centring"), nb::arg("components"))
      .def("define_grid_variable", define_grid_variable, nb::arg("name"), nb::arg("type"), nb::arg("grid"), nb::arg("fill"),
           nb::arg("per_step"), nb::arg("centring"), nb::arg("components"))
      .def("define_attribute", define_attribute, nb::arg("variable"), nb::arg("name"), nb::arg("type"), nb::arg("values"))
      .def("allow_attribute_change", allow_attribute_change, nb::arg("variable"), nb::arg("name"))
      .def("set_attribute", set_attribute, nb::arg("variable"), nb::arg("name"), nb::arg("type"), nb::arg("values"))
      .def("set_time", set_time, nb::arg("time"), nb::arg("unit"))
      .def("end_definitions", [](OutputHandle& self) { self.call([](Output& out) { out.end_definitions(); }); })
      .def("begin_step", [](OutputHandle& self) { self.call([](Output& out) { out.begin_step(); }); })
      .def("put", put, nb::arg("variable"), nb::arg("start"), nb::arg("type"), nb::arg("array"))
      .def("put_all", put_all, nb::arg("variable"), nb::arg("type"), nb::arg("array"))
      .def("end_step", [](OutputHandle& self) { self.call([](Output& out) { out.end_step(); }); })
      .def("find_variable",
           [](OutputHandle& self, const std::string& name) {
             return self.call([&](Output& out) { return out.find_variable(name); }).id;
           },
           nb::arg("name"))
      .def("fail", fail, nb::arg("code"), nb::arg("what"), nb::arg("hint"))
      .def("wait", wait, nb::arg("level"), nb::arg("seconds"))
      .def("reached", reached, nb::arg("level"))
      .def("close", close, nb::arg("level").none(), nb::arg("seconds"))
      .def("abandon", &OutputHandle::destroy)
      .def("is_there", &OutputHandle::is_there);
  bind_grids(output);
}

}  // namespace glean::python
