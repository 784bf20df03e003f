// SPDX-License-Identifier: BSD-3-Clause
#include "plan/explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/units.hpp"

namespace glean::plan {
namespace {

using base::readable_bytes;

std::string counted(std::int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string readable_seconds(double seconds) {
  return seconds < 1 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.3g} s", seconds);
}

// Three digits that count, never an exponent.
std::string cell(double milliseconds) {
  if (milliseconds == 0) return "0";
  const int decimals = milliseconds >= 100 ? 0 : milliseconds >= 10 ? 1 : milliseconds >= 1 ? 2 : milliseconds >= 0.1 ? 3 : 4;
  return fmt::format("{:.{}f}", milliseconds, decimals);
}

std::string groups_of(const Plan::Alike& alike) {
  constexpr std::size_t shown = 6;
  std::vector<std::string> runs;
  for (const Plan::Run& run : alike.groups) {
    if (runs.size() == shown) {
      runs.emplace_back("…");
      break;
    }
    runs.push_back(run.count == 1 ? fmt::format("{}", run.first) : fmt::format("{}-{}", run.first, run.first + run.count - 1));
  }
  return fmt::format("{}", fmt::join(runs, ", "));
}

Bytes bytes_of(const GroupShape& shape) {
  Bytes sum = 0;
  for (const GroupShape::Member& each : shape.members) sum += each.bytes;
  return sum;
}

std::string describe(const topology::Machine& machine, const Plan::Alike& alike) {
  const GroupShape& shape = alike.shape;
  std::string text = fmt::format("\n{} {}: {}, {}{}\n", alike.count() == 1 ? "group" : "groups", groups_of(alike),
                                 counted(static_cast<std::int64_t>(shape.members.size()), "node"), readable_bytes(bytes_of(shape)),
                                 alike.count() == 1 ? "" : " each");
  if (shape.aggregators.empty()) return text + "  nothing to write, no aggregator\n";
  const GroupId example = alike.groups.front().first;
  for (std::size_t i = 0; i < shape.aggregators.size(); ++i) {
    const GroupShape::Aggregator& each = shape.aggregators[i];
    const auto nodes = std::count_if(shape.members.begin(), shape.members.end(),
                                     [&](const GroupShape::Member& member) { return member.aggregator == static_cast<int>(i); });
    const NodeId node = machine.node_in_group(example, each.position);
    const char* how = each.reassigned ? "reassigned to" : "leaves through";
    const std::string way = each.gateway >= 0 ? fmt::format(", {} {}", how, each.gateway) : "";
    text += fmt::format("  aggregator {} at {} ({}): of {}, {}{}\n", i, each.position, fmt::join(machine.coordinates(node), ","),
                        counted(nodes, "node"), readable_bytes(each.bytes), way);
  }
  if (shape.rounds > 1) text += fmt::format("  memory is short: in {} rounds\n", shape.rounds);
  return text;
}

struct Column {
  const char* name;
  double Cost::*seconds;
};
constexpr std::array<Column, 9> columns{{{"messages", &Cost::gather_messages},
                                         {"links", &Cost::gather_links},
                                         {"copy", &Cost::gather_copy},
                                         {"exchange", &Cost::exchange},
                                         {"messages", &Cost::forward_messages},
                                         {"bytes", &Cost::forward_bytes},
                                         {"bytes", &Cost::store_bytes},
                                         {"requests", &Cost::store_requests},
                                         {"files", &Cost::create}}};

std::string row(const Choice& choice, std::size_t index) {
  const Alternative& each = choice.alternatives[index];
  std::string text = fmt::format("{} {:>11} {:>6} {:>10}", index == choice.chosen ? '*' : ' ', each.aggregators,
                                 each.files == 0 ? "-" : fmt::format("{}", each.files), readable_bytes(each.bytes_per_aggregator));
  for (const Column& column : columns) text += fmt::format(" {:>8}", cell(each.cost.*column.seconds * 1e3));
  text += fmt::format(" {:>8}", cell(each.cost.total * 1e3));
  return text + (each.verdict == Verdict::possible ? "" : fmt::format("  {}", name_of(each.verdict))) + '\n';
}

// For each number of aggregators the alternative that takes the least.
std::vector<std::size_t> best_of_each_number(const Choice& choice) {
  std::vector<std::size_t> best;
  for (std::size_t i = 0; i < choice.alternatives.size(); ++i) {
    const Alternative& each = choice.alternatives[i];
    if (best.empty() || choice.alternatives[best.back()].aggregators != each.aggregators) best.push_back(i);
    else if (each.cost.total < choice.alternatives[best.back()].cost.total) best.back() = i;
    if (each.aggregators == choice.best().aggregators) best.back() = choice.chosen;
  }
  return best;
}

std::pair<const char*, double> longest_stage(const Cost& cost) {
  const std::pair<const char*, double> stages[] = {
      {"gathering", cost.gather()}, {"forwarding", cost.forward()}, {"storing", cost.store()}, {"creating files", cost.create}};
  return *std::max_element(std::begin(stages), std::end(stages), [](const auto& a, const auto& b) { return a.second < b.second; });
}

}  // namespace

const char* name_of(Pattern pattern) {
  constexpr std::array names{"contiguous", "flash", "s3d"};
  return names[static_cast<std::size_t>(pattern)];
}

const char* name_of(Sink sink) { return sink == Sink::storage ? "storage" : "stagers"; }

const char* name_of(Verdict verdict) {
  constexpr std::array names{"possible", "less than a block each", "too much memory"};
  return names[static_cast<std::size_t>(verdict)];
}

std::string summary(const topology::Machine& machine, const topology::Placement& placement, const Request& request,
                    const Plan& plan) {
  const Alternative& best = plan.choice.best();
  std::string text = fmt::format("{}: {} on {}, {} in all, {}, {}, to {}\n", machine.name, counted(ranks_in(placement), "rank"),
                                 counted(plan.nodes(), "node"), readable_bytes(plan.bytes), name_of(request.pattern),
                                 counted(request.variables, "variable"), name_of(request.sink));
  text += fmt::format("{}, {} in all", counted(plan.groups, "I/O group"), counted(plan.aggregators(), "aggregator"));
  if (plan.files > 0) text += fmt::format("; {}, windows of {}", counted(plan.files, "file"), readable_bytes(best.window_bytes));
  text += fmt::format("\npredicted: gathered after {}, done after {}", readable_seconds(best.cost.gather()),
                      readable_seconds(best.cost.total));
  if (best.cost.total > 0) {
    text += fmt::format(", {}/s", readable_bytes(static_cast<Bytes>(static_cast<double>(plan.bytes) / best.cost.total)));
  }
  text += '\n';
  for (const Plan::Alike& alike : plan.alike) text += describe(machine, alike);
  return text;
}

std::string reason(const Choice& choice) {
  const Alternative& best = choice.best();
  const auto [stage, seconds] = longest_stage(best.cost);
  std::string text = fmt::format("{} a group{}: {} takes longest, {} of {}\n", counted(best.aggregators, "aggregator"),
                                 best.files > 0 ? ", " + counted(best.files, "file") : "", stage, readable_seconds(seconds),
                                 readable_seconds(best.cost.total));
  std::vector<std::string> near;
  for (const std::size_t i : best_of_each_number(choice)) {
    const Alternative& each = choice.alternatives[i];
    if (i == choice.chosen) continue;
    const std::string what = each.files != best.files ? fmt::format("{} with {}", each.aggregators, counted(each.files, "file"))
                                                      : fmt::format("{}", each.aggregators);
    const double slower = best.cost.total > 0 ? each.cost.total / best.cost.total - 1 : 0;
    if (each.verdict == Verdict::too_much_memory) {
      text += fmt::format("{}: would have to hold {}, may {}\n", what, readable_bytes(each.bytes_per_aggregator),
                          readable_bytes(choice.memory_bytes));
    } else if (each.verdict == Verdict::too_little_each) {
      text += fmt::format("{}: not a whole block of the file for each\n", what);
    } else if (slower <= margin) {
      near.push_back(what);
    } else {
      text += fmt::format("{}: {:+.0f} %, {} takes {}\n", what, slower * 100, longest_stage(each.cost).first,
                          readable_seconds(longest_stage(each.cost).second));
    }
  }
  if (!near.empty()) {
    text += fmt::format("{}: less than {:.0f} % from the fastest as well; fewer files, then fewer aggregators go before\n",
                        fmt::join(near, ", "), margin * 100);
  }
  return text;
}

std::string explain(const Choice& choice) {
  std::string text = fmt::format("weighed for group {}, which has {}; times in ms; * is chosen\n", choice.group,
                                 readable_bytes(choice.group_bytes));
  text += fmt::format("{:31} {:-^35} {:-^17} {:-^17}\n", "", " gather ", " forward ", " store ");
  text += fmt::format("  {:>11} {:>6} {:>10}", "aggregators", "files", "each has");
  for (const Column& column : columns) text += fmt::format(" {:>8}", column.name);
  text += fmt::format(" {:>8}\n", "total");
  for (const std::size_t i : best_of_each_number(choice)) text += row(choice, i);
  // Other numbers of files for the chosen number of aggregators follow.
  bool first = true;
  for (std::size_t i = 0; i < choice.alternatives.size(); ++i) {
    if (choice.alternatives[i].aggregators != choice.best().aggregators || i == choice.chosen) continue;
    if (std::exchange(first, false)) text += "  with other numbers of files\n";
    text += row(choice, i);
  }
  return text + "why\n" + reason(choice);
}

std::string to_dot(const topology::Machine& machine, const GroupPlan& plan) {
  constexpr std::array colours{"#8dd3c7", "#ffffb3", "#bebada", "#fb8072", "#80b1d3", "#fdb462", "#b3de69", "#fccde5"};
  std::string text = fmt::format("digraph group_{0} {{\n  label=\"{1}, I/O group {0}\";\n  rankdir=LR;\n", plan.group, machine.name);
  text += "  node [shape=box, style=filled];\n";
  std::vector<NodeId> gateways;
  const std::vector<GroupShape::Aggregator>& aggregators = plan.shape.aggregators;
  for (const GroupShape::Member& each : plan.shape.members) {
    const NodeId node = machine.node_in_group(plan.group, each.position);
    const bool aggregates = each.aggregator >= 0 && aggregators[static_cast<std::size_t>(each.aggregator)].position == each.position;
    text += fmt::format("  n{} [label=\"{}\\n({})\", fillcolor=\"{}\"{}];\n", each.position, node,
                        fmt::join(machine.coordinates(node), ","),
                        each.aggregator < 0 ? "white" : colours[static_cast<std::size_t>(each.aggregator) % colours.size()],
                        aggregates ? ", penwidth=3" : "");
    if (each.aggregator >= 0 && !aggregates) {
      text += fmt::format("  n{} -> n{};\n", each.position, aggregators[static_cast<std::size_t>(each.aggregator)].position);
    }
  }
  for (const GroupShape::Aggregator& each : aggregators) {
    text += fmt::format("  n{} -> g{} [label=\"{}\"];\n", each.position, each.gateway + 1, readable_bytes(each.bytes));
    if (std::find(gateways.begin(), gateways.end(), each.gateway) == gateways.end()) gateways.push_back(each.gateway);
  }
  for (const NodeId gateway : gateways) {
    text += fmt::format("  g{} [label=\"{}\", shape=ellipse, fillcolor=lightgrey];\n", gateway + 1,
                        gateway < 0 ? "way out" : fmt::format("gateway {}", machine.node_in_group(plan.group, gateway)));
  }
  return text + "}\n";
}

}  // namespace glean::plan
