// SPDX-License-Identifier: BSD-3-Clause
//
// The functions that put several variables at once, which are the library's: it makes requests of them and waits.
#include "library.hpp"
#include "puts.hpp"

using glean::pnetcdf::Call;
using glean::pnetcdf::Selection;

namespace {

// `selection(i)`: of the i-th variable.
template <class Of>
int put_several(Call call, int ncid, int number, const int* varids, Of selection, glean::pnetcdf::Original original) noexcept {
  std::vector<int> ids;
  std::vector<Selection> selections;
  for (int i = 0; varids != nullptr && i < number; ++i) {
    ids.push_back(varids[i]);
    selections.push_back(selection(i));
  }
  return glean::pnetcdf::put_several(call, ncid, ids, selections, original);
}

template <class Pointers>
const MPI_Offset* at(Pointers pointers, int i) {
  return pointers == nullptr ? nullptr : pointers[i];
}

}  // namespace

#define GLEAN_PARAMETERS_var
#define GLEAN_PARAMETERS_var1 MPI_Offset *const *starts,
#define GLEAN_PARAMETERS_vara MPI_Offset *const *starts, MPI_Offset *const *counts,
#define GLEAN_PARAMETERS_vars MPI_Offset *const *starts, MPI_Offset *const *counts, MPI_Offset *const *strides,
#define GLEAN_PARAMETERS_varm \
  MPI_Offset *const *starts, MPI_Offset *const *counts, MPI_Offset *const *strides, MPI_Offset *const *imaps,
#define GLEAN_ARGUMENTS_var
#define GLEAN_ARGUMENTS_var1 starts,
#define GLEAN_ARGUMENTS_vara starts, counts,
#define GLEAN_ARGUMENTS_vars starts, counts, strides,
#define GLEAN_ARGUMENTS_varm starts, counts, strides, imaps,
#define GLEAN_SELECTION_var Selection{}
#define GLEAN_SELECTION_var1 Selection{.kind = Selection::Kind::element, .start = at(starts, i)}
#define GLEAN_SELECTION_vara Selection{.kind = Selection::Kind::region, .start = at(starts, i), .count = at(counts, i)}
#define GLEAN_SELECTION_vars \
  Selection{.kind = Selection::Kind::region, .start = at(starts, i), .count = at(counts, i), .stride = at(strides, i)}
#define GLEAN_SELECTION_varm GLEAN_SELECTION_vars

#define GLEAN_BODY(name, kind, ...)                                                                              \
  return put_several(                                                                                            \
      Call::name, ncid, num, varids, [&]([[maybe_unused]] int i) { return GLEAN_SELECTION_##kind; },             \
      [&] { return GLEAN_PNETCDF_ORIGINAL(ncmpi_##name)(ncid, num, varids, GLEAN_ARGUMENTS_##kind __VA_ARGS__); });

#define GLEAN_TYPED(verb, kind, coll, type, ctype)                                                               \
  int ncmpi_##verb##_##kind##_##type##coll(int ncid, int num, int* varids, GLEAN_PARAMETERS_##kind ctype* const* bufs) { \
    GLEAN_BODY(verb##_##kind##_##type##coll, kind, bufs)                                                         \
  }

#define GLEAN_FLEXIBLE(verb, kind, coll)                                                                         \
  int ncmpi_##verb##_##kind##coll(int ncid, int num, int* varids, GLEAN_PARAMETERS_##kind void* const* bufs,     \
                                  const MPI_Offset* bufcounts, const MPI_Datatype* buftypes) {                   \
    GLEAN_BODY(verb##_##kind##coll, kind, bufs, bufcounts, buftypes)                                             \
  }

#pragma GCC visibility push(default)
extern "C" {

GLEAN_PNETCDF_MPUTS(GLEAN_FLEXIBLE, GLEAN_TYPED)

}  // extern "C"
#pragma GCC visibility pop
