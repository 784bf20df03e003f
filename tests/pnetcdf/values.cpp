// SPDX-License-Identifier: BSD-3-Clause
#include "values.hpp"

MPI_Datatype datatype_of(Type type) {
  const MPI_Datatype all[] = {MPI_CHAR, MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_SHORT, MPI_UNSIGNED_SHORT, MPI_INT, MPI_UNSIGNED,
                              MPI_LONG, MPI_LONG_LONG_INT, MPI_UNSIGNED_LONG_LONG, MPI_FLOAT, MPI_DOUBLE};
  return all[type];
}

void store(Type type, void* at, double value) {
  switch (type) {
    case text: case schar: *static_cast<signed char*>(at) = static_cast<signed char>(value); return;
    case uchar: *static_cast<unsigned char*>(at) = static_cast<unsigned char>(value); return;
    case t_short: *static_cast<short*>(at) = static_cast<short>(value); return;
    case t_ushort: *static_cast<unsigned short*>(at) = static_cast<unsigned short>(value); return;
    case t_int: *static_cast<int*>(at) = static_cast<int>(value); return;
    case t_uint: *static_cast<unsigned*>(at) = static_cast<unsigned>(value); return;
    case t_long: *static_cast<long*>(at) = static_cast<long>(value); return;
    case longlong: *static_cast<long long*>(at) = static_cast<long long>(value); return;
    case ulonglong: *static_cast<unsigned long long*>(at) = static_cast<unsigned long long>(value); return;
    case t_float: *static_cast<float*>(at) = static_cast<float>(value); return;
    default: *static_cast<double*>(at) = value;
  }
}

Type own_type(nc_type type) {
  switch (type) {
    case NC_BYTE: return schar;
    case NC_CHAR: return text;
    case NC_SHORT: return t_short;
    case NC_INT: return t_int;
    case NC_FLOAT: return t_float;
    case NC_DOUBLE: return t_double;
    case NC_UBYTE: return uchar;
    case NC_USHORT: return t_ushort;
    case NC_UINT: return t_uint;
    case NC_INT64: return longlong;
    default: return ulonglong;
  }
}

int one_of(Random& random, int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }
bool chance(Random& random, int percent) { return one_of(random, 100) < percent; }

unsigned long long hash_of(const std::vector<char>& data) {
  unsigned long long hash = 14695981039346656037ULL;
  for (const char byte : data) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
  return hash;
}

MPI_Info make_hints() {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_ds_write", "disable");
  MPI_Info_set(info, "romio_cb_write", "disable");
  return info;
}

void spoil(Random& random, const Variable& variable, Elements& elements) {
  if (variable.shape.empty()) return;
  const auto d = static_cast<std::size_t>(one_of(random, static_cast<int>(variable.shape.size())));
  if (d == 0 && variable.has_records) elements.start[0] = -1;
  else if (chance(random, 50)) elements.start[d] = variable.shape[d] + 1;
  else elements.count[d] = variable.shape[d] + 2;
}
