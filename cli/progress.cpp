// SPDX-License-Identifier: BSD-3-Clause
#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "base/clock.hpp"
#include "base/units.hpp"

namespace glean::cli {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000, pause_ns = second_ns / 5;

}  // namespace

ProgressLine::ProgressLine(std::string what, base::Bytes bytes, When when)
    : what_(std::move(what)), bytes_(bytes), begin_ns_(base::now_ns()) {
  const bool is_terminal = isatty(STDERR_FILENO) == 1;
  is_line_ = is_terminal;
  says_anything_ = is_terminal || when == When::always;
  next_ns_ = when == When::always ? begin_ns_ : begin_ns_ + second_ns;
}

ProgressLine::~ProgressLine() {
  if (is_shown_ && is_line_) std::cerr << "\r\x1b[K" << std::flush;
}

void ProgressLine::show(base::Bytes done) {
  if (!says_anything_) return;
  const std::uint64_t now = base::now_ns();
  if (now < next_ns_) return;
  next_ns_ = now + pause_ns;
  is_shown_ = true;
  const double seconds = base::seconds(std::max<std::uint64_t>(1, now - begin_ns_));
  const double part = bytes_ == 0 ? 1 : static_cast<double>(done) / static_cast<double>(bytes_);
  const std::string text = fmt::format("{}: {} of {} ({:.0f} %), {}", what_, base::readable_bytes(done), base::readable_bytes(bytes_),
                                       100 * std::min(1.0, part), base::readable_rate(static_cast<double>(done) / seconds));
  if (is_line_) std::cerr << "\r\x1b[K" << text << std::flush;
  else std::cerr << text << '\n';
}

}  // namespace glean::cli
