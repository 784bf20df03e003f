// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/fluid.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <utility>

namespace glean::simulate {
namespace {

// What is nearer than that is one event, or one filling: figures that are equal on paper differ by rounding.
constexpr double rounding = 1e-9;

class Fluid {
 public:
  explicit Fluid(const Work& work)
      : work_(work), waits_for_(work.activities().size()), successors_(work.activities().size()), held_(work.activities().size()),
        free_(work.resources().size()), growing_units_(work.resources().size()) {
    timeline_.spans.resize(work.activities().size());
    timeline_.served.resize(work.resources().size());
    for (ActivityId each = 0; each < work.activities().size(); ++each) {
      waits_for_[each] = work.activities()[each].after.size();
      for (const ActivityId before : work.activities()[each].after) successors_[before].push_back(each);
    }
  }

  Timeline run() {
    std::vector<ActivityId> first;   // what these begin is begun by their ends
    for (ActivityId each = 0; each < waits_for_.size(); ++each) {
      if (waits_for_[each] == 0) first.push_back(each);
    }
    for (const ActivityId each : first) begin(each);
    while (!timers_.empty() || !moving_.empty()) {
      if (changed_) share();
      changed_ = false;
      step();
    }
    for (ActivityId each = 0; each < held_.size(); ++each) {
      for (const auto& [resource, seconds] : held_[each]) timeline_.spans[each].held.push_back({resource, seconds});
    }
    return std::move(timeline_);
  }

 private:
  struct Flow {
    ActivityId activity = 0;
    double left = 0;                          // bytes
    double rate = 0;
    ResourceId held_by = Held::by_itself;
    bool growing = false;
  };

  void begin(ActivityId each) {
    const Activity& activity = work_.activities()[each];
    timeline_.spans[each].begin = now_;
    if (activity.seconds > 0) {
      held_[each][Held::by_itself] += activity.seconds;
      timers_.emplace(now_ + activity.seconds, each);
    } else {
      move(each);
    }
  }

  // What has no bytes, and what nothing holds, ends at once.
  void move(ActivityId each) {
    const Activity& activity = work_.activities()[each];
    if (activity.bytes > 0 && (!activity.uses.empty() || activity.bytes_per_second_max < unlimited)) {
      moving_.push_back({.activity = each, .left = activity.bytes});
      changed_ = true;
    } else {
      end(each);
    }
  }

  void end(ActivityId ended) {
    // A list instead of recursion: chains of milestones can be long.
    timeline_.spans[ended].end = now_;
    for (const Use& use : work_.activities()[ended].uses) {
      timeline_.served[use.resource] += use.units_per_byte * work_.activities()[ended].bytes;
    }
    for (const ActivityId next : successors_[ended]) {
      if (--waits_for_[next] == 0) ready_.push_back(next);
    }
    if (ending_) return;
    ending_ = true;
    while (!ready_.empty()) {
      const ActivityId next = ready_.back();
      ready_.pop_back();
      begin(next);
    }
    ending_ = false;
  }

  void step() {
    double next = unlimited;
    if (!timers_.empty()) next = timers_.top().first - now_;
    for (const Flow& flow : moving_) next = std::min(next, flow.left / flow.rate);
    std::vector<ActivityId> ended;
    for (Flow& flow : moving_) {
      const bool ends = flow.left / flow.rate <= next * (1 + rounding);
      held_[flow.activity][flow.held_by] += next;
      flow.left -= flow.rate * next;
      if (ends) {
        flow.left = 0;
        ended.push_back(flow.activity);
      }
    }
    now_ += next;
    if (!ended.empty()) changed_ = true;
    std::erase_if(moving_, [](const Flow& flow) { return flow.left == 0; });
    for (const ActivityId each : ended) end(each);
    while (!timers_.empty() && timers_.top().first <= now_) {
      const ActivityId each = timers_.top().second;
      timers_.pop();
      move(each);
    }
  }

  void share() {
    for (ResourceId each = 0; each < free_.size(); ++each) free_[each] = work_.resources()[each].units_per_second;
    for (Flow& flow : moving_) flow.growing = true;
    double level = 0;
    for (std::size_t left = moving_.size(); left > 0;) left -= fill(level);
  }

  // One filling, up from `level`; how many flows have their rates after it. What grows is summed up anew: to subtract what does not any
  // more would leave roundings that are larger than the smallest flows.
  std::size_t fill(double& level) {
    std::fill(growing_units_.begin(), growing_units_.end(), 0);
    double next = unlimited;
    for (const Flow& flow : moving_) {
      if (!flow.growing) continue;
      next = std::min(next, work_.activities()[flow.activity].bytes_per_second_max);
      for (const Use& use : uses_of(flow)) growing_units_[use.resource] += use.units_per_byte;
    }
    for (ResourceId each = 0; each < free_.size(); ++each) {
      if (growing_units_[each] > 0) next = std::min(next, level_of(each));
    }
    level = std::max(level, next);
    std::vector<Flow*> held;
    for (Flow& flow : moving_) {
      if (flow.growing && is_held(flow, level * (1 + rounding))) held.push_back(&flow);
    }
    for (Flow* flow : held) {
      flow->growing = false;
      flow->rate = level;
      for (const Use& use : uses_of(*flow)) {
        free_[use.resource] = std::max(0.0, free_[use.resource] - level * use.units_per_byte);
      }
    }
    return held.size();
  }

  bool is_held(Flow& flow, double level) {
    for (const Use& use : uses_of(flow)) {
      if (level_of(use.resource) > level) continue;
      flow.held_by = use.resource;
      return true;
    }
    flow.held_by = Held::by_itself;
    return work_.activities()[flow.activity].bytes_per_second_max <= level;
  }

  [[nodiscard]] double level_of(ResourceId each) const { return free_[each] / growing_units_[each]; }
  [[nodiscard]] const std::vector<Use>& uses_of(const Flow& flow) const { return work_.activities()[flow.activity].uses; }

  const Work& work_;
  Timeline timeline_;
  double now_ = 0;
  bool changed_ = false, ending_ = false;
  std::vector<std::size_t> waits_for_;
  std::vector<std::vector<ActivityId>> successors_;
  std::vector<std::map<ResourceId, double>> held_;
  std::vector<ActivityId> ready_;
  using Timer = std::pair<double, ActivityId>;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  std::vector<Flow> moving_;
  std::vector<double> free_, growing_units_;   // by resource
};

}  // namespace

Timeline run_fluid(const Work& work) { return Fluid(work).run(); }

}  // namespace glean::simulate
