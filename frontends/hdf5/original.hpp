// SPDX-License-Identifier: BSD-3-Clause
//
// Which HDF5 a call is meant for. A process may have several: libraries that were loaded for themselves alone, as those of
// Python's modules are, and several in one name space, told apart by the versions of their symbols, as Debian builds them.
#pragma once

#include "hdf5.hpp"

namespace glean::hdf5 {

struct Original {
  void* function = nullptr;           // what `caller` would have reached without this library; null: nothing
  const Library* library = nullptr;   // null: an HDF5 that nothing can be asked of
};

// The definition of `name` for a call that returns to `caller`. Local, any thread; costs a look-up when asked again.
[[nodiscard]] Original original(const char* name, const void* caller);

}  // namespace glean::hdf5
