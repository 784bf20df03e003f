// SPDX-License-Identifier: BSD-3-Clause
//
// What has to be done and what it takes: activities that depend on each other, and the resources that they share. A strategy turns a
// plan and a machine into a Work; executors turn a Work into times.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace glean::simulate {

using ResourceId = std::size_t;
using ActivityId = std::size_t;

// Has so many units in a second: bytes, of a link; seconds of work, of a server that does one thing after the other (1) or several (n).
struct Resource {
  std::string name;            // alike resources of alike groups have one name: "I/O node", "torus link"
  double units_per_second = 0;
};

// What each byte of a flow takes of a resource. Flows that are alike are one activity: with n of them the resource that they share
// has n units for each byte of one.
struct Use {
  ResourceId resource = 0;
  double units_per_byte = 1;
};

inline constexpr double unlimited = std::numeric_limits<double>::infinity();

// Begins when all of `after` have ended. First `seconds` pass, whatever else is going on; then `bytes` move.
struct Activity {
  std::string name;            // what it is part of: "gather", "forward"
  double seconds = 0;
  double bytes = 0;            // of one flow
  double bytes_per_second_max = unlimited;   // of one flow, however idle the resources are
  std::vector<Use> uses{};
  std::vector<ActivityId> after{};
};

class Work {
 public:
  // Throws invalid_argument where the rate is not positive.
  ResourceId add(Resource resource);
  // Throws invalid_argument where a figure is negative, a resource is none, or an activity of `after` has not been added before: so
  // that there are no cycles.
  ActivityId add(Activity activity);

  [[nodiscard]] const std::vector<Resource>& resources() const { return resources_; }
  [[nodiscard]] const std::vector<Activity>& activities() const { return activities_; }

 private:
  std::vector<Resource> resources_;
  std::vector<Activity> activities_;
};

// What held an activity back, and for how long.
struct Held {
  static constexpr ResourceId by_itself = static_cast<ResourceId>(-1);   // its own greatest rate, or its fixed seconds
  ResourceId resource = by_itself;
  double seconds = 0;
};

// When each activity of a Work began and ended.
struct Timeline {
  struct Span {
    double begin = 0, end = 0;
    std::vector<Held> held{};      // sums up to the length, by executors that know it
  };
  std::vector<Span> spans;         // by ActivityId
  std::vector<double> served;      // units, by ResourceId
  [[nodiscard]] double end() const;
};

}  // namespace glean::simulate
