// SPDX-License-Identifier: BSD-3-Clause
#include "cli/plan_json.hpp"

#include "plan/explain.hpp"

namespace glean::cli {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const plan::Alternative& each) {
  const plan::Cost& cost = each.cost;
  return {{"aggregators_per_group", each.aggregators},
          {"files", each.files},
          {"verdict", plan::name_of(each.verdict)},
          {"bytes_per_aggregator", each.bytes_per_aggregator},
          {"window_bytes", each.window_bytes},
          {"seconds",
           {{"gather_messages", cost.gather_messages},
            {"gather_links", cost.gather_links},
            {"gather_copy", cost.gather_copy},
            {"exchange", cost.exchange},
            {"forward_messages", cost.forward_messages},
            {"forward_bytes", cost.forward_bytes},
            {"store_bytes", cost.store_bytes},
            {"store_requests", cost.store_requests},
            {"create", cost.create},
            {"total", cost.total}}}};
}

ordered_json to_json(const plan::Plan::Alike& alike) {
  ordered_json json{{"count", alike.count()}, {"groups", ordered_json::array()}, {"rounds", alike.shape.rounds}};
  for (const plan::Plan::Run& run : alike.groups) json["groups"].push_back({{"first", run.first}, {"count", run.count}});
  json["aggregators"] = ordered_json::array();
  for (const auto& each : alike.shape.aggregators) {
    json["aggregators"].push_back({{"position", each.position},
                                   {"gateway", each.gateway < 0 ? ordered_json() : ordered_json(each.gateway)},
                                   {"reassigned", each.reassigned},
                                   {"bytes", each.bytes}});
  }
  json["nodes"] = ordered_json::array();
  for (const auto& each : alike.shape.members) {
    json["nodes"].push_back({{"position", each.position},
                             {"aggregator", each.aggregator < 0 ? ordered_json() : ordered_json(each.aggregator)},
                             {"bytes", each.bytes}});
  }
  return json;
}

}  // namespace

ordered_json to_json(const topology::Machine& machine, const topology::Placement& placement, const plan::Request& request,
                     const plan::Plan& plan) {
  ordered_json json{{"machine", machine.name},
                    {"ranks", plan::ranks_in(placement)},
                    {"nodes", plan.nodes()},
                    {"bytes", plan.bytes},
                    {"pattern", plan::name_of(request.pattern)},
                    {"variables", request.variables},
                    {"to", plan::name_of(request.sink)},
                    {"groups", plan.groups},
                    {"aggregators", plan.aggregators()},
                    {"files", plan.files},
                    {"chosen", to_json(plan.choice.best())},
                    {"alike", ordered_json::array()},
                    {"alternatives", ordered_json::array()},
                    {"why", plan::reason(plan.choice)}};
  for (const plan::Plan::Alike& each : plan.alike) json["alike"].push_back(to_json(each));
  for (const plan::Alternative& each : plan.choice.alternatives) json["alternatives"].push_back(to_json(each));
  return json;
}

}  // namespace glean::cli
