// SPDX-License-Identifier: BSD-3-Clause
#include "puts.hpp"

namespace {

std::vector<MPI_Offset*> pointers(const std::vector<Offsets>& lists) {
  std::vector<MPI_Offset*> result;
  for (const Offsets& list : lists) result.push_back(const_cast<MPI_Offset*>(list.data()));
  return result;
}

}  // namespace

#define ELEMENTS_var
#define ELEMENTS_var1 start,
#define ELEMENTS_vara start, count,
#define ELEMENTS_vars start, count, stride,
#define ELEMENTS_varm start, count, stride, map,
#define ELEMENTS_varn number, starts.data(), counts.data(),

#define TYPED(verb, kind, suffix, coll, ctype, ...) \
  return ncmpi_##verb##_##kind##_##suffix##coll(ncid, varid, ELEMENTS_##kind static_cast<const ctype*>(memory.data) __VA_ARGS__);
#define FLEXIBLE(verb, kind, coll, ...) \
  return ncmpi_##verb##_##kind##coll(ncid, varid, ELEMENTS_##kind memory.data, memory.count, memory.datatype __VA_ARGS__);

#define OF_TYPE(verb, kind, coll, ...)                                                    \
  switch (type) {                                                                         \
    case text: TYPED(verb, kind, text, coll, char, __VA_ARGS__)                           \
    case schar: TYPED(verb, kind, schar, coll, signed char, __VA_ARGS__)                  \
    case uchar: TYPED(verb, kind, uchar, coll, unsigned char, __VA_ARGS__)                \
    case t_short: TYPED(verb, kind, short, coll, short, __VA_ARGS__)                      \
    case t_ushort: TYPED(verb, kind, ushort, coll, unsigned short, __VA_ARGS__)           \
    case t_int: TYPED(verb, kind, int, coll, int, __VA_ARGS__)                            \
    case t_uint: TYPED(verb, kind, uint, coll, unsigned int, __VA_ARGS__)                 \
    case t_long: TYPED(verb, kind, long, coll, long, __VA_ARGS__)                         \
    case longlong: TYPED(verb, kind, longlong, coll, long long, __VA_ARGS__)              \
    case ulonglong: TYPED(verb, kind, ulonglong, coll, unsigned long long, __VA_ARGS__)   \
    case t_float: TYPED(verb, kind, float, coll, float, __VA_ARGS__)                      \
    case t_double: TYPED(verb, kind, double, coll, double, __VA_ARGS__)                   \
    default: FLEXIBLE(verb, kind, coll, __VA_ARGS__)                                      \
  }

#define OF_VERB(kind)                                   \
  switch (verb) {                                       \
    case put: OF_TYPE(put, kind, , )                    \
    case put_all: OF_TYPE(put, kind, _all, )            \
    case iput: OF_TYPE(iput, kind, , , request)         \
    default: OF_TYPE(bput, kind, , , request)           \
  }

int make_put(Verb verb, Kind kind, Type type, int ncid, int varid, const Elements& elements, const Memory& memory, int* request) {
  const MPI_Offset *start = elements.start.data(), *count = elements.count.data(), *stride = elements.stride.data();
  const MPI_Offset* map = elements.map.data();
  const int number = static_cast<int>(elements.starts.size());
  const auto starts = pointers(elements.starts), counts = pointers(elements.counts);
  switch (kind) {
    case var: OF_VERB(var)
    case var1: OF_VERB(var1)
    case vara: OF_VERB(vara)
    case vars: OF_VERB(vars)
    case varm: OF_VERB(varm)
    default: OF_VERB(varn)
  }
}
