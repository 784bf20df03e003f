/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What tests in C expect of calls, and how many expectations of this rank were not met.
 */
#ifndef GLEAN_TESTS_C_EXPECTING_H
#define GLEAN_TESTS_C_EXPECTING_H

#include <glean/glean.h>
#include <stdio.h>

static int failures = 0;
static int rank = 0, ranks = 1;

static void expect(int holds, const char *what, int line) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "rank %d, line %d: not so: %s\n", rank, line, what);
}
#define EXPECT(condition) expect((condition), #condition, __LINE__)

/* A call that must succeed; says why when it does not. */
static void expect_ok(glean_status status, const char *message, const char *what, int line) {
  if (status == GLEAN_OK) return;
  ++failures;
  fprintf(stderr, "rank %d, line %d: %s: %s: %s\n", rank, line, what, glean_status_name(status), message);
}
/* The message is asked for after the call, which an argument list does not promise. */
#define OUT(call) \
  do { \
    const glean_status status_ = (call); \
    expect_ok(status_, glean_output_message(out), #call, __LINE__); \
  } while (0)
#define SESSION(call) \
  do { \
    const glean_status status_ = (call); \
    expect_ok(status_, glean_session_message(session), #call, __LINE__); \
  } while (0)

#endif
