// SPDX-License-Identifier: BSD-3-Clause
//
// What every call on a captured file goes through: it is timed, and no exception leaves it.
#pragma once

#include <mpi.h>

#include <atomic>
#include <new>

#include "base/clock.hpp"
#include "captured_file.hpp"

namespace glean::mpiio {

// Adds the time of a call to the blocked time of this rank, and to that of a file. Any thread.
class Blocked {
 public:
  explicit Blocked(Session& session, std::atomic<std::uint64_t>* of_file = nullptr)
      : of_rank_(session.core()->figures().blocked_ns), of_file_(of_file), begin_ns_(base::now_ns()) {}
  ~Blocked() {
    const std::uint64_t spent = base::now_ns() - begin_ns_;
    std::atomic_ref(of_rank_).fetch_add(spent, std::memory_order_relaxed);
    if (of_file_ != nullptr) of_file_->fetch_add(spent, std::memory_order_relaxed);
  }
  Blocked(const Blocked&) = delete;
  Blocked& operator=(const Blocked&) = delete;

 private:
  std::uint64_t& of_rank_;   // sessions are never deleted
  std::atomic<std::uint64_t>* of_file_;
  std::uint64_t begin_ns_;
};

// Adds the time until it goes.
class Stopwatch {
 public:
  explicit Stopwatch(std::atomic<std::uint64_t>& sum_ns) : sum_ns_(sum_ns), begin_ns_(base::now_ns()) {}
  ~Stopwatch() { sum_ns_.fetch_add(base::now_ns() - begin_ns_, std::memory_order_relaxed); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  std::atomic<std::uint64_t>& sum_ns_;
  std::uint64_t begin_ns_;
};

// Runs `action`; what it fails with goes to the error handler of the program's file, and is returned.
template <class Action>
int call(CapturedFile& file, Action action) noexcept {
  const Blocked blocked(file.session(), &file.blocked_ns());
  int code = MPI_SUCCESS;
  try {
    action();
  } catch (const CallFailed& failed) {
    if (failed.handler_was_called) return failed.code;
    code = failed.code;
  } catch (const base::Error& error) {
    code = error_class(error);
  } catch (const std::bad_alloc&) {
    code = MPI_ERR_NO_MEM;
  } catch (...) {
    code = MPI_ERR_INTERN;
  }
  // The program's handler may end the program here, as without GLEAN.
  if (code != MPI_SUCCESS) PMPI_File_call_errhandler(file.stand_in(), code);
  return code;
}

}  // namespace glean::mpiio
