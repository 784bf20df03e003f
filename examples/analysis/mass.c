/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A user's own analysis as a plug-in: the sum and the extremes of the density of each step, while it moves (docs/plugins.md).
 *
 *   cc -shared -fPIC -o libmass.so mass.c
 *   GLEAN_ANALYSE_WITH=$PWD/libmass.so glean run -- mpirun -n 8 ./program
 */
#include <glean/plugin.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

GLEAN_PLUGIN

/* What it keeps from step to step. */
typedef struct totals {
  uint64_t steps;
} totals;

int glean_plugin_open(const glean_plugin_host *host, void **state) {
  (void)host;
  *state = calloc(1, sizeof(totals));
  return *state == NULL;
}

int glean_plugin_step(const glean_plugin_host *host, void *state, const glean_plugin_step_view *step) {
  totals *all = state;
  const glean_plugin_variable *dens = host->find(step, "dens");
  if (dens == NULL) return 0;
  double sum = 0, least = INFINITY, most = -INFINITY;
  for (size_t i = 0; i < dens->piece_count; ++i) {
    const glean_plugin_piece *piece = dens->pieces[i];
    if (piece->type != GLEAN_PLUGIN_FLOAT64 || piece->is_swapped) return 1;   /* assemble() would do for all types */
    const double *values = piece->data;                                      /* no copy: they are in the pool */
    for (uint64_t k = 0; k < piece->elements; ++k) {
      sum += values[k];
      least = fmin(least, values[k]);
      most = fmax(most, values[k]);
    }
  }
  ++all->steps;
  host->value(host, "mass", sum, GLEAN_PLUGIN_SUM);
  host->value(host, "least", least, GLEAN_PLUGIN_MIN);
  host->value(host, "most", most, GLEAN_PLUGIN_MAX);
  if (!isfinite(sum)) host->message(host, "the density has gone wrong");
  return 0;
}

void glean_plugin_close(const glean_plugin_host *host, void *state) {
  const totals *all = state;
  (void)host;
  printf("looked at %llu steps\n", (unsigned long long)all->steps);
  free(state);
}
