// SPDX-License-Identifier: BSD-3-Clause
#include "base/job_end.hpp"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cmath>

#include "base/units.hpp"

namespace glean::base {
namespace {

using std::chrono::sys_days;

constexpr std::int64_t ns_per_s = 1'000'000'000;
constexpr int last_year = 2261;            // nanoseconds since 1970 fit into 63 bits
constexpr double seconds_max = 3e9;        // the same for durations: 95 years
constexpr std::int64_t sane_ahead = 3650LL * 24 * 3600;

// Takes characters from the front of a text; any that does not fit makes it bad.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}
  // Exactly `digits` digits.
  int number(std::size_t digits) {
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) value = 10 * value + (one_of("0123456789") - '0');
    return value;
  }
  char one_of(std::string_view characters) {
    if (text_.empty() || characters.find(text_.front()) == std::string_view::npos) {
      good_ = false;
      return '0';
    }
    const char taken = text_.front();
    text_.remove_prefix(1);
    return taken;
  }
  [[nodiscard]] bool next_is(char character) const { return !text_.empty() && text_.front() == character; }
  void skip_digits() {
    number(1);
    while (!text_.empty() && text_.front() >= '0' && text_.front() <= '9') number(1);
  }
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool at_end() const { return good_ && text_.empty(); }

 private:
  std::string_view text_;
  bool good_ = true;
};

std::optional<std::int64_t> parse_moment(std::string_view text) {
  Scanner scan(text);
  const int year = scan.number(4);
  scan.one_of("-");
  const int month = scan.number(2);
  scan.one_of("-");
  const int day = scan.number(2);
  scan.one_of("Tt ");
  const int hour = scan.number(2);
  scan.one_of(":");
  const int minute = scan.number(2);
  scan.one_of(":");
  const int second = scan.number(2);
  if (scan.next_is('.')) {
    scan.one_of(".");
    scan.skip_digits();
  }
  const char zone = scan.one_of("Zz+-");
  const bool utc = zone == 'Z' || zone == 'z';
  const int offset_hour = utc ? 0 : scan.number(2);
  if (!utc) scan.one_of(":");
  const int offset_minute = utc ? 0 : scan.number(2);
  if (!scan.at_end()) return std::nullopt;

  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || year > last_year || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  if (offset_hour > 23 || offset_minute > 59) return std::nullopt;
  const std::int64_t days = sys_days(date).time_since_epoch().count();
  const std::int64_t local = days * 86400 + hour * 3600 + minute * 60 + second;
  const std::int64_t offset = (zone == '-' ? -1 : 1) * (offset_hour * 3600 + offset_minute * 60);
  if (local - offset < 0) return std::nullopt;
  return local - offset;
}

}  // namespace

std::optional<JobEnd> parse_job_end(std::string_view text) {
  if (text == "auto") return JobEnd{};
  if (text == "none") return JobEnd{.kind = JobEnd::Kind::none};
  if (const auto seconds = parse_seconds(text)) {
    if (!(*seconds > 0) || *seconds > seconds_max) return std::nullopt;
    return JobEnd{.kind = JobEnd::Kind::after, .seconds = *seconds};
  }
  if (const auto moment = parse_moment(text)) return JobEnd{.kind = JobEnd::Kind::at, .epoch_seconds = *moment};
  return std::nullopt;
}

std::string exact_job_end(const JobEnd& end) {
  switch (end.kind) {
    case JobEnd::Kind::automatic: return "auto";
    case JobEnd::Kind::none: return "none";
    case JobEnd::Kind::after: return exact_seconds(end.seconds);
    case JobEnd::Kind::at: break;
  }
  return utc_text(end.epoch_seconds);
}

std::string utc_text(std::int64_t epoch_seconds) {
  const std::int64_t days = epoch_seconds / 86400, rest = epoch_seconds % 86400;
  const std::chrono::year_month_day date{sys_days(std::chrono::days(days))};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), rest / 3600,
                     rest / 60 % 60, rest % 60);
}

KnownEnd find_job_end(const JobEnd& setting, std::uint64_t now_realtime_ns, const char* slurm_end) {
  const auto now = static_cast<std::int64_t>(now_realtime_ns);
  std::int64_t moment = setting.epoch_seconds;
  KnownEnd known;
  switch (setting.kind) {
    case JobEnd::Kind::none:
      return known;
    case JobEnd::Kind::after:
      known.source = "job.end";
      known.realtime_ns = now_realtime_ns + static_cast<std::uint64_t>(std::llround(setting.seconds * 1e9));
      return known;
    case JobEnd::Kind::at:
      known.source = "job.end";
      break;
    case JobEnd::Kind::automatic:
      if (slurm_end == nullptr) return known;
      known.source = slurm_end_variable;
      const std::string_view text(slurm_end);
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), moment);
      if (error != std::errc{} || end != text.data() + text.size() || moment > now / ns_per_s + sane_ahead) {
        known.ignored = fmt::format("'{}' is no time, in seconds since 1970, at which a job may end", text);
        return known;
      }
      break;
  }
  if (moment <= now / ns_per_s) {
    known.ignored = fmt::format("{} has passed", moment < 0 ? "it" : utc_text(moment));
  } else {
    known.realtime_ns = static_cast<std::uint64_t>(moment * ns_per_s);
  }
  return known;
}

std::uint64_t realtime_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count());
}

}  // namespace glean::base
