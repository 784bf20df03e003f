// SPDX-License-Identifier: BSD-3-Clause
//
// What becomes of a put: captured, or the library's.
#pragma once

#include <mpi.h>

#include <type_traits>
#include <vector>

#include "calls.hpp"
#include "memory.hpp"
#include "open_file.hpp"
#include "variable.hpp"

namespace glean::pnetcdf {

enum class Way { independent, collective, nonblocking, buffered };

struct Put {
  Call call;
  Way way;
  int ncid;
  int varid;
  Selection selection;
  Buffer buffer;
  int* request = nullptr;
};

// The library's own call. Refers to the function that makes it.
class Original {
 public:
  template <class Function>
    requires(!std::is_same_v<std::remove_cvref_t<Function>, Original>)
  Original(Function&& function)   // NOLINT: a wrapper's lambda becomes one
      : function_(&function), call_([](const void* f) { return (*static_cast<const std::remove_cvref_t<Function>*>(f))(); }) {}
  int operator()() const { return call_(function_); }

 private:
  const void* function_;
  int (*call_)(const void*);
};

// Each returns what the library's call would. No exception leaves them.
int put(const Put& put, Original original) noexcept;
int put_filetype(Call call, int ncid, int varid, MPI_Datatype filetype, Original original) noexcept;
// Puts several variables, one selection each.
int put_several(Call call, int ncid, const std::vector<int>& varids, const std::vector<Selection>& selections,
                Original original) noexcept;

// ncmpi_wait, ncmpi_wait_all and ncmpi_cancel. A request that could not be captured has its error among the statuses, too.
enum class Ending { wait, wait_all, cancel };
int end_requests(Ending ending, int ncid, int number, int* requests, int* statuses, Original original) noexcept;

}  // namespace glean::pnetcdf
