/* SPDX-License-Identifier: BSD-3-Clause */
#include "section.h"

#include <string.h>

static void add_dimension(glean_fortran_section *section, int64_t extent, int64_t stride_bytes) {
  const int32_t d = section->rank++;
  section->extents[d] = extent;
  section->stride_bytes[d] = stride_bytes;
  section->strides[d] = stride_bytes / section->element_bytes;
  if (stride_bytes % section->element_bytes != 0) section->in_elements = 0;
  /* Where there is one element only, its neighbours are nowhere. */
  if (extent > 1 && stride_bytes != section->elements * section->element_bytes) section->contiguous = 0;
  section->elements *= extent;
}

void glean_fortran_describe(const CFI_cdesc_t *array, int64_t element_bytes, int64_t text_length, glean_fortran_section *section) {
  memset(section, 0, sizeof *section);
  section->first = array->base_addr;
  section->element_bytes = element_bytes;
  section->contiguous = 1;
  section->in_elements = 1;
  section->sized = 1;
  section->elements = 1;
  if (text_length >= 0) add_dimension(section, text_length, 1);
  for (int d = 0; d < array->rank; ++d) {
    if (array->dim[d].extent < 0) section->sized = 0;
    add_dimension(section, array->dim[d].extent, array->dim[d].sm);
  }
  if (section->elements == 0) section->contiguous = 1;
}

/* Calls `move` for each element and the packed place of it: the first dimension is the fastest. */
static void each_element(const glean_fortran_section *section, char *packed, void (*move)(char *element, char *packed, size_t bytes)) {
  int64_t at[CFI_MAX_RANK + 1] = {0};
  char *element = section->first;
  for (int64_t i = 0; i < section->elements; ++i) {
    move(element, packed + i * section->element_bytes, (size_t)section->element_bytes);
    for (int d = 0; d < section->rank; ++d) {
      element += section->stride_bytes[d];
      if (++at[d] < section->extents[d]) break;
      element -= at[d] * section->stride_bytes[d];
      at[d] = 0;
    }
  }
}

static void pack(char *element, char *packed, size_t bytes) { memcpy(packed, element, bytes); }
static void unpack(char *element, char *packed, size_t bytes) { memcpy(element, packed, bytes); }

void glean_fortran_gather(const glean_fortran_section *section, void *packed) { each_element(section, packed, pack); }

void glean_fortran_scatter(const glean_fortran_section *section, const void *packed) { each_element(section, (char *)packed, unpack); }

void *glean_fortran_behind(void *address, int64_t bytes) { return (char *)address + bytes; }

/* From each element to the next one in elements; 0 where they are not all as far apart. */
static int64_t even_stride(const glean_fortran_section *section) {
  int64_t stride = 0, elements = 1;
  for (int d = 0; d < section->rank; ++d) {
    if (section->extents[d] == 1) continue;
    if (stride == 0) stride = section->strides[d];
    if (section->strides[d] != stride * elements) return 0;
    elements *= section->extents[d];
  }
  return stride == 0 ? 1 : stride;
}

int glean_fortran_points_in_place(const glean_fortran_section *x, const glean_fortran_section *y, const glean_fortran_section *z,
                                  glean_points *points) {
  const int64_t stride = even_stride(x);
  const intptr_t to_y = (intptr_t)y->first - (intptr_t)x->first, to_z = (intptr_t)z->first - (intptr_t)y->first;
  if (!x->in_elements || !y->in_elements || !z->in_elements) return 0;
  if (stride == 0 || even_stride(y) != stride || even_stride(z) != stride) return 0;
  if (to_y != to_z || to_y == 0 || to_y % x->element_bytes != 0) return 0;
  points->first = x->first;
  points->count = (size_t)x->elements;
  points->point_stride = (ptrdiff_t)stride;
  points->component_stride = (ptrdiff_t)(to_y / x->element_bytes);
  return 1;
}
