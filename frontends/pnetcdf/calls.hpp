// SPDX-License-Identifier: BSD-3-Clause
//
// The calls of PnetCDF that put data, as a table: wrappers, counters and names are made of it.
//
// FLEXIBLE(verb, kind, coll) is ncmpi_put_vara_all and its like, TYPED(verb, kind, coll, type, ctype) ncmpi_put_vara_int_all.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#define GLEAN_PNETCDF_EACH_TYPE(FLEXIBLE, TYPED, verb, kind, coll) \
  FLEXIBLE(verb, kind, coll)                                       \
  TYPED(verb, kind, coll, text, char)                              \
  TYPED(verb, kind, coll, schar, signed char)                      \
  TYPED(verb, kind, coll, uchar, unsigned char)                    \
  TYPED(verb, kind, coll, short, short)                            \
  TYPED(verb, kind, coll, ushort, unsigned short)                  \
  TYPED(verb, kind, coll, int, int)                                \
  TYPED(verb, kind, coll, uint, unsigned int)                      \
  TYPED(verb, kind, coll, long, long)                              \
  TYPED(verb, kind, coll, longlong, long long)                     \
  TYPED(verb, kind, coll, ulonglong, unsigned long long)           \
  TYPED(verb, kind, coll, float, float)                            \
  TYPED(verb, kind, coll, double, double)

#define GLEAN_PNETCDF_EACH_WAY(FLEXIBLE, TYPED, kind)          \
  GLEAN_PNETCDF_EACH_TYPE(FLEXIBLE, TYPED, put, kind, )        \
  GLEAN_PNETCDF_EACH_TYPE(FLEXIBLE, TYPED, put, kind, _all)    \
  GLEAN_PNETCDF_EACH_TYPE(FLEXIBLE, TYPED, iput, kind, )       \
  GLEAN_PNETCDF_EACH_TYPE(FLEXIBLE, TYPED, bput, kind, )

#define GLEAN_PNETCDF_PUTS(FLEXIBLE, TYPED)      \
  GLEAN_PNETCDF_EACH_WAY(FLEXIBLE, TYPED, var)   \
  GLEAN_PNETCDF_EACH_WAY(FLEXIBLE, TYPED, var1)  \
  GLEAN_PNETCDF_EACH_WAY(FLEXIBLE, TYPED, vara)  \
  GLEAN_PNETCDF_EACH_WAY(FLEXIBLE, TYPED, vars)  \
  GLEAN_PNETCDF_EACH_WAY(FLEXIBLE, TYPED, varm)  \
  GLEAN_PNETCDF_EACH_WAY(FLEXIBLE, TYPED, varn)

// Puts of several variables at once.
#define GLEAN_PNETCDF_EACH_MPUT(FLEXIBLE, TYPED, kind)        \
  GLEAN_PNETCDF_EACH_TYPE(FLEXIBLE, TYPED, mput, kind, )      \
  GLEAN_PNETCDF_EACH_TYPE(FLEXIBLE, TYPED, mput, kind, _all)
#define GLEAN_PNETCDF_MPUTS(FLEXIBLE, TYPED)      \
  GLEAN_PNETCDF_EACH_MPUT(FLEXIBLE, TYPED, var)   \
  GLEAN_PNETCDF_EACH_MPUT(FLEXIBLE, TYPED, var1)  \
  GLEAN_PNETCDF_EACH_MPUT(FLEXIBLE, TYPED, vara)  \
  GLEAN_PNETCDF_EACH_MPUT(FLEXIBLE, TYPED, vars)  \
  GLEAN_PNETCDF_EACH_MPUT(FLEXIBLE, TYPED, varm)

namespace glean::pnetcdf {

#define GLEAN_PNETCDF_FLEXIBLE(verb, kind, coll) verb##_##kind##coll,
#define GLEAN_PNETCDF_TYPED(verb, kind, coll, type, ctype) verb##_##kind##_##type##coll,
enum class Call {
  GLEAN_PNETCDF_PUTS(GLEAN_PNETCDF_FLEXIBLE, GLEAN_PNETCDF_TYPED)
  GLEAN_PNETCDF_MPUTS(GLEAN_PNETCDF_FLEXIBLE, GLEAN_PNETCDF_TYPED)
  put_vard, put_vard_all, count
};
#undef GLEAN_PNETCDF_FLEXIBLE
#undef GLEAN_PNETCDF_TYPED

#define GLEAN_PNETCDF_FLEXIBLE(verb, kind, coll) "ncmpi_" #verb "_" #kind #coll,
#define GLEAN_PNETCDF_TYPED(verb, kind, coll, type, ctype) "ncmpi_" #verb "_" #kind "_" #type #coll,
inline constexpr std::array<std::string_view, static_cast<std::size_t>(Call::count)> call_names{
    GLEAN_PNETCDF_PUTS(GLEAN_PNETCDF_FLEXIBLE, GLEAN_PNETCDF_TYPED)
    GLEAN_PNETCDF_MPUTS(GLEAN_PNETCDF_FLEXIBLE, GLEAN_PNETCDF_TYPED) "ncmpi_put_vard", "ncmpi_put_vard_all"};
#undef GLEAN_PNETCDF_FLEXIBLE
#undef GLEAN_PNETCDF_TYPED

}  // namespace glean::pnetcdf
