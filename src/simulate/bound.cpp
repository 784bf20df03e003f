// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/bound.hpp"

#include <algorithm>

namespace glean::simulate {
namespace {

// What the busiest resource has to do for `last` and all that has to end before.
double busiest_seconds(const Work& work, ActivityId last) {
  std::vector<char> counted(last + 1, 0);
  std::vector<double> units(work.resources().size(), 0);
  counted[last] = 1;
  for (ActivityId each = last + 1; each-- > 0;) {
    if (counted[each] == 0) continue;
    const Activity& activity = work.activities()[each];
    for (const Use& use : activity.uses) units[use.resource] += use.units_per_byte * activity.bytes;
    for (const ActivityId before : activity.after) counted[before] = 1;
  }
  double most = 0;
  for (ResourceId each = 0; each < units.size(); ++each) {
    most = std::max(most, units[each] / work.resources()[each].units_per_second);
  }
  return most;
}

}  // namespace

double seconds_alone(const Work& work, const Activity& activity) {
  double rate = activity.bytes_per_second_max;
  for (const Use& use : activity.uses) rate = std::min(rate, work.resources()[use.resource].units_per_second / use.units_per_byte);
  return activity.seconds + (activity.bytes > 0 ? activity.bytes / rate : 0);
}

Timeline run_bound(const Work& work) {
  Timeline timeline;
  timeline.spans.resize(work.activities().size());
  timeline.served.resize(work.resources().size());
  for (ActivityId each = 0; each < work.activities().size(); ++each) {
    const Activity& activity = work.activities()[each];
    Timeline::Span& span = timeline.spans[each];
    for (const ActivityId before : activity.after) span.begin = std::max(span.begin, timeline.spans[before].end);
    span.end = std::max(span.begin + seconds_alone(work, activity), busiest_seconds(work, each));
    for (const Use& use : activity.uses) timeline.served[use.resource] += use.units_per_byte * activity.bytes;
  }
  return timeline;
}

}  // namespace glean::simulate
