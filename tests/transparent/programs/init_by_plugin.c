// SPDX-License-Identifier: BSD-3-Clause
// A program that is not linked with MPI: a plug-in, which it loads, is. So do Python and others.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  void* plugin = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
  int (*run)(const char*) = NULL;
  if (plugin) *(void**)&run = dlsym(plugin, "plugin_run");
  if (!run) {
    fprintf(stderr, "%s\n", dlerror());
    return 3;
  }
  if (run(argv[1]) == 0) printf("the plug-in has run\n");
  return 0;
}
