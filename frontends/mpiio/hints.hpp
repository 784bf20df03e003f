// SPDX-License-Identifier: BSD-3-Clause
//
// The hints that a program has given with a file.
#pragma once

#include <mpi.h>

#include <map>
#include <optional>
#include <string>

#include "session/striping.hpp"

namespace glean::mpiio {

class Hints {
 public:
  // Adds those of `info`, which may be MPI_INFO_NULL.
  void add(MPI_Info info);
  void set(const std::string& key, const std::string& value) { values_[key] = value; }
  [[nodiscard]] std::optional<std::string> find(const std::string& key) const;
  // For a handle of one rank alone, without what does harm only there: a list of hosts that aggregate may name others, also one in ROMIO's
  // file of hints, and ROMIO ends the job where no rank of a handle is named.
  [[nodiscard]] Hints of_one_rank() const;
  // How a new file is striped, as the program says or ROMIO's file of hints.
  [[nodiscard]] session::StripingHints of_striping() const;
  // A new info of them, which the caller frees.
  [[nodiscard]] MPI_Info make_info() const;
  bool operator==(const Hints&) const = default;

 private:
  std::map<std::string, std::string> values_;
};

// ROMIO's hint of the hosts whose ranks aggregate.
inline constexpr char aggregating_hosts[] = "cb_config_list";
// What ROMIO's file of hints says, which it takes where a program says nothing: ROMIO_HINTS, or /etc/romio-hints. Local, reads it once.
[[nodiscard]] std::optional<std::string> hint_of_romio_file(const std::string& key);

}  // namespace glean::mpiio
