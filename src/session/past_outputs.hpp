// SPDX-License-Identifier: BSD-3-Clause
//
// What became of the outputs that a session has finished, in bounded memory.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "glean/glean.hpp"
#include "session/output_name.hpp"

namespace glean::session {

// One rank's memory of them; ranks may remember a little differently.
class PastOutputs {
 public:
  // So many at most. When there are more, the oldest is forgotten, those that have failed last: a file of that name is
  // not what the program has put.
  static constexpr std::size_t capacity = 256;

  // `failure`: what all ranks have been told.
  void add(const OutputName& name, const OutputStatus& status, const std::optional<base::Error>& failure);
  // Oldest first.
  [[nodiscard]] std::vector<OutputStatus> statuses() const;
  // Why the last output of that name was not published, if it was not.
  [[nodiscard]] std::optional<base::Error> failure(const std::string& final_path) const;

 private:
  struct Past {
    OutputName name;
    OutputStatus status;
    std::optional<base::Error> failure;
  };
  std::deque<Past> past_;
};

}  // namespace glean::session
