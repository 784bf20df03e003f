// SPDX-License-Identifier: BSD-3-Clause
#include "base/settings.hpp"

#include <fnmatch.h>

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

}  // namespace glean::base
