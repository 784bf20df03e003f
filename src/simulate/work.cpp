// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace glean::simulate {

ResourceId Work::add(Resource resource) {
  if (!(resource.units_per_second > 0)) {
    throw base::Error(base::Errc::invalid_argument, fmt::format("the rate of {} is {}", resource.name, resource.units_per_second),
                      "a resource that is not there is left out");
  }
  resources_.push_back(std::move(resource));
  return resources_.size() - 1;
}

ActivityId Work::add(Activity activity) {
  const auto refuse = [&](std::string_view what) {
    throw base::Error(base::Errc::invalid_argument, fmt::format("activity {} ({}): {}", activities_.size(), activity.name, what), "");
  };
  if (!(activity.seconds >= 0) || !(activity.bytes >= 0)) refuse("seconds and bytes cannot be negative");
  if (!(activity.bytes_per_second_max > 0)) refuse("its greatest rate is not positive");
  for (const Use& use : activity.uses) {
    if (use.resource >= resources_.size()) refuse("there is no such resource");
    if (!(use.units_per_byte >= 0)) refuse("it cannot use less than nothing");
  }
  for (const ActivityId before : activity.after) {
    if (before >= activities_.size()) refuse("what it comes after has to be added before it");
  }
  std::erase_if(activity.uses, [](const Use& use) { return use.units_per_byte == 0; });
  activities_.push_back(std::move(activity));
  return activities_.size() - 1;
}

double Timeline::end() const {
  double last = 0;
  for (const Span& span : spans) last = std::max(last, span.end);
  return last;
}

}  // namespace glean::simulate
