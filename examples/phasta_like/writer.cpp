// SPDX-License-Identifier: BSD-3-Clause
#include "writer.hpp"

#include <cstdio>
#include <stdexcept>

namespace phasta {

std::unique_ptr<Writer> make_writer(MPI_Comm comm, const WriterSettings& settings) {
  switch (settings.way) {
    case Way::none: return nullptr;
    case Way::posix: return make_posix_writer(comm, settings);
    case Way::glean: return make_glean_writer(comm, settings);
  }
  throw std::logic_error("no such way to write");
}

// Readers take numbers of one length for a series in their order.
std::string solution_name(int step, FileFormat format) {
  char name[40];
  std::snprintf(name, sizeof name, "solution_%06d.%s", step, format == FileFormat::vtkhdf ? "vtkhdf" : "vtk");
  return name;
}

}  // namespace phasta
