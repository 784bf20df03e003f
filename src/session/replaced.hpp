// SPDX-License-Identifier: BSD-3-Clause
//
// Files in whose place one of another format has appeared (setting `format`).
#pragma once

#include <optional>
#include <string>

namespace glean::session {

class Core;

// The file that took the place of `path`, which is absolute; nothing where `path` is there, or the settings ask for no such file, or it is
// not there either. Local.
[[nodiscard]] std::optional<std::string> replaced_by(const Core& core, const std::string& path);

}  // namespace glean::session
