// SPDX-License-Identifier: BSD-3-Clause
//
// The files of the page, which the build puts into the program.
#pragma once

#include <span>
#include <string_view>

namespace glean::view {

struct PageFile {
  std::string_view path;   // "/view.js"
  std::string_view type;   // of its content
  std::string_view text;   // @TOKEN@ in it stands for the token
};

[[nodiscard]] std::span<const PageFile> page_files();

}  // namespace glean::view
