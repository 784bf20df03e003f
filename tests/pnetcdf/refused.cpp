// SPDX-License-Identifier: BSD-3-Clause
//
// Waits that name requests which do not exist: the library refuses all of some of them, and ends others.
//
//   pnetcdf_refused FILE
#include <mpi.h>
#include <pnetcdf.h>

#include <cstdio>
#include <vector>

namespace {

constexpr int variables = 3, no_request = 12345;

struct Wait {
  const char* what;
  std::vector<int> named;   // of the requests; -1: the null request, -2: one that does not exist
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1, ncid = 0, dimension = 0, ids[variables];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &ncid);
  ncmpi_def_dim(ncid, "rank", ranks, &dimension);
  for (int v = 0; v < variables; ++v) ncmpi_def_var(ncid, &"a\0b\0c"[2 * v], NC_INT, 1, &dimension, &ids[v]);
  ncmpi_enddef(ncid);

  const Wait waits[] = {{"one too many", {0, 1, 2, -2}}, {"one that is not", {-2, 1}}, {"as many as there are", {1, -2, -2}},
                        {"one twice", {0, 0, 2}},        {"a null one", {-1, 2}},      {"one", {1}}};
  const MPI_Offset start = rank, count = 1;
  for (const Wait& wait : waits) {
    int values[variables], requests[variables];
    for (int v = 0; v < variables; ++v) {
      const int before = -1;
      ncmpi_put_vara_int_all(ncid, ids[v], &start, &count, &before);
      values[v] = 10 * (v + 1) + rank;
      ncmpi_iput_vara_int(ncid, ids[v], &start, &count, &values[v], &requests[v]);
    }
    std::vector<int> named, statuses(wait.named.size(), -99);
    for (const int index : wait.named) named.push_back(index == -1 ? NC_REQ_NULL : index == -2 ? no_request : requests[index]);
    const int code = ncmpi_wait_all(ncid, static_cast<int>(named.size()), named.data(), statuses.data());
    int left = -1;
    ncmpi_inq_nreqs(ncid, &left);
    std::printf("%s: %s, %d left", wait.what, ncmpi_strerrno(code), left);
    for (const int status : statuses) std::printf(", %s", ncmpi_strerrno(status));
    std::printf(", then %s:", ncmpi_strerrno(ncmpi_cancel(ncid, NC_REQ_ALL, nullptr, nullptr)));
    for (const int id : ids) {
      int value = 0;
      ncmpi_get_vara_int_all(ncid, id, &start, &count, &value);
      std::printf(" %d", value);
    }
    std::printf("\n");
  }
  ncmpi_close(ncid);
  MPI_Finalize();
}
