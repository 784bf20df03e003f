// SPDX-License-Identifier: BSD-3-Clause
#include "witness.hpp"

#include <cstdlib>
#include <fstream>

#include <fcntl.h>
#include <unistd.h>

namespace transparent {

Witness::Witness(const std::string& path, int rank)
    : descriptor_(open((path + "." + std::to_string(rank)).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) std::abort();
}

Witness::~Witness() { close(descriptor_); }

void Witness::say(const std::string& line) const {
  if (write(descriptor_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
}

void Witness::tell(int step, int event, int result) {
  say("at " + std::to_string(moment_of(step, event)) + " " + std::to_string(result) + "\n");
}

void Witness::tell_failure(int file) { say("failed " + std::to_string(file) + " 0\n"); }

std::vector<Testimony> read_witnesses(const std::string& path, int ranks) {
  std::vector<Testimony> testimonies;
  for (int rank = 0; rank < ranks; ++rank) {
    std::ifstream lines(path + "." + std::to_string(rank));
    Testimony testimony;
    std::string word;
    for (int number = 0, result = 0; lines >> word >> number >> result;) {
      if (word == "failed") {
        testimony.failures.emplace(number, testimony.moment);
      } else {
        testimony.moment = number;
        testimony.results[number] = result;
      }
    }
    testimonies.push_back(std::move(testimony));
  }
  return testimonies;
}

}  // namespace transparent
