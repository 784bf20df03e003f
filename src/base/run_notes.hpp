// SPDX-License-Identifier: BSD-3-Clause
//
// What processes leave for `glean run`, in the directory that it names in GLEAN_RUN_DIRECTORY: a file for each kind of note.
#pragma once

#include <string_view>

namespace glean::base {

inline constexpr char run_directory_variable[] = "GLEAN_RUN_DIRECTORY";

// Appends the text to the file; does nothing where there is no such directory, the note cannot be written, or the file is longer than
// 64 KiB.
// Local, any thread.
void leave_note(std::string_view file, std::string_view text) noexcept;

// The file with a line for each output that the program has closed without an error and that is not published.
inline constexpr char unpublished_note[] = "unpublished";

}  // namespace glean::base
