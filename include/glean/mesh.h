/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the data of an output mean, from C: element types and meshes. docs/meshes.md shows each mesh. Included by glean/glean.h.
 *
 * A mesh is checked when it is defined, and all that is wrong with it is in one message. Its values are copied there. Arrays over blocks,
 * points or cells are NULL when this rank has none.
 */
#ifndef GLEAN_MESH_H
#define GLEAN_MESH_H

#include <stddef.h>
#include <stdint.h>

/* Types of elements, in memory and in the file. */
typedef enum glean_type {
  GLEAN_INT8,
  GLEAN_UINT8,
  GLEAN_INT16,
  GLEAN_UINT16,
  GLEAN_INT32,
  GLEAN_UINT32,
  GLEAN_INT64,
  GLEAN_UINT64,
  GLEAN_FLOAT32,
  GLEAN_FLOAT64,
  GLEAN_TEXT /* char */
} glean_type;

/* What a variable on a grid has one value of. */
typedef enum glean_centring { GLEAN_CELLS, GLEAN_POINTS } glean_centring;

/* The shape of a cell, and the order of its points. The numbers are VTK's. */
typedef enum glean_cell_type {
  GLEAN_VERTEX = 1,
  GLEAN_POLY_VERTEX = 2,
  GLEAN_LINE = 3,
  GLEAN_POLY_LINE = 4,
  GLEAN_TRIANGLE = 5,
  GLEAN_TRIANGLE_STRIP = 6,
  GLEAN_POLYGON = 7,
  GLEAN_PIXEL = 8,
  GLEAN_QUAD = 9,
  GLEAN_TETRA = 10,
  GLEAN_VOXEL = 11,
  GLEAN_HEXAHEDRON = 12,
  GLEAN_WEDGE = 13,
  GLEAN_PYRAMID = 14,
  GLEAN_PENTAGONAL_PRISM = 15,
  GLEAN_HEXAGONAL_PRISM = 16,
  GLEAN_LAGRANGE_HEXAHEDRON = 72 /* of any order, the same along all edges: (order + 1)^3 points */
} glean_cell_type;

/* Cells of equal size over the whole domain. Written as coordinate variables (cell centres) named like the
 * dimensions. Arrays over dimensions go from the slowest to the fastest. */
typedef struct glean_uniform_grid {
  size_t size;                        /* sizeof(glean_uniform_grid) */
  size_t dimensions;                  /* how many; the length of the arrays below */
  const uint64_t *shape;              /* [dimensions] cells of the whole grid */
  const double *origin;               /* [dimensions] lower corner of the domain */
  const double *spacing;              /* [dimensions] width of a cell */
  size_t blocks;                      /* what this rank holds; may be 0 */
  const uint64_t *block_start;        /* [blocks][dimensions]; NULL when there are none */
  const uint64_t *block_count;        /* [blocks][dimensions]; NULL when there are none */
  const char *const *dimension_names; /* [dimensions]; NULL: x; y, x; z, y, x */
} glean_uniform_grid;

/* As glean_uniform_grid, with points at any distance: coordinates[d] are those along dimension d, ascending. The same on all ranks. */
typedef struct glean_rectilinear_grid {
  size_t size;                        /* sizeof(glean_rectilinear_grid) */
  size_t dimensions;                  /* one to three */
  const size_t *points;               /* [dimensions] one more than cells; slowest first */
  const double *const *coordinates;   /* [dimensions][points] */
  size_t blocks;                      /* of cells: what this rank holds; may be 0 */
  const uint64_t *block_start;        /* [blocks][dimensions] */
  const uint64_t *block_count;        /* [blocks][dimensions] */
  const char *const *dimension_names; /* [dimensions]; NULL: x; y, x; z, y, x */
} glean_rectilinear_grid;

/* Where points are in memory: x, y, z of each, at any stride in elements. */
typedef struct glean_points {
  size_t size;                /* sizeof(glean_points) */
  glean_type type;            /* GLEAN_FLOAT32 or GLEAN_FLOAT64 */
  const void *first;          /* x of the first */
  size_t count;
  ptrdiff_t point_stride;     /* from one point to the next; 0: 3 */
  ptrdiff_t component_stride; /* from x to y to z; 0: 1 */
} glean_points;

/* Hexahedra (quads, lines) in the order of an array, whose points lie anywhere. */
typedef struct glean_curvilinear_grid {
  size_t size;                        /* sizeof(glean_curvilinear_grid) */
  size_t dimensions;                  /* one to three */
  const uint64_t *shape;              /* [dimensions] cells of the whole grid */
  size_t blocks;                      /* of cells: what this rank holds; may be 0 */
  const uint64_t *block_start;        /* [blocks][dimensions] */
  const uint64_t *block_count;        /* [blocks][dimensions] */
  const glean_points *points;         /* of the blocks, one after the other: one more than cells in each dimension, row-major;
                                         NULL: none */
  const char *const *dimension_names; /* [dimensions]; NULL: i; j, i; k, j, i */
} glean_curvilinear_grid;

/* The points and cells of this rank; a rank may have none. Points that ranks share are points of each of them. The library numbers the
 * points and cells of all ranks, by rank. */
typedef struct glean_unstructured_mesh {
  size_t size;                 /* sizeof(glean_unstructured_mesh) */
  const glean_points *points;  /* NULL: none */
  size_t cells;
  const uint8_t *types;        /* [cells] glean_cell_type */
  const int64_t *offsets;      /* [cells + 1] where the points of each cell begin; NULL where each type has a fixed number of points */
  const int64_t *connectivity; /* numbers of `points` from 0 on, cell after cell */
  size_t connectivity_length;
} glean_unstructured_mesh;

/* Block-structured AMR as FLASH has it: all blocks have the same number of cells; the array of a variable is
 * [block][z][y][x]. Written with the variables `lrefine`, `parent` and `bndbox`. The arrays over blocks are
 * NULL when this rank has none. */
typedef struct glean_amr_grid {
  size_t size;                     /* sizeof(glean_amr_grid) */
  size_t dimensions;               /* of space */
  const uint64_t *cells_per_block; /* [dimensions] slowest first */
  uint64_t blocks_total;           /* over all ranks */
  uint64_t first_block;            /* index of this rank's first block */
  size_t blocks;                   /* of this rank; may be 0 */
  const int *level;                /* [blocks] */
  const int64_t *parent;           /* [blocks] index of the parent in the whole mesh, -1: none */
  const double *lower;             /* [blocks][dimensions] bounding box, x first as in FLASH */
  const double *upper;             /* [blocks][dimensions] */
} glean_amr_grid;

#endif
