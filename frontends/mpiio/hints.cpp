// SPDX-License-Identifier: BSD-3-Clause
#include "hints.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace glean::mpiio {
namespace {

constexpr char by_any_host[] = "*:1";   // ROMIO's default

// A key and a value in each line, as ROMIO takes them; the first of a key counts.
std::map<std::string, std::string> read_romio_file() {
  std::map<std::string, std::string> values;
  const char* name = std::getenv("ROMIO_HINTS");
  std::ifstream file(name != nullptr ? name : "/etc/romio-hints");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key, value, more;
    if (words >> key >> value && !(words >> more) && key.front() != '#') values.emplace(key, value);
  }
  return values;
}

}  // namespace

void Hints::add(MPI_Info info) {
  if (info == MPI_INFO_NULL) return;
  int keys = 0;
  PMPI_Info_get_nkeys(info, &keys);
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1] = {};
    int length = 0, found = 0;
    PMPI_Info_get_nthkey(info, i, key);
    PMPI_Info_get_valuelen(info, key, &length, &found);
    if (found == 0) continue;
    std::string value(static_cast<std::size_t>(length) + 1, '\0');
    PMPI_Info_get(info, key, length, value.data(), &found);
    value.resize(static_cast<std::size_t>(length));
    values_[key] = value;
  }
}

std::optional<std::string> Hints::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

Hints Hints::of_one_rank() const {
  Hints hints = *this;
  // Collective reads of the program do not use it, and those of one rank would never end with none.
  if (const auto room = find("ind_rd_buffer_size"); room && std::atoll(room->c_str()) <= 0) hints.values_.erase("ind_rd_buffer_size");
  if (find(aggregating_hosts) || hint_of_romio_file(aggregating_hosts)) hints.set(aggregating_hosts, by_any_host);
  return hints;
}

session::StripingHints Hints::of_striping() const {
  session::StripingHints hints;
  for (const char* name : session::striping_names) {
    const auto value = find(name);
    if (const auto said = value ? value : hint_of_romio_file(name)) hints[name] = *said;
  }
  return hints;
}

MPI_Info Hints::make_info() const {
  MPI_Info info = MPI_INFO_NULL;
  PMPI_Info_create(&info);
  for (const auto& [key, value] : values_) PMPI_Info_set(info, key.c_str(), value.c_str());
  return info;
}

std::optional<std::string> hint_of_romio_file(const std::string& key) {
  static const auto& values = *new std::map<std::string, std::string>(read_romio_file());   // calls may come after destructors
  const auto found = values.find(key);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace glean::mpiio
