// SPDX-License-Identifier: BSD-3-Clause
#include "measure.hpp"

#include <fcntl.h>
#include <pnetcdf.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <thread>

#include "glean/glean.hpp"

namespace glean::benchmarks {
namespace {

// The value after "key" and a colon in a /proc file, without leading blanks.
std::string field_of(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const auto begin = line.find_first_not_of(" \t", line.find(':') + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

// Type of the file system that holds `directory`: the longest mount point above it.
std::string file_system_of(const std::string& directory) {
  const std::string path = std::filesystem::absolute(directory).string();
  std::ifstream mounts("/proc/self/mounts");
  std::string device, point, type, rest, best_point, best_type;
  while (mounts >> device >> point >> type && std::getline(mounts, rest)) {
    const bool above = path.rfind(point, 0) == 0 &&
                       (point == "/" || path.size() == point.size() || path[point.size()] == '/');
    if (above && point.size() >= best_point.size()) {
      best_point = point;
      best_type = type;
    }
  }
  return best_type;
}

}  // namespace

Ranks::Ranks(int& argc, char**& argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &count_);
}

Ranks::~Ranks() { MPI_Finalize(); }

void Ranks::start_line() const { MPI_Barrier(MPI_COMM_WORLD); }

void Ranks::wait_quietly() const {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

double Ranks::max(double mine) const {
  MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return mine;
}

double Ranks::sum(double mine) const {
  MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return mine;
}

double Ranks::of_root(double value) const {
  MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return value;
}

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Json recipe(const Ranks& ranks, const std::string& directory, int repetitions) {
  utsname kernel{};
  uname(&kernel);
  char mpi[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(mpi, &length);
  const char* layer = std::getenv("OMPI_MCA_io");
  return {{"processor", field_of("/proc/cpuinfo", "model name")},
          {"cores", sysconf(_SC_NPROCESSORS_ONLN)},
          {"memory", field_of("/proc/meminfo", "MemTotal")},
          {"kernel", kernel.release},
          {"file_system", file_system_of(directory)},
          {"mpi", std::string(mpi).substr(0, std::string(mpi).find(','))},
          {"mpi_io", layer == nullptr ? "the library's choice" : layer},
          {"pnetcdf", ncmpi_inq_libvers()},
          {"glean", version()},
          {"ranks", ranks.count()},
          {"repetitions", repetitions}};
}

void empty_directory(const std::string& directory) {
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  synchronize_file_system(directory);
}

void synchronize_file_system(const std::string& directory) {
  const int descriptor = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) throw std::runtime_error("cannot open " + directory);
  syncfs(descriptor);
  close(descriptor);
}

void synchronize_file(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0 || fsync(descriptor) != 0) throw std::runtime_error("cannot synchronize " + path);
  close(descriptor);
}

void write_json(const Json& json, const std::string& path) {
  if (path.empty()) {
    std::cout << json.dump(1) << std::endl;
    return;
  }
  std::ofstream out(path);
  out << json.dump(1) << '\n';
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

SharedRegion::SharedRegion(std::uint64_t bytes) : bytes_(bytes) {
  const int descriptor = memfd_create("glean-benchmark", MFD_CLOEXEC);
  if (descriptor < 0 || ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
    throw std::runtime_error("no shared memory");
  }
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0);
  close(descriptor);
  if (address == MAP_FAILED) throw std::runtime_error("no shared memory");
  data_ = static_cast<std::byte*>(address);
}

SharedRegion::~SharedRegion() { munmap(data_, bytes_); }

}  // namespace glean::benchmarks
