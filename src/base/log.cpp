// SPDX-License-Identifier: BSD-3-Clause
#include "base/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace glean::base {
namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warning: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
    case LogLevel::off: break;
  }
  return spdlog::level::off;
}

// Never destroyed: drain threads and destructors of statics may still log while the process ends. Not in
// spdlog's registry, which belongs to the application.
spdlog::logger& logger() {
  static spdlog::logger* const instance = [] {
    auto* made = new spdlog::logger("glean", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("glean: %l: %v");
    made->set_level(spdlog::level::warn);
    made->flush_on(spdlog::level::debug);
    return made;
  }();
  return *instance;
}

}  // namespace

void set_log_level(LogLevel level) { logger().set_level(spdlog_level(level)); }

bool is_logged(LogLevel level) { return level != LogLevel::off && logger().should_log(spdlog_level(level)); }

void log(LogLevel level, std::string_view message) noexcept {
  if (level == LogLevel::off) return;
  try {
    logger().log(spdlog_level(level), spdlog::string_view_t(message.data(), message.size()));
  } catch (...) {
    // There is nowhere left to write to.
  }
}

}  // namespace glean::base
