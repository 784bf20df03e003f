/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stands in front of the library's glean_output_put_box and glean_output_define_unstructured_mesh: remembers what has come, and goes on to
 * the library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <glean/glean.h>
#include <string.h>

static const void *first_seen = NULL;
static ptrdiff_t strides_seen[16];

const void *seen_first(void) { return first_seen; }
ptrdiff_t seen_stride(int dimension) { return strides_seen[dimension]; }

glean_status glean_output_put_box(glean_output *output, glean_variable variable, size_t dimensions, const uint64_t *start,
                                  const uint64_t *count, glean_type memory, const void *first, const ptrdiff_t *strides) {
  glean_status (*next)(glean_output *, glean_variable, size_t, const uint64_t *, const uint64_t *, glean_type, const void *,
                       const ptrdiff_t *);
  void *found = dlsym(RTLD_NEXT, "glean_output_put_box");
  memcpy(&next, &found, sizeof next);
  first_seen = first;
  memcpy(strides_seen, strides, dimensions * sizeof *strides);
  return next(output, variable, dimensions, start, count, memory, first, strides);
}

glean_status glean_output_define_unstructured_mesh(glean_output *output, const glean_unstructured_mesh *description, glean_grid *grid) {
  glean_status (*next)(glean_output *, const glean_unstructured_mesh *, glean_grid *);
  void *found = dlsym(RTLD_NEXT, "glean_output_define_unstructured_mesh");
  memcpy(&next, &found, sizeof next);
  first_seen = description->points->first;
  strides_seen[0] = description->points->point_stride;
  strides_seen[1] = description->points->component_stride;
  return next(output, description, grid);
}
