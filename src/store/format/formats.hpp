// SPDX-License-Identifier: BSD-3-Clause
//
// Finds a format by its name.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "store/format/format.hpp"

namespace glean::store {

class Formats {
 public:
  // Takes the place of one of the same name.
  void add(std::unique_ptr<const Format> format);
  // Throws unsupported, naming those that there are.
  [[nodiscard]] const Format& find(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return formats_.find(name) != formats_.end(); }

  // Those of this library, without the libraries that make metadata: enough to finish every file.
  [[nodiscard]] static Formats without_libraries();
  // The formats to finish files with, made once.
  [[nodiscard]] static const Formats& to_finish();

 private:
  std::map<std::string, std::unique_ptr<const Format>, std::less<>> formats_;
};

}  // namespace glean::store
