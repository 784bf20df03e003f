// SPDX-License-Identifier: BSD-3-Clause
#include "pool/wait.hpp"

#include <algorithm>

#include "base/units.hpp"
#include "pool/futex.hpp"

namespace glean::pool {

Wait::Wait(Atomic<std::uint32_t>& word, double seconds, std::uint64_t nap_ns)
    : word_(word), seconds_(seconds), nap_ns_(nap_ns), limit_ns_(static_cast<std::uint64_t>(std::clamp(seconds, 0.0, 1e9) * 1e9)),
      left_ns_(limit_ns_) {}

Wait& Wait::restart_with(std::function<std::uint64_t()> progress) {
  progress_ = std::move(progress);
  seen_progress_ = progress_();
  return *this;
}

bool Wait::is_over() {
  const std::uint64_t now = base::now_ns();
  if (progress_) {
    const std::uint64_t latest = progress_();
    if (latest != seen_progress_) since_ns_ = now;
    seen_progress_ = latest;
  }
  left_ns_ = limit_ns_ - std::min(limit_ns_, now - since_ns_);
  return left_ns_ == 0;
}

void Wait::nap(std::uint32_t seen) const { futex_wait(word_, seen, std::min(nap_ns_, left_ns_)); }

std::string Wait::text() const { return base::exact_seconds(seconds_) + (progress_ ? " without progress" : ""); }

}  // namespace glean::pool
