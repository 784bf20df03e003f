// SPDX-License-Identifier: BSD-3-Clause
#include "topology/discover/mounts.hpp"

#include <sstream>

namespace glean::topology {
namespace {

// The kernel writes space, tab, newline and backslash as \ooo.
std::string unescape(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool holds(const std::string& mount_point, const std::string& path) {
  if (mount_point == "/" || mount_point == path) return true;
  return path.starts_with(mount_point) && path[mount_point.size()] == '/';
}

}  // namespace

std::string file_system_of(std::istream& mountinfo, const std::string& path) {
  std::string type = "unknown";
  std::size_t longest = 0;
  // 36 35 98:0 /root /mount/point options [optional…] - type source super-options
  for (std::string line; std::getline(mountinfo, line);) {
    std::istringstream words(line);
    std::string word, mount_point;
    for (int field = 0; field < 5; ++field) words >> mount_point;
    while (words >> word && word != "-") continue;
    if (!(words >> word)) continue;
    mount_point = unescape(mount_point);
    if (holds(mount_point, path) && mount_point.size() >= longest) {
      longest = mount_point.size();
      type = word;
    }
  }
  return type;
}

}  // namespace glean::topology
