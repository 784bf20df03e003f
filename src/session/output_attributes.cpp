// SPDX-License-Identifier: BSD-3-Clause
//
// Attributes: what they are when definitions end, and what some of them become until the output is closed.
#include <algorithm>
#include <cstring>
#include <string>

#include "session/output_impl.hpp"
#include "session/precision.hpp"

namespace glean {
namespace {

mesh::Type type_of_attribute(Type type) { return static_cast<mesh::Type>(type); }

[[noreturn]] void refuse_attribute(base::Errc code, const std::string& what, const std::string& hint = {}) {
  throw base::Error(code, what, hint);
}

std::string elements_text(std::size_t count) { return std::to_string(count) + (count == 1 ? " element" : " elements"); }

}  // namespace

void Output::Impl::define_attribute(Variable variable, std::string_view name, Type type, const void* values,
                                    std::size_t count) {
  require(Phase::defining, "define_attribute");
  check_attribute_name(name);
  if (variable.id != -1) static_cast<void>(info(variable, "define_attribute"));
  const bool is_fill = variable.id != -1 && name == "_FillValue" && type == Type::float64;
  if (is_fill && program_.definitions().variables[static_cast<std::size_t>(variable.id)].external == mesh::Type::float32 &&
      precision_.narrows(this->name(variable))) {
    const auto* first = static_cast<const std::byte*>(values);
    return program_.define_attribute(variable.id, name, mesh::Type::float32, session::narrowed({first, count * sizeof(double)}));
  }
  program_.define_attribute(variable.id, name, type_of_attribute(type),
                            {static_cast<const std::byte*>(values), count * mesh::size_of(type_of_attribute(type))});
}

// What was defined last of that name.
mesh::Attribute& Output::Impl::attribute(Variable variable, std::string_view name, const char* call) {
  if (variable.id != -1) static_cast<void>(info(variable, call));
  auto& attributes = program_.definitions().attributes;
  const auto found = std::find_if(attributes.rbegin(), attributes.rend(), [&](const mesh::Attribute& each) {
    return each.variable == variable.id && each.name == name;
  });
  if (found != attributes.rend()) return *found;
  const std::string whose = variable.id == -1 ? "" : " of '" + this->name(variable) + "'";
  refuse_attribute(base::Errc::not_found,
                   std::string(call) + " of '" + path_ + "': no attribute '" + session::shown_name(name) + "'" + whose + " is defined",
                   "define_attribute comes first");
}

void Output::Impl::allow_attribute_change(Variable variable, std::string_view name) {
  require(Phase::defining, "allow_attribute_change");
  mesh::Attribute& found = attribute(variable, name, "allow_attribute_change");
  const std::string what = "attribute '" + found.name + "' cannot change: ";
  if (found.variable != -1 && found.name == "_FillValue") {
    refuse_attribute(base::Errc::invalid_argument, what + "elements that no rank puts have its value");
  }
  if (found.values.empty()) {
    refuse_attribute(base::Errc::invalid_argument, what + "it has no values",
                     "define it with as many as it will have, and text as long as it may become");
  }
  found.changes = true;
}

void Output::Impl::set_attribute(Variable variable, std::string_view name, Type type, const void* values, std::size_t count) {
  require_open("set_attribute");
  if (phase_ == Phase::defining) {
    refuse_attribute(base::Errc::invalid_state, "set_attribute of '" + path_ + "': the definitions have not ended",
                     "define_attribute gives the first values");
  }
  if (adds_to_file_) {
    refuse_attribute(base::Errc::unsupported,
                     "set_attribute of '" + path_ + "': it is appended to, and what is in it does not change");
  }
  const mesh::Attribute& defined = attribute(variable, name, "set_attribute");
  const std::string what = "set_attribute of '" + path_ + "': '" + defined.name + "' ";
  if (!defined.changes) {
    refuse_attribute(base::Errc::invalid_state, what + "keeps the values of its definition",
                     "call allow_attribute_change for it before the definitions end");
  }
  if (type_of_attribute(type) != defined.type) {
    refuse_attribute(base::Errc::invalid_argument, what + "was defined as " + std::string(mesh::name_of(defined.type)) + ", and " +
                                                       std::string(mesh::name_of(type_of_attribute(type))) + " is given");
  }
  const bool is_text = defined.type == mesh::Type::text;
  if (is_text ? count > defined.count() : count != defined.count()) {
    refuse_attribute(base::Errc::invalid_argument,
                     what + "was defined with " + elements_text(defined.count()) + ", and " + std::to_string(count) +
                         (count == 1 ? " is given" : " are given"),
                     is_text ? "define it as long as it may become" : "give as many as were defined");
  }
  for (const int owner : owners_of(variable)) {
    for (mesh::Attribute& late : late_attributes_) {
      if (late.variable != owner || late.name != defined.name) continue;
      std::fill(late.values.begin(), late.values.end(), std::byte{0});   // shorter text is padded with zero bytes
      if (count != 0) std::memcpy(late.values.data(), values, count * mesh::size_of(defined.type));
    }
  }
}

// The variables of the file that have the attributes of one of the program; -1: the file itself.
std::vector<int> Output::Impl::owners_of(Variable variable) const {
  if (variable.id == -1) return {-1};
  const session::FileView::Route& route = file_.routes[static_cast<std::size_t>(variable.id)];
  if (route.variable >= 0) return {route.variable};
  std::vector<int> owners;
  for (std::size_t f = 0; f < file_.level_of.size(); ++f) {
    if (file_.level_of[f] == variable.id) owners.push_back(static_cast<int>(f));
  }
  return owners;
}

}  // namespace glean
