// SPDX-License-Identifier: BSD-3-Clause
//
// Opens the newest complete file of a family, the same on all ranks.
#pragma once

#include <memory>
#include <string>

#include "session/input.hpp"

namespace glean::session {

// As Session::restart says.
[[nodiscard]] std::unique_ptr<Input::Impl> restart(const std::shared_ptr<Core>& core, const std::string& pattern, double seconds);

}  // namespace glean::session
