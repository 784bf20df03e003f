// SPDX-License-Identifier: BSD-3-Clause
//
// The functions by which the program puts data, in place of the library's.
#include "library.hpp"
#include "puts.hpp"

using glean::pnetcdf::Buffer;
using glean::pnetcdf::Call;
using glean::pnetcdf::Selection;
using glean::pnetcdf::Way;
using glean::mesh::Type;

// What a kind of call says of the elements: its parameters, the same as arguments, and what they mean.
#define GLEAN_PARAMETERS_var
#define GLEAN_PARAMETERS_var1 const MPI_Offset *start,
#define GLEAN_PARAMETERS_vara const MPI_Offset *start, const MPI_Offset *count,
#define GLEAN_PARAMETERS_vars const MPI_Offset *start, const MPI_Offset *count, const MPI_Offset *stride,
#define GLEAN_PARAMETERS_varm const MPI_Offset *start, const MPI_Offset *count, const MPI_Offset *stride, const MPI_Offset *imap,
#define GLEAN_PARAMETERS_varn int num, MPI_Offset *const *starts, MPI_Offset *const *counts,
#define GLEAN_ARGUMENTS_var
#define GLEAN_ARGUMENTS_var1 start,
#define GLEAN_ARGUMENTS_vara start, count,
#define GLEAN_ARGUMENTS_vars start, count, stride,
#define GLEAN_ARGUMENTS_varm start, count, stride, imap,
#define GLEAN_ARGUMENTS_varn num, starts, counts,
#define GLEAN_SELECTION_var Selection{}
#define GLEAN_SELECTION_var1 Selection{.kind = Selection::Kind::element, .start = start}
#define GLEAN_SELECTION_vara Selection{.kind = Selection::Kind::region, .start = start, .count = count}
#define GLEAN_SELECTION_vars Selection{.kind = Selection::Kind::region, .start = start, .count = count, .stride = stride}
#define GLEAN_SELECTION_varm \
  Selection{.kind = Selection::Kind::region, .start = start, .count = count, .stride = stride, .map = imap}
#define GLEAN_SELECTION_varn Selection{.kind = Selection::Kind::list, .number = num, .starts = starts, .counts = counts}

// What a verb adds at the end, and what it means.
#define GLEAN_LAST_PARAMETER_put
#define GLEAN_LAST_PARAMETER_iput , int *request
#define GLEAN_LAST_PARAMETER_bput , int *request
#define GLEAN_LAST_ARGUMENT_put
#define GLEAN_LAST_ARGUMENT_iput , request
#define GLEAN_LAST_ARGUMENT_bput , request
#define GLEAN_REQUEST_put nullptr
#define GLEAN_REQUEST_iput request
#define GLEAN_REQUEST_bput request
#define GLEAN_WAY_put_all Way::collective
#define GLEAN_WAY_put Way::independent
#define GLEAN_WAY_iput Way::nonblocking
#define GLEAN_WAY_bput Way::buffered

// The types of the typed calls, as they are on machines that GLEAN runs on.
static_assert(sizeof(short) == 2 && sizeof(int) == 4 && sizeof(long) == 8 && sizeof(long long) == 8);
#define GLEAN_TYPE_text Type::text
#define GLEAN_TYPE_schar Type::int8
#define GLEAN_TYPE_uchar Type::uint8
#define GLEAN_TYPE_short Type::int16
#define GLEAN_TYPE_ushort Type::uint16
#define GLEAN_TYPE_int Type::int32
#define GLEAN_TYPE_uint Type::uint32
#define GLEAN_TYPE_long Type::int64
#define GLEAN_TYPE_longlong Type::int64
#define GLEAN_TYPE_ulonglong Type::uint64
#define GLEAN_TYPE_float Type::float32
#define GLEAN_TYPE_double Type::float64

#define GLEAN_TYPED(verb, kind, coll, type, ctype)                                                                          \
  int ncmpi_##verb##_##kind##_##type##coll(int ncid, int varid, GLEAN_PARAMETERS_##kind const ctype* op                     \
                                           GLEAN_LAST_PARAMETER_##verb) {                                                   \
    return glean::pnetcdf::put({Call::verb##_##kind##_##type##coll, GLEAN_WAY_##verb##coll, ncid, varid, GLEAN_SELECTION_##kind, \
                                Buffer{op, GLEAN_TYPE_##type}, GLEAN_REQUEST_##verb},                       \
                               [&] {                                                                                        \
                                 return GLEAN_PNETCDF_ORIGINAL(ncmpi_##verb##_##kind##_##type##coll)(                       \
                                     ncid, varid, GLEAN_ARGUMENTS_##kind op GLEAN_LAST_ARGUMENT_##verb);                    \
                               });                                                                                          \
  }

#define GLEAN_FLEXIBLE(verb, kind, coll)                                                                                    \
  int ncmpi_##verb##_##kind##coll(int ncid, int varid, GLEAN_PARAMETERS_##kind const void* op, MPI_Offset bufcount,         \
                                  MPI_Datatype buftype GLEAN_LAST_PARAMETER_##verb) {                                       \
    return glean::pnetcdf::put({Call::verb##_##kind##coll, GLEAN_WAY_##verb##coll, ncid, varid, GLEAN_SELECTION_##kind,     \
                                Buffer{op, {}, bufcount, buftype}, GLEAN_REQUEST_##verb}, \
                               [&] {                                                                                        \
                                 return GLEAN_PNETCDF_ORIGINAL(ncmpi_##verb##_##kind##coll)(                                \
                                     ncid, varid, GLEAN_ARGUMENTS_##kind op, bufcount, buftype GLEAN_LAST_ARGUMENT_##verb); \
                               });                                                                                          \
  }

#pragma GCC visibility push(default)
extern "C" {

GLEAN_PNETCDF_PUTS(GLEAN_FLEXIBLE, GLEAN_TYPED)

int ncmpi_put_vard(int ncid, int varid, MPI_Datatype filetype, const void* ip, MPI_Offset bufcount, MPI_Datatype buftype) {
  return glean::pnetcdf::put_filetype(Call::put_vard, ncid, varid, filetype, [&] {
    return GLEAN_PNETCDF_ORIGINAL(ncmpi_put_vard)(ncid, varid, filetype, ip, bufcount, buftype);
  });
}

int ncmpi_put_vard_all(int ncid, int varid, MPI_Datatype filetype, const void* ip, MPI_Offset bufcount, MPI_Datatype buftype) {
  return glean::pnetcdf::put_filetype(Call::put_vard_all, ncid, varid, filetype, [&] {
    return GLEAN_PNETCDF_ORIGINAL(ncmpi_put_vard_all)(ncid, varid, filetype, ip, bufcount, buftype);
  });
}

}  // extern "C"
#pragma GCC visibility pop
