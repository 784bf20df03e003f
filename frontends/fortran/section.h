/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An array of a Fortran program, seen through its descriptor: where its elements lie, whatever its kind and rank.
 */
#ifndef GLEAN_FORTRAN_SECTION_H
#define GLEAN_FORTRAN_SECTION_H

#include <ISO_Fortran_binding.h>
#include <stdint.h>

#include "glean/mesh.h"

/* As type c_section of sections.F90 has it. Dimensions from the fastest to the slowest, as in Fortran. */
typedef struct glean_fortran_section {
  void *first;           /* the first element */
  int64_t element_bytes;
  int32_t rank;
  int32_t contiguous;    /* 1: the elements lie one behind the other */
  int32_t in_elements;   /* 1: neighbours are whole elements apart, and `strides` says how many */
  int32_t sized;         /* 0: an assumed-size array, whose last extent nothing says */
  int64_t elements;
  int64_t extents[CFI_MAX_RANK + 1];
  int64_t strides[CFI_MAX_RANK + 1];
  int64_t stride_bytes[CFI_MAX_RANK + 1];
} glean_fortran_section;

/* Describes `array`. The descriptor of a character entity does not always have its length (gfortran 12), so the caller gives it. Text of
 * `text_length` characters is an array of single characters with one more dimension in front; -1: not text.
 * Local. */
__attribute__((visibility("default"))) void glean_fortran_describe(const CFI_cdesc_t *array, int64_t element_bytes, int64_t text_length,
                                                                   glean_fortran_section *section);

/* Copies the elements, in their order, to or from memory without gaps. Local. */
__attribute__((visibility("default"))) void glean_fortran_gather(const glean_fortran_section *section, void *packed);
__attribute__((visibility("default"))) void glean_fortran_scatter(const glean_fortran_section *section, const void *packed);

/* `bytes` behind `address`. Local. */
__attribute__((visibility("default"))) void *glean_fortran_behind(void *address, int64_t bytes);

/* Points whose coordinates are these arrays of as many elements, where one stride leads from each point to the next and another one from
 * x to y and from y to z: 1, and `points` says where they lie. Otherwise 0. Local. */
__attribute__((visibility("default"))) int glean_fortran_points_in_place(const glean_fortran_section *x, const glean_fortran_section *y,
                                                                         const glean_fortran_section *z, glean_points *points);

#endif
