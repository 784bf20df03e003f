// SPDX-License-Identifier: BSD-3-Clause
//
// A text that a verb puts into a file.
#pragma once

#include <string>

namespace glean::cli {

// Replaces what is there. Throws what the system says.
void write_text_file(const std::string& path, const std::string& text);

}  // namespace glean::cli
