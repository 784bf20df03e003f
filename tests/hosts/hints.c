/* SPDX-License-Identifier: BSD-3-Clause */
/* A program whose hints name the hosts that aggregate.
 *
 *   hints FILE [LIST]    LIST: cb_config_list; without, ROMIO takes what its file of hints says
 *
 * Each rank writes a part of FILE, reads that of the next rank, and rank 0 prints what hint the file has.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  enum { bytes = 4096 };
  char mine[bytes], found[bytes], list[MPI_MAX_INFO_VAL + 1] = "";
  int rank, ranks, is_there = 0;
  MPI_Info info, shown;
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Info_create(&info);
  if (argc > 2) MPI_Info_set(info, "cb_config_list", argv[2]);
  if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) != MPI_SUCCESS) {
    fprintf(stderr, "rank %d cannot open the file\n", rank);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  memset(mine, 'a' + rank, bytes);
  MPI_File_write_at_all(file, (MPI_Offset)rank * bytes, mine, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  const int next = (rank + 1) % ranks;
  MPI_File_read_at(file, (MPI_Offset)next * bytes, found, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  if (found[0] != 'a' + next || found[bytes - 1] != 'a' + next)
    fprintf(stderr, "rank %d does not find what rank %d has written\n", rank, next);
  MPI_File_get_info(file, &shown);
  MPI_Info_get(shown, "cb_config_list", MPI_MAX_INFO_VAL, list, &is_there);
  if (rank == 0) printf("cb_config_list: %s\n", is_there ? list : "none");
  MPI_Info_free(&shown);
  MPI_Info_free(&info);
  MPI_File_close(&file);
  MPI_Finalize();
}
