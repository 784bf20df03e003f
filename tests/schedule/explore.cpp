// SPDX-License-Identifier: BSD-3-Clause
#include "explore.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <sstream>

namespace glean::schedule {
namespace {

// The choices that are not the plain ones: which decision, which option.
using Deviations = std::map<std::size_t, std::size_t>;

class Replay : public Chooser {
 public:
  explicit Replay(Deviations deviations) : deviations_(std::move(deviations)) {}
  std::size_t choose(const std::vector<Option>& options, bool /*interrupts*/) override {
    const auto it = deviations_.find(decision_++);
    return it == deviations_.end() || it->second >= options.size() ? 0 : it->second;
  }

 private:
  Deviations deviations_;
  std::size_t decision_ = 0;
};

// Depth first over all choices that stay below the bound.
class Search : public Chooser {
 public:
  explicit Search(int interruptions_max) : interruptions_max_(interruptions_max) {}

  std::size_t choose(const std::vector<Option>& options, bool interrupts) override {
    if (at_ == path_.size()) {
      const bool kill = options.back().kind == Option::Kind::kill;
      path_.push_back({0, options.size(), interrupts, kill});
    }
    return path_[at_++].choice;
  }
  // To the next schedule. False: that was the last one.
  bool advance() {
    at_ = 0;
    int interruptions = 0;
    for (const Decision& decision : path_) interruptions += decision.cost(decision.choice);
    while (!path_.empty()) {
      Decision& last = path_.back();
      interruptions -= last.cost(last.choice);
      while (++last.choice < last.options) {
        if (interruptions + last.cost(last.choice) <= interruptions_max_) return true;
      }
      path_.pop_back();
    }
    return false;
  }
  [[nodiscard]] Deviations deviations() const {
    Deviations result;
    for (std::size_t i = 0; i < at_; ++i) {
      if (path_[i].choice != 0) result[i] = path_[i].choice;
    }
    return result;
  }

 private:
  struct Decision {
    std::size_t choice;
    std::size_t options;
    bool interrupts;
    bool last_kills;
    [[nodiscard]] int cost(std::size_t of) const {
      return interrupts && of != 0 && !(last_kills && of + 1 == options) ? 1 : 0;
    }
  };
  int interruptions_max_;
  std::vector<Decision> path_;
  std::size_t at_ = 0;
};

// Interrupts with a probability that is drawn for each schedule, and kills at most at one moment.
class Random : public Chooser {
 public:
  Random(std::uint64_t seed, std::size_t decisions_expected)
      : engine_(seed), interrupt_one_in_(1u << (1 + engine_() % 5)),
        kill_at_(engine_() % (decisions_expected + 1)) {}

  std::size_t choose(const std::vector<Option>& options, bool interrupts) override {
    const std::size_t decision = decision_++;
    std::size_t count = options.size();
    if (options.back().kind == Option::Kind::kill) {
      --count;
      if (decision >= kill_at_) return remember(decision, count);
    }
    if (count == 1 || (interrupts && engine_() % interrupt_one_in_ != 0)) return 0;
    const std::size_t choice = engine_() % count;
    // A sleep that ends early is rare.
    if (options[choice].kind == Option::Kind::wake_early && engine_() % 4 != 0) return 0;
    return remember(decision, choice);
  }
  [[nodiscard]] const Deviations& deviations() const { return deviations_; }
  [[nodiscard]] std::size_t decisions() const { return decision_; }

