// SPDX-License-Identifier: BSD-3-Clause
// MPI_Init_thread, and several threads of a rank that write at the same time: the same file, and files of their own; then they read
// through one handle with a view.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 3, PARTS = 50, BYTES = 200 };

static int rank;
static MPI_File together;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static int multiple;

static void* write_parts(void* argument) {
  const int thread = *(const int*)argument;
  char name[40], bytes[BYTES];
  MPI_File own;
  snprintf(name, sizeof name, "own-%d-%d", rank, thread);
  if (!multiple) pthread_mutex_lock(&one_at_a_time);
  MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &own);
  if (!multiple) pthread_mutex_unlock(&one_at_a_time);
  for (int part = 0; part < PARTS; ++part) {
    memset(bytes, 'a' + (7 * rank + 3 * thread + part) % 26, BYTES);
    if (!multiple) pthread_mutex_lock(&one_at_a_time);
    MPI_File_write_at(together, (MPI_Offset)BYTES * ((rank * THREADS + thread) * PARTS + part), bytes, BYTES, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_write(own, bytes, BYTES, MPI_CHAR, MPI_STATUS_IGNORE);
    if (!multiple) pthread_mutex_unlock(&one_at_a_time);
  }
  if (!multiple) pthread_mutex_lock(&one_at_a_time);
  MPI_File_close(&own);
  if (!multiple) pthread_mutex_unlock(&one_at_a_time);
  return NULL;
}

static void* read_parts(void* argument) {
  const int thread = *(const int*)argument;
  int number, wrong = 0;
  for (int i = thread; i < THREADS * PARTS; i += THREADS) {
    if (!multiple) pthread_mutex_lock(&one_at_a_time);
    MPI_File_read_at(together, i, &number, 1, MPI_INT, MPI_STATUS_IGNORE);
    if (!multiple) pthread_mutex_unlock(&one_at_a_time);
    wrong += number != 1000 * rank + i;
  }
  if (wrong != 0) printf("rank %d, thread %d: %d wrong\n", rank, thread, wrong);
  return NULL;
}

// Opened anew for each round, so that it is a first read for all of them.
static void read_in_threads(const int* numbers) {
  int own[THREADS * PARTS];
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS * PARTS; ++i) own[i] = 1000 * rank + i;
  for (int round = 0; round < 20; ++round) {
    MPI_File_open(MPI_COMM_WORLD, "read", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &together);
    MPI_File_set_view(together, (MPI_Offset)sizeof own * rank, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_write_at(together, 0, own, THREADS * PARTS, MPI_INT, MPI_STATUS_IGNORE);
    for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, read_parts, (void*)&numbers[i]);
    for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
    MPI_File_close(&together);
  }
}

int main(int argc, char** argv) {
  int provided, numbers[THREADS];
  pthread_t threads[THREADS];
  if (argc < 2 || chdir(argv[1]) != 0) return 2;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  multiple = provided == MPI_THREAD_MULTIPLE;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("level %d\n", provided);
  MPI_File_open(MPI_COMM_WORLD, "together", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &together);
  for (int i = 0; i < THREADS; ++i) {
    numbers[i] = i;
    pthread_create(&threads[i], NULL, write_parts, &numbers[i]);
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  MPI_File_close(&together);
  read_in_threads(numbers);
  MPI_Finalize();
  return 0;
}
