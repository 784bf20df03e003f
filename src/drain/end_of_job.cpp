// SPDX-License-Identifier: BSD-3-Clause
#include "drain/end_of_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clock.hpp"
#include "base/units.hpp"

namespace glean::drain {
namespace {

std::string seconds_text(double seconds) { return fmt::format("{:.{}f} s", seconds, seconds < 10 ? 1 : 0); }

std::string bytes_text(double bytes) { return base::readable_bytes(static_cast<Bytes>(bytes)); }

}  // namespace

std::optional<double> Forecast::needed_seconds() const {
  if (waiting_bytes == 0) return 0;
  if (!bytes_per_second || *bytes_per_second <= 0) return std::nullopt;
  return static_cast<double>(waiting_bytes) / *bytes_per_second;
}

Bytes Forecast::lost_bytes() const {
  if (!bytes_per_second) return 0;
  const double lost = static_cast<double>(waiting_bytes) - *bytes_per_second * seconds_left;
  return lost <= 0 ? 0 : static_cast<Bytes>(std::llround(lost));
}

bool Forecast::is_worse_than(const Forecast& other) const {
  if (other.at_ns == 0) return true;
  if (lost_bytes() != other.lost_bytes()) return lost_bytes() > other.lost_bytes();
  const auto needed = needed_seconds(), other_needed = other.needed_seconds();
  if (!needed || !other_needed) return needed.has_value() && !other_needed;   // a rate says more than none
  return *needed * other.seconds_left > *other_needed * seconds_left;
}

std::string warning_text(const Forecast& forecast) {
  const std::string end = forecast.seconds_left > 0 ? fmt::format("the job ends in {}", seconds_text(forecast.seconds_left))
                                                    : std::string("the job's time is over");
  const auto needed = forecast.needed_seconds();
  const std::string drain =
      needed ? fmt::format("the drain writes {}/s: about {} are needed", bytes_text(*forecast.bytes_per_second),
                           seconds_text(*needed))
             : std::string("the drain does not get on");
  return fmt::format("{}, {} wait in the pool and {}; {} may be lost. Write less, or end the run earlier", end,
                     base::readable_bytes(forecast.waiting_bytes), drain, base::readable_bytes(forecast.lost_bytes()));
}

EndOfJob::Look EndOfJob::look(const DrainPosition& position) {
  measure(position);
  Look look;
  Forecast& forecast = look.forecast;
  forecast.at_ns = position.now_ns;
  forecast.seconds_left = std::max(position.seconds_left, 0.0);
  forecast.waiting_bytes = position.waiting_bytes;
  if (measured_seconds_ >= (measured_bytes_ > 0 ? known_after_seconds : known_zero_after_seconds) ||
      measured_bytes_ >= static_cast<double>(known_after_bytes)) {
    forecast.bytes_per_second = recent_bytes_ / recent_seconds_;
  }
  if (forecast.waiting_bytes != 0 && forecast.is_worse_than(worst_)) worst_ = forecast;
  look.boost = boosts_ = is_time_to_boost(forecast);
  look.warn = is_time_to_warn(forecast);
  return look;
}

void EndOfJob::measure(const DrainPosition& position) {
  const DrainPosition before = previous_.value_or(position);
  previous_ = position;
  const double busy = base::seconds(position.busy_ns - before.busy_ns);
  const double bytes = static_cast<double>(position.written_bytes - before.written_bytes);
  const bool enough = busy >= busy_share_min * base::seconds(position.now_ns - before.now_ns) ||
                      bytes >= static_cast<double>(bytes_min);
  if (busy <= 0 || !enough) return;
  const double fading = std::exp2(-busy / half_life_seconds);
  recent_bytes_ = recent_bytes_ * fading + bytes;
  recent_seconds_ = recent_seconds_ * fading + busy;
  measured_bytes_ += bytes;
  measured_seconds_ += busy;
}

bool EndOfJob::is_time_to_boost(const Forecast& forecast) const {
  if (!forecast.bytes_per_second) return boosts_ || forecast.seconds_left <= boost_seconds_unknown;
  const auto needed = forecast.needed_seconds();
  if (!needed) return true;
  if (boosts_) return *needed * relax_factor + relax_seconds >= forecast.seconds_left;
  return *needed * boost_factor + boost_seconds >= forecast.seconds_left;
}

bool EndOfJob::is_time_to_warn(const Forecast& forecast) {
  const Bytes lost = forecast.lost_bytes();
  looks_with_loss_ = lost == 0 ? 0 : looks_with_loss_ + 1;
  if (looks_with_loss_ < looks_before_warning) return false;
  if (warned_.at_ns != 0) {
    const double since = base::seconds(forecast.at_ns - warned_.at_ns);
    if (since < seconds_between_warnings || lost < 2 * warned_.lost_bytes()) return false;
  }
  warned_ = forecast;
  return true;
}

}  // namespace glean::drain
