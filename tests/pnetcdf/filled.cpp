// SPDX-License-Identifier: BSD-3-Clause
//
// What the library fills or moves, each rank a part, other ranks put next. Opened again while it is open, it has all of it.
//
//   pnetcdf_filled FILE
#include <mpi.h>
#include <pnetcdf.h>

#include <cstdio>
#include <vector>

namespace {

constexpr MPI_Offset columns = 50'000;   // of each rank
int rank = 0, ranks = 1, ncid = 0;

void check(int code, const char* what) {
  if (code == NC_NOERR) return;
  std::printf("%s: %s\n", what, ncmpi_strerror(code));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// Into the part that another rank has filled or moved.
void put(int variable, int value, std::vector<MPI_Offset> start) {
  const std::vector<int> values(columns, value + rank);
  std::vector<MPI_Offset> count(start.size(), 1);
  start.back() = columns * ((rank + 1) % ranks);
  count.back() = columns;
  check(ncmpi_put_vara_int_all(ncid, variable, start.data(), count.data(), values.data()), "put");
}

// PnetCDF reads the first bytes by itself before it opens the file.
void look_while_open(const char* file, int variable, int value) {
  int again = 0;
  check(ncmpi_sync(ncid), "sync");
  check(ncmpi_open(MPI_COMM_WORLD, file, NC_NOWRITE, MPI_INFO_NULL, &again), "open again");
  std::vector<int> values(columns);
  const MPI_Offset start[] = {columns * ((rank + 1) % ranks)}, count[] = {columns};
  check(ncmpi_get_vara_int_all(again, variable, start, count, values.data()), "get");
  if (values != std::vector<int>(columns, value + rank)) {
    std::printf("rank %d read something else\n", rank);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  check(ncmpi_close(again), "close again");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  int dimensions[2], fixed = 0, records = 0, added = 0;
  check(ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &ncid), "create");
  check(ncmpi_set_fill(ncid, NC_FILL, nullptr), "set_fill");
  check(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, &dimensions[0]), "def_dim");
  check(ncmpi_def_dim(ncid, "column", columns * ranks, &dimensions[1]), "def_dim");
  check(ncmpi_def_var(ncid, "fixed", NC_INT, 1, &dimensions[1], &fixed), "def_var");
  check(ncmpi_def_var(ncid, "records", NC_INT, 2, dimensions, &records), "def_var");
  check(ncmpi_enddef(ncid), "enddef");
  put(fixed, 100, {0});
  for (MPI_Offset record = 0; record < 2; ++record) {
    check(ncmpi_fill_var_rec(ncid, records, record), "fill_var_rec");
    put(records, 200, {record, 0});
  }

  const std::vector<char> text(5000, 'x');   // the header grows, and the variables move
  check(ncmpi_redef(ncid), "redef");
  check(ncmpi_put_att_text(ncid, NC_GLOBAL, "text", static_cast<MPI_Offset>(text.size()), text.data()), "put_att");
  check(ncmpi_def_var(ncid, "added", NC_INT, 1, &dimensions[1], &added), "def_var");
  check(ncmpi_enddef(ncid), "enddef");
  put(fixed, 300, {0});
  put(added, 400, {0});
  look_while_open(argv[1], added, 400);
  put(records, 500, {1, 0});
  check(ncmpi_close(ncid), "close");
  MPI_Finalize();
}
