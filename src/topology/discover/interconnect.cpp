// SPDX-License-Identifier: BSD-3-Clause
#include "topology/discover/interconnect.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

namespace glean::topology {
namespace {

constexpr double gigabit = 1e9 / 8, megabit = 1e6 / 8;

// Names of the entries, in an order that does not change.
std::vector<std::filesystem::path> entries(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The number that a line starts with; 0: none.
double leading_number(const std::filesystem::path& path) {
  std::ifstream file(path);
  double number = 0;
  return file >> number && number > 0 ? number : 0;
}

void prefer(Port& best, const std::filesystem::path& name, double bytes_per_second, bool is_fabric) {
  if (bytes_per_second > best.bytes_per_second) best = {name.filename().string(), bytes_per_second, is_fabric};
}

}  // namespace

Port discover_port(const Places& places) {
  Port best;
  for (const auto& device : entries(places.sys + "/class/infiniband")) {
    for (const auto& port : entries(device / "ports")) {
      // "4: ACTIVE" and "100 Gb/sec (4X EDR)"
      if (first_line(port / "state").starts_with("4:")) prefer(best, device, leading_number(port / "rate") * gigabit, true);
    }
  }
  if (!best.name.empty()) return best;
  for (const auto& interface : entries(places.sys + "/class/net")) {
    if (first_line(interface / "operstate") == "up") prefer(best, interface, leading_number(interface / "speed") * megabit, false);
  }
  return best;
}

}  // namespace glean::topology
