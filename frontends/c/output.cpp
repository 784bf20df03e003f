// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "barrier.hpp"
#include "values.hpp"

using glean::c::call;
using glean::c::changing_call;
using glean::c::required;
using glean::c::required_array;

namespace {

glean::Variable variable_of(glean_variable variable) { return {variable.id}; }

// In C++ an attribute without variable is one of the file; here that is another call.
glean::Variable real_variable(glean_variable variable) {
  if (variable.id < 0) throw glean::Error(glean::Errc::invalid_argument, "no such variable");
  return {variable.id};
}

}  // namespace

extern "C" {

glean_status glean_output_open(glean_session* session, const char* path, glean_format format,
                               const glean_output_options* options, glean_output** output) {
  return call(session, [&] {
    struct Arguments {
      std::string path;
      glean::Format format;
      glean::OutputOptions options;
    };
    const Arguments known = glean::c::agreed_in_session(session->agreement(), [&]() -> Arguments {
      required(output, "output");
      return {required(path, "path"), glean::c::format_of(format), glean::c::options_of(options)};
    });
    *output = new glean_output{
        session->agreement(), session->session.open(known.path, known.format, known.options), {}, -1};
  });
}

glean_status glean_output_append(glean_session* session, const char* path, glean_output** output) {
  return call(session, [&] {
    const std::string known = glean::c::agreed_in_session(session->agreement(), [&]() -> std::string {
      required(output, "output");
      return required(path, "path");
    });
    *output = new glean_output{session->agreement(), session->session.append(known), {}, -1};
  });
}

const char* glean_output_message(const glean_output* output) {
  return output == nullptr ? "" : output->message.c_str();
}

glean_status glean_output_define_dimension(glean_output* output, const char* name, uint64_t length,
                                           glean_dimension* dimension) {
  return changing_call(output, [&] {
    required(dimension, "dimension");
    dimension->id = output->output.define_dimension(required(name, "name"), length).id;
  });
}

glean_status glean_output_define_unlimited(glean_output* output, const char* name,
                                           glean_dimension* dimension) {
  return changing_call(output, [&] {
    required(dimension, "dimension");
    dimension->id = output->unlimited = output->output.define_unlimited(required(name, "name")).id;
  });
}

glean_status glean_output_define_uniform_grid(glean_output* output, const glean_uniform_grid* description,
                                              glean_grid* grid) {
  return changing_call(output, [&] {
    required(grid, "grid");
    grid->id = output->output.define_grid(glean::c::grid_of(description)).id;
  });
}

glean_status glean_output_define_amr_grid(glean_output* output, const glean_amr_grid* description,
                                          glean_grid* grid) {
  return changing_call(output, [&] {
    required(grid, "grid");
    grid->id = output->output.define_grid(glean::c::grid_of(description)).id;
  });
}

glean_status glean_output_define_rectilinear_grid(glean_output* output, const glean_rectilinear_grid* description,
                                                  glean_grid* grid) {
  return changing_call(output, [&] {
    required(grid, "grid");
    grid->id = output->output.define_grid(glean::c::grid_of(description)).id;
  });
}

glean_status glean_output_define_curvilinear_grid(glean_output* output, const glean_curvilinear_grid* description,
                                                  glean_grid* grid) {
  return changing_call(output, [&] {
    required(grid, "grid");
    grid->id = output->output.define_grid(glean::c::grid_of(description)).id;
  });
}

glean_status glean_output_define_unstructured_mesh(glean_output* output, const glean_unstructured_mesh* description,
                                                   glean_grid* grid) {
  return changing_call(output, [&] {
    required(grid, "grid");
    grid->id = output->output.define_grid(glean::c::grid_of(description)).id;
  });
}

size_t glean_lagrange_hexahedron_point(size_t i, size_t j, size_t k, size_t order) {
  return glean::lagrange_hexahedron_point(i, j, k, order);
}

glean_status glean_output_set_time(glean_output* output, double time, const char* unit) {
  return changing_call(output, [&] { output->output.set_time(time, unit == nullptr ? "" : unit); });
}

glean_status glean_output_define_grid_variable(glean_output* output, const char* name, glean_type external,
                                               glean_grid grid, const glean_variable_options* options,
                                               glean_variable* variable) {
  return changing_call(output, [&] {
    required(variable, "variable");
    const glean::Type type = glean::c::type_of(external);
    const glean::VariableOptions known = glean::c::options_of(options);
    const glean::Grid over{grid.id};
    variable->id = output->output.define_variable(required(name, "name"), type, over, known).id;
  });
}

glean_status glean_output_define_variable(glean_output* output, const char* name, glean_type external,
                                          const glean_dimension* dimensions, size_t dimension_count,
                                          const uint64_t* block_start, const uint64_t* block_count,
                                          size_t blocks, const glean_variable_options* options,
                                          glean_variable* variable) {
  return changing_call(output, [&] {
    required(variable, "variable");
    required_array(dimensions, dimension_count, "dimensions");
    std::vector<glean::Dimension> ids(dimension_count);
    std::size_t fixed = 0;
    for (std::size_t d = 0; d < dimension_count; ++d) {
      ids[d].id = dimensions[d].id;
      if (dimensions[d].id != output->unlimited) ++fixed;
    }
    const glean::Type type = glean::c::type_of(external);
    std::vector<glean::Box> boxes = glean::c::boxes_of(block_start, block_count, blocks, fixed);
    const glean::VariableOptions known = glean::c::options_of(options);
    variable->id =
        output->output.define_variable(required(name, "name"), type, ids, std::move(boxes), known).id;
  });
}

glean_status glean_output_define_attribute(glean_output* output, const char* name, glean_type type,
                                           const void* values, size_t count) {
  return changing_call(output, [&] {
    output->output.attribute(glean::Variable{}, required(name, "name"), glean::c::type_of(type),
                             required_array(static_cast<const char*>(values), count, "values"), count);
  });
}

glean_status glean_output_define_variable_attribute(glean_output* output, glean_variable variable,
                                                    const char* name, glean_type type, const void* values,
                                                    size_t count) {
  return changing_call(output, [&] {
    output->output.attribute(real_variable(variable), required(name, "name"), glean::c::type_of(type),
                             required_array(static_cast<const char*>(values), count, "values"), count);
  });
}

glean_status glean_output_allow_attribute_change(glean_output* output, const char* name) {
  return changing_call(output, [&] { output->output.allow_attribute_change(required(name, "name")); });
}

glean_status glean_output_allow_variable_attribute_change(glean_output* output, glean_variable variable, const char* name) {
  return changing_call(output, [&] { output->output.allow_attribute_change(real_variable(variable), required(name, "name")); });
}

glean_status glean_output_set_attribute(glean_output* output, const char* name, glean_type type, const void* values,
                                        size_t count) {
  return changing_call(output, [&] {
    output->output.late_attribute(glean::Variable{}, required(name, "name"), glean::c::type_of(type),
                                  required_array(static_cast<const char*>(values), count, "values"), count);
  });
}

glean_status glean_output_set_variable_attribute(glean_output* output, glean_variable variable, const char* name,
                                                 glean_type type, const void* values, size_t count) {
  return changing_call(output, [&] {
    output->output.late_attribute(real_variable(variable), required(name, "name"), glean::c::type_of(type),
                                  required_array(static_cast<const char*>(values), count, "values"), count);
  });
}

glean_status glean_output_end_definitions(glean_output* output) {
  return call(output, [&] { output->output.end_definitions(); });
}

glean_status glean_output_begin_step(glean_output* output) {
  return call(output, [&] { output->output.begin_step(); });
}

glean_status glean_output_put(glean_output* output, glean_variable variable, glean_type memory,
                              const void* data, size_t elements) {
  return changing_call(output, [&] {
    required_array(static_cast<const char*>(data), elements, "data");
    output->output.put_all(variable_of(variable), glean::c::type_of(memory), data, elements);
  });
}

glean_status glean_output_put_box(glean_output* output, glean_variable variable, size_t dimensions,
                                  const uint64_t* start, const uint64_t* count, glean_type memory,
                                  const void* first, const ptrdiff_t* strides) {
  return changing_call(output, [&] {
    required_array(start, dimensions, "start");
    required_array(count, dimensions, "count");
    const bool is_empty = std::find(count, count + dimensions, 0u) != count + dimensions;
    if (!is_empty) required(first, "first");
    const std::span<const std::ptrdiff_t> steps(strides, strides == nullptr ? 0 : dimensions);
    output->output.put_box(variable_of(variable), {start, dimensions}, {count, dimensions}, glean::c::type_of(memory), first, steps);
  });
}

glean_status glean_output_fail(glean_output* output, glean_status status, const char* why) {
  return call(output, [&] { output->output.fail(glean::Error(glean::c::errc_of(status), required(why, "why"))); });
}

glean_status glean_output_end_step(glean_output* output) {
  return changing_call(output, [&] { output->output.end_step(); });
}

glean_status glean_output_find_variable(glean_output* output, const char* name, glean_variable* variable) {
  return call(output, [&] {
    required(variable, "variable");
    variable->id = output->output.find_variable(required(name, "name")).id;
  });
}

glean_status glean_output_wait(glean_output* output, glean_level level, double seconds) {
  return call(output, [&] {
    const glean::Level known = glean::c::agreed_in_session(output->comm, [&] { return glean::c::level_of(level); });
    output->output.wait(known, seconds);
  });
}

glean_status glean_output_reached(glean_output* output, glean_level level, int* reached) {
  return call(output, [&] {
    required(reached, "reached");
    *reached = output->output.reached(glean::c::level_of(level)) ? 1 : 0;
  });
}

glean_status glean_output_close_at(glean_output* output, glean_level level, double seconds) {
  return call(output, [&] {
    const glean::Level known = glean::c::agreed_in_session(output->comm, [&] { return glean::c::level_of(level); });
    output->output.close(known, seconds);
  });
}

glean_status glean_output_close(glean_output* output) {
  return call(output, [&] { output->output.close(); });
}

void glean_output_free(glean_output* output) { delete output; }

}  // extern "C"
