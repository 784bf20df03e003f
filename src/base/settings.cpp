// SPDX-License-Identifier: BSD-3-Clause
#include "base/settings.hpp"

#include <fnmatch.h>

#include <algorithm>

#include "base/keys.hpp"

namespace glean::base {

OutputSettings Settings::for_output(std::string_view path) const {
  const std::string whole(path);
  const std::string file_name = whole.substr(whole.rfind('/') + 1);
  Settings changed;
  changed.output = output;
  for (const Rule& rule : rules) {
    const bool matches = fnmatch(rule.pattern.c_str(), whole.c_str(), 0) == 0 ||
                         fnmatch(rule.pattern.c_str(), file_name.c_str(), 0) == 0;
    if (!matches) continue;
    for (const auto& [name, value] : rule.values) {
      if (const Key* key = find_key(name)) key->assign(changed, value);
    }
  }
  return changed.output;
}

bool Settings::any_spills() const {
  return output.full == WhenFull::spill || std::any_of(rules.begin(), rules.end(), [](const Rule& rule) {
    return std::any_of(rule.values.begin(), rule.values.end(),
                       [](const auto& value) { return value.first == "full" && value.second == "spill"; });
  });
}

}  // namespace glean::base
