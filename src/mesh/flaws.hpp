// SPDX-License-Identifier: BSD-3-Clause
//
// All that is wrong with an input, in a form that can be read: of each kind the first few, and how many more.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace glean::mesh {

class Flaws {
 public:
  static constexpr std::uint64_t shown_of_kind = 3;

  // Counts one of a kind, which is named in the plural, such as "coordinates that are not finite". True: add() wants its sentence.
  [[nodiscard]] bool count(const char* kind);
  void add(std::string sentence) { sentences_.push_back(std::move(sentence)); }
  // Both at once, where the sentence costs nothing.
  void add(const char* kind, std::string sentence) {
    if (count(kind)) add(std::move(sentence));
  }
  [[nodiscard]] bool any() const { return !kinds_.empty(); }

  // The sentences, then those that count. Leaves nothing.
  [[nodiscard]] std::vector<std::string> take();

 private:
  struct Kind {
    const char* name;
    std::uint64_t found;
  };
  std::vector<Kind> kinds_;
  std::vector<std::string> sentences_;
};

}  // namespace glean::mesh
