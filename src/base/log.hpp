// SPDX-License-Identifier: BSD-3-Clause
//
// Messages to people, on standard error, each line with "glean:" in front.
//
// An error that is thrown is not logged as well: the code that catches it decides. The log is for what has no caller
// to tell: background work, destructors, decisions that surprise.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/settings.hpp"

namespace glean::base {

// The level of this process; `warning` until it is set. Any thread.
void set_log_level(LogLevel level);
[[nodiscard]] bool is_logged(LogLevel level);

// Writes one message if its level is logged. Any thread. Never throws: a message that cannot be written is lost.
void log(LogLevel level, std::string_view message) noexcept;

template <class... Arguments>
void log(LogLevel level, fmt::format_string<Arguments...> format, Arguments&&... arguments)
  requires(sizeof...(Arguments) > 0)
{
  if (is_logged(level)) {
    log(level, std::string_view(fmt::format(format, std::forward<Arguments>(arguments)...)));
  }
}

}  // namespace glean::base
