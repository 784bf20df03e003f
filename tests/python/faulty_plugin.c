/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A plug-in that does in step 1 what the attribute `fault` of the output says. tests/python/programs_test.py looks at what becomes of it.
 */
#include <glean/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

GLEAN_PLUGIN

int glean_plugin_step(const glean_plugin_host *host, void *state, const glean_plugin_step_view *step) {
  const char *fault = "";
  (void)state;
  for (size_t i = 0; i < step->attribute_count; ++i) {
    if (strcmp(step->attributes[i]->name, "fault") == 0) fault = step->attributes[i]->text;
  }
  const glean_plugin_variable *dens = host->find(step, "dens");
  uint64_t elements = 1;
  for (size_t i = 0; i < dens->dimensions; ++i) elements *= dens->shape[i];
  double *whole = calloc(elements, sizeof *whole), sum = 0;
  if (whole == NULL || host->assemble(dens, whole, elements + 1) != -1 || host->assemble(dens, whole, elements) != 0) return 2;
  for (uint64_t i = 0; i < elements; ++i) sum += whole[i];
  free(whole);
  if (step->step == 1) {
    if (strcmp(fault, "crash") == 0) *(volatile int *)0 = 1;
    if (strcmp(fault, "write") == 0) *(double *)dens->pieces[0]->data = 1;   /* the pool can only be read */
    if (strcmp(fault, "exit") == 0) exit(3);
    while (strcmp(fault, "loop") == 0) {
    }
    while (strcmp(fault, "allocate") == 0) memset(malloc(1 << 24), 1, 1 << 24);
    if (strcmp(fault, "fail") == 0) return 1;
    for (int i = 0; strcmp(fault, "print") == 0 && i < 1 << 21; ++i) puts("a line that is one of two million of its kind");
  }
  host->value(host, "mass", sum, GLEAN_PLUGIN_SUM);
  return 0;
}
