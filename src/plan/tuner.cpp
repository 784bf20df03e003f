// SPDX-License-Identifier: BSD-3-Clause
#include "plan/tuner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/units.hpp"

namespace glean::plan {
namespace {

using Setup = Tuner::Setup;

std::string rate_text(double bytes_per_second) { return base::readable_bytes(static_cast<Bytes>(bytes_per_second)) + "/s"; }

struct Trial {
  Setup (*of)(const Setup&);
  const char* name;
};
constexpr std::array<Trial, 4> trials{{
    {[](const Setup& s) { return Setup{s.aggregators, s.request_bytes / 2}; }, "half the request"},
    {[](const Setup& s) { return Setup{s.aggregators, s.request_bytes * 2}; }, "twice the request"},
    {[](const Setup& s) { return Setup{s.aggregators * 2, s.request_bytes}; }, "twice the aggregators"},
    {[](const Setup& s) { return Setup{s.aggregators / 2, s.request_bytes}; }, "half the aggregators"},
}};

}  // namespace

Tuner::Key Tuner::key_of(const Setup& planned, Bytes bytes) { return {planned, std::bit_width(bytes)}; }

Setup Tuner::setup_for(const std::string& file, const Setup& planned, Bytes bytes) {
  const auto [it, is_new] = families_.try_emplace(key_of(planned, bytes));
  Family& family = it->second;
  if (is_new) family.planned = family.best = family.current = planned;
  if (family.rates.size() >= files_each) judge(file, family);
  return family.current;
}

void Tuner::measured(const Setup& planned, const Setup& setup, Bytes bytes, double seconds) {
  const auto family = families_.find(key_of(planned, bytes));
  if (family == families_.end() || family->second.current != setup || seconds <= 0) return;   // of an earlier trial
  family->second.rates.push_back(static_cast<double>(bytes) / seconds);
}

// The best of its files counts: what disturbs a measurement only slows it down.
void Tuner::judge(const std::string& file, Family& family) {
  const double rate = *std::max_element(family.rates.begin(), family.rates.end());
  const bool is_better = family.best_rate == 0 || rate > clearly * family.best_rate;
  std::string so_far = fmt::format("{} until now", rate_text(rate));
  if (is_better) {
    family.best = family.current;
    family.best_rate = rate;
  } else if (family.current != family.best) {
    so_far = fmt::format("{} is not clearly better than {}", rate_text(rate), rate_text(family.best_rate));
  }
  std::string trial;
  if (next_trial(family, trial)) return change(file, family, trials[static_cast<std::size_t>(family.next_trial++)].of(family.best),
                                               so_far + ", trying " + trial);
  if (family.current != family.best) change(file, family, family.best, so_far + ", back to what was best");
}

// Leaves next_trial at the next that can be. Changes are left to go back with.
bool Tuner::next_trial(Family& family, std::string& why) {
  const auto others_on_trial = std::count_if(families_.begin(), families_.end(), [&](const auto& each) {
    return &each.second != &family && each.second.current != each.second.best;
  });
  if (changes_.size() + static_cast<std::size_t>(others_on_trial) + 2 > changes_max) return false;
  for (; family.next_trial < static_cast<int>(trials.size()); ++family.next_trial) {
    const Trial& trial = trials[static_cast<std::size_t>(family.next_trial)];
    const Setup to = trial.of(family.best);
    why = trial.name;
    if (to.aggregators >= 1 && to.aggregators <= bounds_.aggregators_max && to.request_bytes >= bounds_.request_min &&
        to.request_bytes <= family.planned.request_bytes && to != family.current) {
      return true;
    }
  }
  return false;
}

void Tuner::change(const std::string& file, Family& family, const Setup& to, std::string why) {
  changes_.push_back({file, family.current, to, std::move(why)});
  family.current = to;
  family.rates.clear();
}

}  // namespace glean::plan
