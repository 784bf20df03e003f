// SPDX-License-Identifier: BSD-3-Clause
//
// Adjusts how files are written to how fast they were: a few trials, each of which is kept if it was clearly faster. What is
// written is the same whatever it chooses (seed 002, "When to tune", which has people do so by hand).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/bytes.hpp"

namespace glean::plan {

using base::Bytes;

class Tuner {
 public:
  struct Setup {
    int aggregators = 1;         // of each I/O group
    Bytes request_bytes = 0;
    friend bool operator==(const Setup&, const Setup&) = default;
    friend auto operator<=>(const Setup&, const Setup&) = default;
  };
  struct Bounds {
    int aggregators_max = 1;
    Bytes request_min = 0;       // the most is what was planned: a window of the file
  };
  struct Change {
    std::string file;            // the first that is written so
    Setup from, to;
    std::string why;
  };

  static constexpr int files_each = 2;         // that are measured before anything is said of a setup
  static constexpr double clearly = 1.1;       // times as fast
  static constexpr std::size_t changes_max = 8;  // in a session

  explicit Tuner(const Bounds& bounds) : bounds_(bounds) {}

  // How to write the next file of `bytes`, for which `planned` was planned. Files of a size, rounded to a power of two, that were
  // planned alike are tuned together. Local.
  [[nodiscard]] Setup setup_for(const std::string& file, const Setup& planned, Bytes bytes);
  // A file that was planned and written so took `seconds`. Local.
  void measured(const Setup& planned, const Setup& setup, Bytes bytes, double seconds);
  [[nodiscard]] const std::vector<Change>& changes() const { return changes_; }

 private:
  struct Family {
    Setup planned, best, current;
    double best_rate = 0;        // bytes per second; 0: not known yet
    std::vector<double> rates;   // of the current
    int next_trial = 0;
  };
  using Key = std::tuple<Setup, int>;
  [[nodiscard]] static Key key_of(const Setup& planned, Bytes bytes);
  void judge(const std::string& file, Family& family);
  [[nodiscard]] bool next_trial(Family& family, std::string& why);
  void change(const std::string& file, Family& family, const Setup& to, std::string why);

  Bounds bounds_;
  std::map<Key, Family> families_;
  std::vector<Change> changes_;
};

}  // namespace glean::plan