 private:
  std::size_t remember(std::size_t decision, std::size_t choice) {
    if (choice != 0) deviations_[decision] = choice;
    return choice;
  }
  std::mt19937_64 engine_;
  std::uint64_t interrupt_one_in_;
  std::size_t kill_at_;
  std::size_t decision_ = 0;
  Deviations deviations_;
};

Outcome replay(const MakeScenario& make, const Deviations& deviations, Waits waits, Trace trace) {
  const auto scenario = make();
  Replay chooser(deviations);
  return run(*scenario, chooser, waits, trace);
}

std::string text_of(const Deviations& deviations, Waits waits) {
  std::string text = waits == Waits::or_wake_early ? "early" : "exact";
  for (const auto& [decision, choice] : deviations) text += " " + std::to_string(decision) + ":" + std::to_string(choice);
  return text;
}

// Without what the failure does not need.
Deviations plainest(const MakeScenario& make, Deviations deviations, Waits waits) {
  for (bool shorter = true; shorter;) {
    shorter = false;
    for (auto it = deviations.begin(); it != deviations.end();) {
      Deviations fewer = deviations;
      fewer.erase(it->first);
      if (replay(make, fewer, waits, Trace::no).failure.empty()) {
        ++it;
        continue;
      }
      const std::size_t removed = it->first;
      deviations = std::move(fewer);
      it = deviations.upper_bound(removed);
      shorter = true;
    }
  }
  return deviations;
}

void report(const MakeScenario& make, const Deviations& found, Waits waits) {
  const Deviations deviations = plainest(make, found, waits);
  const Outcome outcome = replay(make, deviations, waits, Trace::yes);
  std::ostringstream text;
  for (const std::string& step : outcome.trace) text << "  " << step << '\n';
  ADD_FAILURE() << outcome.failure << "\n" << text.str() << "again with GLEAN_SCHEDULE='"
                << text_of(deviations, waits) << "'";
}

// What GLEAN_SCHEDULE asks for.
bool replayed_from_environment(const MakeScenario& make) {
  const char* text = std::getenv("GLEAN_SCHEDULE");
  if (text == nullptr) return false;
  std::istringstream words(text);
  std::string word;
  words >> word;
  const Waits waits = word == "early" ? Waits::or_wake_early : Waits::until_signalled;
  Deviations deviations;
  std::size_t decision = 0;
  std::size_t choice = 0;
  for (char colon = 0; words >> decision >> colon >> choice;) deviations[decision] = choice;
  const Outcome outcome = replay(make, deviations, waits, Trace::yes);
  for (const std::string& step : outcome.trace) std::cout << "  " << step << '\n';
  EXPECT_EQ(outcome.failure, "");
  return true;
}

std::size_t length_factor() {
  const char* text = std::getenv("GLEAN_SCHEDULES");
  return text == nullptr ? 1 : std::max<std::size_t>(1, std::strtoull(text, nullptr, 10));
}

}  // namespace

void explore_all(const MakeScenario& make, Bounds bounds) {
  if (replayed_from_environment(make)) return;
  const std::size_t factor = length_factor();
  const int interruptions = bounds.interruptions + (factor > 1 ? 1 : 0);
  const std::size_t schedules_max = factor * 100'000;
  Search search(interruptions);
  std::size_t schedules = 0;
  std::size_t points = 0;
  bool more = true;
  for (; more && schedules < schedules_max; ++schedules) {
    const auto scenario = make();
    const Outcome outcome = run(*scenario, search, Waits::until_signalled, Trace::no);
    if (!outcome.failure.empty()) return report(make, search.deviations(), Waits::until_signalled);
    points = std::max(points, outcome.points);
    more = search.advance();
  }
  EXPECT_TRUE(!more || factor > 1) << "more than " << schedules << " schedules: give it a smaller bound";
  std::cout << schedules << " schedules, " << (more ? "some" : "all") << " with at most " << interruptions
            << " interruptions; up to " << points << " points where one can be\n";
}

void explore_at_random(const MakeScenario& make, std::size_t schedules) {
  if (replayed_from_environment(make)) return;
  schedules *= length_factor();
  std::size_t decisions = 0;
  std::size_t deaths = 0;
  for (std::size_t seed = 0; seed < schedules; ++seed) {
    const auto scenario = make();
    const Waits waits = seed % 2 == 0 ? Waits::until_signalled : Waits::or_wake_early;
    Random random(seed, decisions);
    const Outcome outcome = run(*scenario, random, waits, Trace::no);
    if (!outcome.failure.empty()) return report(make, random.deviations(), waits);
    decisions = outcome.died ? std::max(decisions, random.decisions()) : random.decisions();
    deaths += outcome.died ? 1 : 0;
  }
  std::cout << schedules << " random schedules, " << deaths << " with a death\n";
}

}  // namespace glean::schedule
