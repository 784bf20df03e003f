// SPDX-License-Identifier: BSD-3-Clause
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "barrier.hpp"
#include "values.hpp"

using glean::c::call;
using glean::c::required;
using glean::c::required_array;

namespace {

std::size_t read_attribute(const glean_input& input, glean::Variable variable, const char* name, glean_type memory,
                           void* values, std::size_t room) {
  required_array(static_cast<char*>(values), room, "values");
  return input.input.read_attribute(variable, required(name, "name"), glean::c::type_of(memory), values, room);
}

// Both NULL: all of the variable, or of a step of it.
glean::Box box_of(const glean_input& input, glean_variable variable, const uint64_t* start, const uint64_t* count) {
  const std::vector<std::uint64_t> shape = input.input.describe({variable.id}).shape;
  const std::size_t dimensions = shape.size();
  if (start == nullptr && count == nullptr) return {std::vector<std::uint64_t>(dimensions, 0), shape};
  required_array(start, dimensions, "start");
  required_array(count, dimensions, "count");
  return {{start, start + dimensions}, {count, count + dimensions}};
}

}  // namespace

glean_input::glean_input(glean::Input&& opened) : input(std::move(opened)), path(input.path()), variables(input.variables()) {
  for (const auto& variable : variables) {
    std::vector<const char*>& names = dimension_names.emplace_back();
    for (const std::string& name : variable.dimensions) names.push_back(name.c_str());
  }
}

const std::vector<glean::AttributeDescription>& glean_input::attributes_of(int variable) {
  const auto seen = attributes.find(variable);
  return seen != attributes.end() ? seen->second : attributes.emplace(variable, input.attributes({variable})).first->second;
}

extern "C" {

glean_status glean_input_open(glean_session* session, const char* path, const glean_input_options* options,
                              glean_input** input) {
  return call(session, [&] {
    required(input, "input");
    *input = new glean_input(session->session.open_input(required(path, "path"), glean::c::options_of(options)));
  });
}

glean_status glean_session_restart(glean_session* session, const char* pattern, double seconds, glean_input** input) {
  return call(session, [&] {
    const std::string known = glean::c::agreed_in_session(session->agreement(), [&]() -> std::string {
      required(input, "input");
      return required(pattern, "pattern");
    });
    *input = new glean_input(session->session.restart(known, seconds));
  });
}

const char* glean_input_path(const glean_input* input) { return input == nullptr ? "" : input->path.c_str(); }

const char* glean_input_message(const glean_input* input) { return input == nullptr ? "" : input->message.c_str(); }

glean_status glean_input_steps(glean_input* input, uint64_t* steps) {
  return call(input, [&] { *required(steps, "steps") = input->input.steps(); });
}

glean_status glean_input_variables(glean_input* input, size_t* count) {
  return call(input, [&] { *required(count, "count") = input->variables.size(); });
}

glean_status glean_input_describe(glean_input* input, glean_variable variable,
                                  glean_variable_description* description) {
  return call(input, [&] {
    static_cast<void>(input->input.describe({variable.id}));   // says what is wrong with the handle
    const auto number = static_cast<std::size_t>(variable.id);
    const glean::VariableDescription& seen = input->variables[number];
    glean::c::fill_sized(description, "description", [&](glean_variable_description& known) {
      known.name = seen.name.c_str();
      known.external = static_cast<glean_type>(seen.external);
      known.per_step = seen.per_step ? 1 : 0;
      known.dimensions = seen.shape.size();
      known.shape = seen.shape.data();
      known.names = seen.dimensions.size();
      known.dimension_names = input->dimension_names[number].data();
    });
  });
}

glean_status glean_input_find_variable(glean_input* input, const char* name, glean_variable* variable) {
  return call(input, [&] {
    required(variable, "variable");
    variable->id = input->input.find_variable(required(name, "name")).id;
  });
}

glean_status glean_input_read(glean_input* input, glean_variable variable, uint64_t step, const uint64_t* start,
                              const uint64_t* count, glean_type memory, void* data, size_t elements) {
  return call(input, [&] {
    required_array(static_cast<char*>(data), elements, "data");
    input->input.read_box({variable.id}, step, box_of(*input, variable, start, count), glean::c::type_of(memory), data, elements);
  });
}

glean_status glean_input_read_all(glean_input* input, glean_variable variable, uint64_t step, const uint64_t* start,
                                  const uint64_t* count, glean_type memory, void* data, size_t elements) {
  return call(input, [&] {
    // What is wrong with the arguments is said in the call, where the other ranks hear of it.
    glean::Box box{{0}, {}};
    glean::Type type = glean::Type::text;
    bool known = false;
    std::optional<glean::Error> wrong;
    try {
      type = glean::c::type_of(memory);
      box = box_of(*input, variable, start, count);
      known = true;
    } catch (const glean::Error& error) {
      wrong = error;
    }
    try {
      input->input.read_box_all({known ? variable.id : -1}, step, box, type, data, elements);
    } catch (const glean::Error&) {
      if (wrong) throw glean::Error(*wrong);
      throw;
    }
  });
}

glean_status glean_input_prefetch(glean_input* input, glean_variable variable, uint64_t step, const uint64_t* start,
                                  const uint64_t* count) {
  return call(input, [&] { input->input.prefetch({variable.id}, step, box_of(*input, variable, start, count)); });
}

glean_status glean_input_attributes(glean_input* input, glean_variable variable, size_t* count) {
  return call(input, [&] { *required(count, "count") = input->attributes_of(variable.id).size(); });
}

glean_status glean_input_describe_attribute(glean_input* input, glean_variable variable, size_t index,
                                            glean_attribute_description* description) {
  return call(input, [&] {
    const auto& attributes = input->attributes_of(variable.id);
    if (index >= attributes.size()) {
      throw glean::Error(glean::Errc::not_found, "no attribute has the number " + std::to_string(index) + ": there are " +
                                                     std::to_string(attributes.size()));
    }
    glean::c::fill_sized(description, "description", [&](glean_attribute_description& known) {
      known.name = attributes[index].name.c_str();
      known.external = static_cast<glean_type>(attributes[index].external);
      known.elements = attributes[index].elements;
    });
  });
}

glean_status glean_input_attribute(glean_input* input, const char* name, glean_type memory, void* values, size_t room,
                                   size_t* count) {
  return call(input, [&] {
    required(count, "count");
    *count = read_attribute(*input, glean::Variable{}, name, memory, values, room);
  });
}

glean_status glean_input_variable_attribute(glean_input* input, glean_variable variable, const char* name,
                                            glean_type memory, void* values, size_t room, size_t* count) {
  return call(input, [&] {
    required(count, "count");
    static_cast<void>(input->input.describe({variable.id}));
    *count = read_attribute(*input, {variable.id}, name, memory, values, room);
  });
}

void glean_input_free(glean_input* input) { delete input; }

}  // extern "C"
