// SPDX-License-Identifier: BSD-3-Clause
//
// SimGrid, which others have written, as an oracle: random graphs of activities take as long there as in the fluid executor, to six digits.
// Latencies are zero and each byte takes one unit of each link, which is what both models have in common.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "simulate/fluid.hpp"
#include "simulate/random_work.hpp"

namespace glean::simulate {
namespace {

namespace sg = simgrid::s4u;

constexpr std::uint32_t works = 60;

Work comparable_work(std::uint32_t seed) {
  const Work random = test::random_work(seed, 6 + static_cast<int>(seed % 12));
  Work work;
  for (const Resource& each : random.resources()) work.add(each);
  for (Activity each : random.activities()) {
    for (Use& use : each.uses) use.units_per_byte = 1;
    if (each.uses.empty()) each.bytes = 0;   // nothing moves nowhere
    work.add(std::move(each));
  }
  return work;
}

// Each activity is an actor that waits for those before it, sleeps, and sends from a host to another one, over the links that it uses.
class InSimGrid {
 public:
  InSimGrid(sg::NetZone* zone, const Work& work, const std::string& name) : ends_(work.activities().size()) {
    std::vector<sg::Link*> links;
    for (std::size_t r = 0; r < work.resources().size(); ++r) {
      links.push_back(zone->create_link(fmt::format("{}.l{}", name, r), work.resources()[r].units_per_second)->set_latency(0)->seal());
    }
    for (std::size_t a = 0; a < work.activities().size(); ++a) done_.push_back(sg::Semaphore::create(0));
    std::vector<std::size_t> waiting(work.activities().size());   // for each activity
    for (const Activity& each : work.activities()) {
      for (const ActivityId before : each.after) ++waiting[before];
    }
    for (std::size_t a = 0; a < work.activities().size(); ++a) {
      const Activity& activity = work.activities()[a];
      sg::Host* from = zone->create_host(fmt::format("{}.f{}", name, a), 1)->seal();
      sg::Host* to = zone->create_host(fmt::format("{}.t{}", name, a), 1)->seal();
      std::vector<sg::LinkInRoute> route;
      for (const Use& use : activity.uses) route.emplace_back(links[use.resource]);
      if (activity.bytes_per_second_max < unlimited) {   // a link that it has for itself
        route.emplace_back(zone->create_link(fmt::format("{}.m{}", name, a), activity.bytes_per_second_max)->set_latency(0)->seal());
      }
      if (!route.empty()) zone->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, route, false);
      sg::Actor::create(fmt::format("{}.a{}", name, a), from, [this, a, activity, from, to, others = waiting[a]] {
        for (const ActivityId before : activity.after) done_[before]->acquire();
        if (activity.seconds > 0) sg::this_actor::sleep_for(activity.seconds);
        if (activity.bytes > 0) sg::Comm::sendto(from, to, static_cast<std::uint64_t>(activity.bytes));
        ends_[a] = sg::Engine::get_clock();
        for (std::size_t i = 0; i < others; ++i) done_[a]->release();
      });
    }
  }
  [[nodiscard]] const std::vector<double>& ends() const { return ends_; }

 private:
  std::vector<sg::SemaphorePtr> done_;
  std::vector<double> ends_;
};

// A process has one engine: all graphs are in it, beside each other, and share nothing.
TEST(SimGrid, FindsTheSameTimesAsTheFluidExecutor) {
  int count = 1;
  std::string program = "oracle";
  char* arguments[] = {program.data(), nullptr};
  sg::Engine engine(&count, arguments);
  for (const char* each : {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:0", "network/weight-S:0",
                           "surf/precision:1e-9", "maxmin/precision:1e-9"}) {
    sg::Engine::set_config(each);
  }
  sg::NetZone* zone = sg::create_full_zone("all");
  std::vector<Work> graphs;
  std::vector<std::unique_ptr<InSimGrid>> in_simgrid;
  for (std::uint32_t seed = 0; seed < works; ++seed) graphs.push_back(comparable_work(seed));
  for (std::uint32_t seed = 0; seed < works; ++seed) {
    in_simgrid.push_back(std::make_unique<InSimGrid>(zone, graphs[seed], fmt::format("w{}", seed)));
  }
  zone->seal();

  engine.run();

  for (std::uint32_t seed = 0; seed < works; ++seed) {
    const Timeline timeline = run_fluid(graphs[seed]);
    double makespan = 0;
    for (const double each : in_simgrid[seed]->ends()) makespan = std::max(makespan, each);
    EXPECT_NEAR(timeline.end(), makespan, 1e-6 * makespan) << "graph " << seed;
    for (std::size_t a = 0; a < timeline.spans.size(); ++a) {
      EXPECT_NEAR(timeline.spans[a].end, in_simgrid[seed]->ends()[a], 1e-6 * makespan) << "graph " << seed << ", activity " << a;
    }
  }
}

}  // namespace
}  // namespace glean::simulate
