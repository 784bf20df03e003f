/* SPDX-License-Identifier: BSD-3-Clause */
#include <glean/glean.h>
#include <stdio.h>

int main(void) { return puts(glean_version()) < 0; }
