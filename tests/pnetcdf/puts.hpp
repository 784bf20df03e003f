// SPDX-License-Identifier: BSD-3-Clause
//
// Every put of PnetCDF as one function: which call, which type and how the elements are said are arguments.
#pragma once

#include <pnetcdf.h>

#include <vector>

using Offsets = std::vector<MPI_Offset>;

enum Kind { var, var1, vara, vars, varm, varn, kinds };
enum Verb { put, put_all, iput, bput, verbs };
enum Type { text, schar, uchar, t_short, t_ushort, t_int, t_uint, t_long, longlong, ulonglong, t_float, t_double, flexible, types };

struct Elements {
  Offsets start, count, stride, map;
  std::vector<Offsets> starts, counts;   // of varn
};

struct Memory {
  const void* data;
  MPI_Offset count;          // of a flexible call
  MPI_Datatype datatype;
};

int make_put(Verb verb, Kind kind, Type type, int ncid, int varid, const Elements& elements, const Memory& memory, int* request);
