// SPDX-License-Identifier: BSD-3-Clause
// Two threads write collectively, each a file with the same thread of the other ranks. Which of them comes late differs from rank to rank:
// what both have captured ahead of others is more than a small pool holds.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 2, CALLS = 14, BYTES = 1 << 20 };

static int rank, ranks;
static MPI_File files[THREADS];

static void* write_collectively(void* argument) {
  const int thread = *(const int*)argument;
  char* bytes = malloc(BYTES);
  if (rank % THREADS != thread) usleep(300000);
  for (int call = 0; call < CALLS; ++call) {
    memset(bytes, 'a' + (7 * rank + 3 * thread + call) % 26, BYTES);
    MPI_File_write_at_all(files[thread], (MPI_Offset)BYTES * (call * ranks + rank), bytes, BYTES, MPI_CHAR, MPI_STATUS_IGNORE);
  }
  free(bytes);
  return NULL;
}

int main(int argc, char** argv) {
  int provided, numbers[THREADS];
  pthread_t threads[THREADS];
  char name[20];
  if (argc < 2 || chdir(argv[1]) != 0) return 2;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0) printf("level %d\n", provided);
  for (int i = 0; i < THREADS; ++i) {
    snprintf(name, sizeof name, "thread-%d", i);
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &files[i]);
    numbers[i] = i;
  }
  for (int i = 0; provided == MPI_THREAD_MULTIPLE && i < THREADS; ++i) pthread_create(&threads[i], NULL, write_collectively, &numbers[i]);
  for (int i = 0; provided == MPI_THREAD_MULTIPLE && i < THREADS; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; ++i) MPI_File_close(&files[i]);
  MPI_Finalize();
  return 0;
}
