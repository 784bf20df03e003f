// SPDX-License-Identifier: BSD-3-Clause
//
// Every put of PnetCDF with every type of memory, once, by 2 ranks: families FILE. Prints what the calls return.
#include <cstdio>
#include <string>

#include "puts.hpp"

namespace {

constexpr int sizes[types] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 8, 4, 8, 4};
const nc_type in_file[types] = {NC_CHAR, NC_BYTE,  NC_UBYTE, NC_SHORT,  NC_USHORT, NC_INT, NC_UINT,
                                NC_INT64, NC_INT64, NC_UINT64, NC_FLOAT, NC_DOUBLE, NC_INT};
constexpr MPI_Offset rows = 4, columns = 6;

int variable_of(int verb, int kind, int type) { return (verb * int{kinds} + kind) * int{types} + type; }

void put_one(int ncid, Verb verb, Kind kind, Type type, int rank) {
  const MPI_Offset first = rank * rows / 2;
  Elements elements{{first, 0}, {rows / 2, columns}, {1, 1}, {1, rows / 2}, {{first, 1}, {first + 1, 3}}, {{1, 3}, {1, 2}}};
  MPI_Offset number = rows / 2 * columns;
  if (kind == var) number = rows * columns;
  if (kind == var1) number = 1;
  if (kind == vars) elements.stride = {1, 2}, elements.count = {rows / 2, columns / 2}, number /= 2;
  if (kind == varn) number = 5;
  std::vector<unsigned char> memory(static_cast<std::size_t>(rows * columns * sizes[type]));
  const std::size_t mine = kind == var ? 0 : static_cast<std::size_t>(rank);   // all put the same to all of it
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<unsigned char>(i % 37 + mine);
  int request = NC_REQ_NULL, status = 0;
  int code = make_put(verb, kind, type, ncid, variable_of(verb, kind, type), elements, {memory.data(), number, MPI_INT}, &request);
  std::printf("%d: verb %d kind %d type %d: %d\n", rank, verb, kind, type, code);
  if (verb != iput && verb != bput) return;
  code = ncmpi_wait_all(ncid, 1, &request, &status);
  std::printf("%d: wait %d, request %d, status %d\n", rank, code, request, status);
}

// Puts of several variables, and by a filetype: the library's, but seen.
void put_others(int ncid, int rank) {
  const int value = 7;
  int* values[] = {const_cast<int*>(&value), const_cast<int*>(&value)};
  int ids[] = {variable_of(put, vara, t_int), variable_of(put, vars, t_int)};
  MPI_Offset start[] = {rank, 5};
  MPI_Offset* starts[] = {start, start};
  std::printf("%d: mput %d\n", rank, ncmpi_mput_var1_int_all(ncid, 2, ids, starts, values));
  MPI_Datatype row;
  MPI_Type_contiguous(static_cast<int>(columns), MPI_INT, &row);
  MPI_Type_commit(&row);
  const std::vector<int> data(static_cast<std::size_t>(columns), rank + 1);
  MPI_Datatype mine;
  const int length = 1, place = rank;
  MPI_Type_indexed(1, &length, &place, row, &mine);
  MPI_Type_commit(&mine);
  std::printf("%d: vard %d\n", rank, ncmpi_put_vard_all(ncid, variable_of(put, varm, t_int), mine, data.data(), columns, MPI_INT));
  MPI_Type_free(&row);
  MPI_Type_free(&mine);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ncid = 0, id = 0, dimensions[2];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Info hints;   // of ROMIO: it fills holes with what was in memory
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "romio_ds_write", "disable");
  MPI_Info_set(hints, "romio_cb_write", "disable");
  ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | NC_64BIT_DATA, hints, &ncid);
  MPI_Info_free(&hints);
  ncmpi_def_dim(ncid, "row", rows, &dimensions[0]);
  ncmpi_def_dim(ncid, "column", columns, &dimensions[1]);
  for (int v = 0; v < int{verbs} * int{kinds} * int{types}; ++v) {
    ncmpi_def_var(ncid, ("v" + std::to_string(v)).c_str(), in_file[v % types], 2, dimensions, &id);
  }
  ncmpi_enddef(ncid);
  ncmpi_buffer_attach(ncid, 1 << 16);
  for (int v = 0; v < verbs; ++v) {
    if (v == put) ncmpi_begin_indep_data(ncid);
    for (int k = 0; k < kinds; ++k) {
      for (int t = 0; t < types; ++t) put_one(ncid, static_cast<Verb>(v), static_cast<Kind>(k), static_cast<Type>(t), rank);
    }
    if (v == put) ncmpi_end_indep_data(ncid);
  }
  put_others(ncid, rank);
  MPI_Offset bytes = 0;
  ncmpi_inq_put_size(ncid, &bytes);
  std::printf("%d: %lld bytes\n", rank, static_cast<long long>(bytes));
  ncmpi_buffer_detach(ncid);
  ncmpi_close(ncid);
  MPI_Finalize();
}
