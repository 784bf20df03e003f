// SPDX-License-Identifier: BSD-3-Clause
#include "cli/text_file.hpp"

#include <cerrno>
#include <fstream>

#include "base/error.hpp"

namespace glean::cli {

void write_text_file(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) throw base::system_error(errno == 0 ? EIO : errno, "cannot write '" + path + "'");
}

}  // namespace glean::cli
