// SPDX-License-Identifier: BSD-3-Clause
//
// The functions that the program finds instead of HDF5's.
#include "base/log.hpp"
#include "observer.hpp"
#include "original.hpp"

namespace glean::hdf5 {
namespace {

// Calls what the program has meant, and `then(library)` if that went well.
template <class Function, class Then, class... Arguments>
herr_t call(const char* name, const void* caller, Then then, Arguments... arguments) noexcept {
  const auto [function, library] = original(name, caller);
  if (function == nullptr) {
    base::log(base::LogLevel::error, "{}: this program's HDF5 is not to be found", name);
    return -1;
  }
  const herr_t result = reinterpret_cast<Function>(function)(arguments...);
  if (result >= 0 && library != nullptr) then(*library);
  return result;
}

}  // namespace
}  // namespace glean::hdf5

using namespace glean::hdf5;

#pragma GCC visibility push(default)
extern "C" {

herr_t H5Dwrite(hid_t dataset, hid_t memory_type, hid_t memory_space, hid_t file_space, hid_t properties, const void* data) {
  const auto then = [&](const Library& library) {
    // Without a type it is a chunk of H5DOwrite_chunk, before 1.10.3; how large it is is not said here.
    if (memory_type > 0) wrote(library, dataset, memory_space, file_space);
  };
  return call<decltype(&H5Dwrite)>("H5Dwrite", __builtin_return_address(0), then, dataset, memory_type, memory_space, file_space,
                                   properties, data);
}

// Since 1.14.
herr_t H5Dwrite_multi(std::size_t count, hid_t* datasets, hid_t* memory_types, hid_t* memory_spaces, hid_t* file_spaces,
                      hid_t properties, const void** data) {
  const auto then = [&](const Library& library) {
    for (std::size_t i = 0; i < count; ++i) wrote(library, datasets[i], memory_spaces[i], file_spaces[i]);
  };
  return call<decltype(&H5Dwrite_multi)>("H5Dwrite_multi", __builtin_return_address(0), then, count, datasets, memory_types,
                                         memory_spaces, file_spaces, properties, data);
}

// Since 1.10.3, also for H5DOwrite_chunk.
herr_t H5Dwrite_chunk(hid_t dataset, hid_t properties, std::uint32_t filters, const hsize_t* offset, std::size_t bytes,
                      const void* data) {
  const auto then = [&](const Library& library) { wrote_chunk(library, dataset, bytes); };
  return call<decltype(&H5Dwrite_chunk)>("H5Dwrite_chunk", __builtin_return_address(0), then, dataset, properties, filters, offset,
                                         bytes, data);
}

herr_t H5close() {
  const auto then = [](const Library&) { closed(); };
  return call<decltype(&H5close)>("H5close", __builtin_return_address(0), then);
}

}  // extern "C"
#pragma GCC visibility pop
