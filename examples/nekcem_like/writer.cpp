// SPDX-License-Identifier: BSD-3-Clause
#include "writer.hpp"

#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace nekcem {

std::unique_ptr<Writer> make_writer(MPI_Comm comm, const WriterSettings& settings) {
  switch (settings.way) {
    case Way::none: return nullptr;
    case Way::file_per_process: return make_process_writer(comm, settings);
    case Way::collective: return make_collective_writer(comm, settings);
    case Way::reduced:
    case Way::threaded_reduced: return make_reduced_writer(comm, settings);
    case Way::glean: return make_glean_writer(comm, settings);
  }
  throw std::logic_error("no such way to write");
}

std::int64_t Writer::output_bytes(const Snapshot& snapshot) const { return VtkFile(snapshot, {0, snapshot.mesh.elements()}).bytes(); }

namespace {

std::string stem(Way way, int files) {
  switch (way) {
    case Way::none: return "";
    case Way::file_per_process: return "binary-NN";
    case Way::collective: return files == 1 ? "mpi-binary-N1" : "mpi-binary-NM";
    case Way::reduced: return files == 1 ? "mpi-binary-NM1" : "mpi-binary-NMM";
    case Way::threaded_reduced: return files == 1 ? "mpi-binary-NM1-thread" : "mpi-binary-NMM-thread";
    case Way::glean: return "glean";
  }
  throw std::logic_error("no such way to write");
}

}  // namespace

std::string file_name(Way way, int files, int number, int index) {
  char numbers[40];
  if (files == 1 && way != Way::file_per_process) {
    std::snprintf(numbers, sizeof numbers, "-t%05d.vtk", number);
  } else {
    std::snprintf(numbers, sizeof numbers, "-p%06d-t%05d.vtk", index, number);
  }
  return stem(way, files) + numbers;
}

void write_meta_file(const WriterSettings& settings, int number, const std::vector<Range>& runs) {
  if (runs.size() < 2) return;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].size() > 0) names.push_back(file_name(settings.way, settings.files, number, static_cast<int>(i)));
  }
  char ending[24];
  std::snprintf(ending, sizeof ending, "-t%05d.pvtk", number);
  const std::string path = settings.directory + "/" + stem(settings.way, settings.files) + ending;
  std::ofstream file(path);
  file << pvtk_text(names);
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace nekcem
