// SPDX-License-Identifier: BSD-3-Clause
#include "trace.hpp"

#include <sys/resource.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <numeric>

namespace sedov {

namespace {

double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

WriteCalls write_calls() {
  WriteCalls counted;
  std::ifstream file("/proc/self/io");
  std::string key;
  for (long long value = 0; file >> key >> value;) {
    if (key == "syscw:") counted.calls = value;
    if (key == "wchar:") counted.bytes = value;
  }
  return counted;
}

constexpr std::array<const char*, 5> activity_names = {"start", "compute", "pack", "output", "finish"};

std::string number(double value) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.6f", value);
  return text.data();
}

}  // namespace

Trace::Trace(MPI_Comm comm) : comm_(comm) {
  MPI_Barrier(comm);
  epoch_ = wall_clock();
  MPI_Bcast(&epoch_, 1, MPI_DOUBLE, 0, comm);
  before_ = write_calls();
}

double Trace::now() const { return wall_clock() - epoch_; }

void Trace::add(Activity activity, double begin, double end, std::string_view label) {
  intervals_.push_back({activity, begin, end, std::string(label)});
}

double Trace::total(Activity activity) const {
  double sum = 0;
  for (const Interval& interval : intervals_) {
    if (interval.activity == activity) sum += interval.end - interval.begin;
  }
  return sum;
}

std::string Trace::of_this_rank() const {
  int rank = 0;
  MPI_Comm_rank(comm_, &rank);
  const WriteCalls after = write_calls();
  std::string json = "{\"rank\": " + std::to_string(rank) +
                     ", \"cpu_seconds\": " + number(processor_seconds()) +
                     ", \"write_calls\": " + std::to_string(after.calls - before_.calls) +
                     ", \"written_bytes\": " + std::to_string(after.bytes - before_.bytes);
  for (std::size_t i = 0; i < activity_names.size(); ++i) {
    const double seconds = total(static_cast<Activity>(i));
    json += std::string(", \"") + activity_names[i] + "_seconds\": " + number(seconds);
  }
  json += ", \"intervals\": [";
  for (const Interval& interval : intervals_) {
    const char* activity = activity_names[static_cast<std::size_t>(interval.activity)];
    json += std::string(&interval == intervals_.data() ? "\n  " : ",\n  ") + "[" + number(interval.begin) +
            ", " + number(interval.end) + ", \"" + activity + "\", \"" + interval.label + "\"]";
  }
  return json + "]}";
}

std::string Trace::gather() const {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm_, &rank);
  MPI_Comm_size(comm_, &ranks);
  const std::string mine = of_this_rank();
  const int length = static_cast<int>(mine.size());
  std::vector<int> lengths(static_cast<std::size_t>(ranks)), offsets(lengths.size());
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, comm_);
  std::exclusive_scan(lengths.begin(), lengths.end(), offsets.begin(), 0);
  std::string all(rank == 0 ? static_cast<std::size_t>(offsets.back() + lengths.back()) : 0, ' ');
  MPI_Gatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), offsets.data(), MPI_CHAR, 0, comm_);
  if (rank != 0) return {};

  std::string json = "[";
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    json += i == 0 ? "\n" : ",\n";
    json.append(all, static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(lengths[i]));
  }
  return json + "]";
}

}  // namespace sedov
