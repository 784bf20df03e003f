// SPDX-License-Identifier: BSD-3-Clause
// What a rank writes down of how far it is, in a file of its own, so that it is known after a kill.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace transparent {

// Events of a step; calls by names have two each from `first_call` on, one before and one after. They are in the order of the program.
enum Event { step_begun = 0, closed = 1, first_call = 2, opening_again = 98, opened_again = 99 };

// A place in the program; larger is later. The step before the first one is -1.
constexpr int moment_of(int step, int event) { return (step + 1) * 100 + event; }

class Witness {
 public:
  Witness(const std::string& path, int rank);   // path.RANK
  ~Witness();
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  void tell(int step, int event, int result = 0);
  void tell_failure(int file);   // of a call on it

 private:
  void say(const std::string& line) const;
  int descriptor_;
};

// What a rank has written.
struct Testimony {
  int moment = -1;                             // the last one that it told
  std::map<int, int> results = {};             // of calls, by their moments
  std::multimap<int, int> failures = {};       // file: the moment after which a call on it has failed
};

[[nodiscard]] std::vector<Testimony> read_witnesses(const std::string& path, int ranks);

}  // namespace transparent
