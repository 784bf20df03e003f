// SPDX-License-Identifier: BSD-3-Clause
#include "base/log.hpp"

#include <gtest/gtest.h>

namespace glean::base {
namespace {

std::string logged(LogLevel level, LogLevel threshold, std::string_view text) {
  set_log_level(threshold);
  testing::internal::CaptureStderr();
  log(level, text);
  const std::string output = testing::internal::GetCapturedStderr();
  set_log_level(LogLevel::warning);
  return output;
}

TEST(Log, WritesLevelAndMessageBehindItsName) {
  EXPECT_EQ(logged(LogLevel::warning, LogLevel::warning, "the pool is full"), "glean: warning: the pool is full\n");
}

TEST(Log, KeepsMessagesBelowTheLevelToItself) {
  EXPECT_EQ(logged(LogLevel::info, LogLevel::warning, "opened"), "");
  EXPECT_EQ(logged(LogLevel::error, LogLevel::off, "lost"), "");
}

TEST(Log, DoesNotInterpretBracesOfAMessage) {
  EXPECT_EQ(logged(LogLevel::error, LogLevel::error, "file '{}.nc'"), "glean: error: file '{}.nc'\n");
}

TEST(Log, FormatsArguments) {
  testing::internal::CaptureStderr();
  log(LogLevel::error, "rank {} of {}", 3, 8);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "glean: error: rank 3 of 8\n");
}

}  // namespace
}  // namespace glean::base
