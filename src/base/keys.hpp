// SPDX-License-Identifier: BSD-3-Clause
//
// The table of configuration keys. It drives reading, checking, printing and documentation; a new setting is one
// line in keys.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/settings.hpp"

namespace glean::base {

enum class Scope { session, output };   // `output`: may stand in a [[rule]]

struct Key {
  std::string_view name;
  Scope scope;
  std::string_view values;        // what it takes, for messages: "bytes, or auto"
  std::string_view description;
  // Sets the value; false, with the settings unchanged, when `text` is none.
  bool (*assign)(Settings& settings, std::string_view text);
  // As the file would have it: assign() takes it back.
  std::string (*print)(const Settings& settings);
};

[[nodiscard]] std::span<const Key> key_table();
// nullptr where there is none.
[[nodiscard]] const Key* find_key(std::string_view name);
// "pool.budget" → "GLEAN_POOL_BUDGET".
[[nodiscard]] std::string environment_name(std::string_view key);

}  // namespace glean::base
