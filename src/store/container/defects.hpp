// SPDX-License-Identifier: BSD-3-Clause
//
// All that is wrong with the metadata of a container, said in one error.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace glean::store {

// Names come from a file that anybody may have made: what is shown has nothing that a terminal would act on.
[[nodiscard]] inline std::string shown_name(const std::string& name) {
  constexpr std::size_t shown = 200;
  std::string text = "'" + name.substr(0, shown) + (name.size() > shown ? "...'" : "'");
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return text;
}

class Defects {
 public:
  explicit Defects(std::string subject) : subject_(std::move(subject)) {}

  void add(std::string defect) {
    if (count_++ < shown) defects_.push_back(std::move(defect));
  }
  void require(bool holds, const char* otherwise) {
    if (!holds) add(otherwise);
  }
  [[nodiscard]] bool none() const { return count_ == 0; }
  // Throws io with the first twenty, if there are any.
  void raise() const {
    if (none()) return;
    std::string all;
    for (const std::string& each : defects_) all += (all.empty() ? "" : "; ") + each;
    if (count_ > shown) all += "; and " + std::to_string(count_ - shown) + " more";
    throw base::Error(base::Errc::io, subject_ + " is damaged: " + all);
  }

 private:
  static constexpr std::size_t shown = 20;
  std::string subject_;
  std::vector<std::string> defects_;
  std::size_t count_ = 0;
};

}  // namespace glean::store
