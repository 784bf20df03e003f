// SPDX-License-Identifier: BSD-3-Clause
//
// When a rank computed and when it stood in output calls, on the wall clock, so that ranks and the report of
// a library can be laid over each other.
#pragma once

#include <mpi.h>

#include <string>
#include <string_view>
#include <vector>

namespace sedov {

enum class Activity { start, compute, pack, output, finish };

// What the kernel has counted of this process: write() and its kin, and the bytes they took. Zero where it
// does not tell.
struct WriteCalls {
  long long calls = 0, bytes = 0;
};

class Trace {
 public:
  // Time 0 is when the last rank gets here. Collective.
  explicit Trace(MPI_Comm comm);

  [[nodiscard]] double now() const;   // seconds
  // Wall-clock time that is 0 here, in seconds since 1970.
  [[nodiscard]] double epoch() const { return epoch_; }
  void add(Activity activity, double begin, double end, std::string_view label = {});
  [[nodiscard]] double total(Activity activity) const;   // of this rank

  // A JSON array with one object per rank, on rank 0; empty elsewhere. Collective.
  [[nodiscard]] std::string gather() const;

 private:
  struct Interval {
    Activity activity;
    double begin, end;
    std::string label;
  };
  [[nodiscard]] std::string of_this_rank() const;

  MPI_Comm comm_;
  double epoch_ = 0;
  WriteCalls before_;
  std::vector<Interval> intervals_;
};

// Enters what happens between its construction and its end. Local.
class Timed {
 public:
  Timed(Trace& trace, Activity activity, std::string_view label = {})
      : trace_(trace), activity_(activity), label_(label), begin_(trace.now()) {}
  ~Timed() { trace_.add(activity_, begin_, trace_.now(), label_); }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  Trace& trace_;
  Activity activity_;
  std::string label_;
  double begin_;
};

}  // namespace sedov
