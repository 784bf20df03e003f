// SPDX-License-Identifier: BSD-3-Clause
//
// Where settings come from: defaults < TOML file < environment < the program. Strict: what is not understood is an
// error that names what was probably meant, and all problems of all sources come in one error.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings.hpp"

namespace glean::base {

// Variables and their values. Only those whose names start with GLEAN_ matter.
using Environment = std::map<std::string, std::string>;

// The GLEAN_* variables of this process. Local.
[[nodiscard]] Environment process_environment();

// One key as the user knows it.
struct KeyDescription {
  std::string name;          // "pool.budget"
  std::string environment;   // "GLEAN_POOL_BUDGET"
  std::string values;        // what it takes: "bytes, or auto"
  std::string description;   // one sentence
  std::string default_value;
};

// All keys, in the order of the documentation. Local.
[[nodiscard]] std::vector<KeyDescription> configuration_keys();

// One value and where it came from.
struct Entry {
  std::string key;
  std::string value;    // as the file would have it
  std::string origin;   // "default", "glean.toml:3", "GLEAN_POOL_BUDGET", "program"
  friend bool operator==(const Entry&, const Entry&) = default;
};

struct Configuration {
  Settings settings;
  std::vector<Entry> entries;   // one per key, in the order of configuration_keys(); then rules, "rule[0].mode" …
  std::string file;             // the file that was read; empty: none
};

// Reads the settings. The file is the one that GLEAN_CONFIG names (empty: none), or else `directory`/glean.toml if it
// is there. `program` has the keys of the file, "pool.budget", and "rule[0].pattern", "rule[0].mode", … of rules,
// which come behind those of the file. Local, reads at most one file.
// Throws invalid_config with one line per problem: unknown keys, values that cannot be, a file that cannot be read.
[[nodiscard]] Configuration load_configuration(const std::map<std::string, std::string>& program,
                                               const Environment& environment, const std::string& directory = ".");

}  // namespace glean::base
