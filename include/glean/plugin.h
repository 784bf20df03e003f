/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Your own analysis in C: a shared library that GLEAN calls for each step of an output while the data move (docs/plugins.md). It needs no
 * other header and no library of GLEAN.
 *
 *   #include <glean/plugin.h>
 *   GLEAN_PLUGIN
 *
 *   int glean_plugin_step(const glean_plugin_host *host, void *state, const glean_plugin_step_view *step) {
 *     const glean_plugin_variable *dens = host->find(step, "dens");
 *     if (dens == NULL) return 0;
 *     double sum = 0;
 *     for (size_t i = 0; i < dens->piece_count; ++i) {
 *       const glean_plugin_piece *piece = dens->pieces[i];
 *       const double *values = piece->data;
 *       for (uint64_t k = 0; k < piece->elements; ++k) sum += values[k];
 *     }
 *     host->value(host, "mass", sum, GLEAN_PLUGIN_SUM);
 *     return 0;
 *   }
 *
 *   cc -shared -fPIC -o libmass.so mass.c        and in glean.toml: analyse_with = "libmass.so"
 *
 * The library runs in a process of its own, on one thread, which has no part in the MPI job. Structures begin with their size: later
 * versions only add members at their ends, and `size` says which are there.
 */
#ifndef GLEAN_PLUGIN_H
#define GLEAN_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GLEAN_PLUGIN_VERSION 1
#define GLEAN_PLUGIN_EXPORT __attribute__((visibility("default")))

/* Once in the library: which version it was compiled for. Without it, or with a version that GLEAN does not know, it is refused. */
#define GLEAN_PLUGIN \
  GLEAN_PLUGIN_EXPORT extern const int glean_plugin_version; \
  GLEAN_PLUGIN_EXPORT const int glean_plugin_version = GLEAN_PLUGIN_VERSION;

typedef enum glean_plugin_type {
  GLEAN_PLUGIN_INT8, GLEAN_PLUGIN_UINT8, GLEAN_PLUGIN_INT16, GLEAN_PLUGIN_UINT16, GLEAN_PLUGIN_INT32, GLEAN_PLUGIN_UINT32,
  GLEAN_PLUGIN_INT64, GLEAN_PLUGIN_UINT64, GLEAN_PLUGIN_FLOAT32, GLEAN_PLUGIN_FLOAT64, GLEAN_PLUGIN_TEXT
} glean_plugin_type;

/* How a number of several nodes becomes one; GLEAN_PLUGIN_NODE: it does not, and the table has a line for each node. */
typedef enum glean_plugin_join { GLEAN_PLUGIN_NODE, GLEAN_PLUGIN_SUM, GLEAN_PLUGIN_MIN, GLEAN_PLUGIN_MAX } glean_plugin_join;

/* A box of a variable that a rank has put: its elements, row by row, slowest dimension first. They are in the pool, which can only be read,
 * and gone when glean_plugin_step returns. */
typedef struct glean_plugin_piece {
  size_t size;
  const uint64_t *start, *count;   /* as many as the variable has dimensions */
  uint64_t elements;
  const void *data;
  glean_plugin_type type;          /* of an element there, which may differ from the file's */
  int is_swapped;                  /* 1: the bytes of each element are in the other order than this machine's */
  int rank;                        /* that has put it */
} glean_plugin_piece;

typedef struct glean_plugin_attribute {
  size_t size;
  const char *name;
  const char *text;                /* NULL: it has numbers */
  const double *numbers;
  size_t count;                    /* of numbers, or of characters */
} glean_plugin_attribute;

typedef struct glean_plugin_variable {
  size_t size;
  const char *name;
  glean_plugin_type type;          /* in the file */
  int per_step;                    /* 1: each step has values of its own */
  size_t dimensions;
  const uint64_t *shape;           /* of a step */
  size_t piece_count;              /* that this node has; later ones lie over earlier ones */
  const glean_plugin_piece *const *pieces;
  size_t attribute_count;
  const glean_plugin_attribute *const *attributes;
} glean_plugin_variable;

typedef struct glean_plugin_step_view {
  size_t size;
  const char *output;              /* as the program has named it */
  const char *file;                /* the path that it will have */
  uint64_t step;
  uint64_t node, nodes;            /* which node this is, and of how many: each sees what its own ranks have put */
  size_t variable_count;
  const glean_plugin_variable *const *variables;
  size_t attribute_count;
  const glean_plugin_attribute *const *attributes;
} glean_plugin_step_view;

/* What the process offers. Only from the thread that GLEAN calls. */
typedef struct glean_plugin_host glean_plugin_host;
struct glean_plugin_host {
  size_t size;
  /* The variable of that name; NULL: there is none. */
  const glean_plugin_variable *(*find)(const glean_plugin_step_view *step, const char *name);
  /* Fills an array in the shape of the variable, as double in this machine's order; elements that this node has not stay as they are.
   * `elements` is the length of `array`. Returns 0, and -1 where it has another length or the variable is text. */
  int (*assemble)(const glean_plugin_variable *variable, double *array, uint64_t elements);
  /* A number that was found out of the step, for the table FILE.<name of the library>.csv. One of its name in this step is replaced. */
  void (*value)(const glean_plugin_host *host, const char *name, double value, glean_plugin_join join);
  /* For the program, which gets it from glean_poll_messages(). */
  void (*message)(const glean_plugin_host *host, const char *text);
};

/* --- what the library has; GLEAN calls them in this order */

/* When it is loaded. `state` is handed to the other calls; it may stay NULL. Anything but 0: it cannot work, and the analysis is given up.
 * May be left out. */
GLEAN_PLUGIN_EXPORT int glean_plugin_open(const glean_plugin_host *host, void **state);
/* For each step. Anything but 0: it has failed, which the log says; the next step comes all the same. */
GLEAN_PLUGIN_EXPORT int glean_plugin_step(const glean_plugin_host *host, void *state, const glean_plugin_step_view *step);
/* When the drain ends. Not called in a process that was ended. May be left out. */
GLEAN_PLUGIN_EXPORT void glean_plugin_close(const glean_plugin_host *host, void *state);

#ifdef __cplusplus
}
#endif

#endif
