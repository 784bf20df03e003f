// SPDX-License-Identifier: BSD-3-Clause
#include "plan/request.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "base/error.hpp"
#include "plan/group_load.hpp"

namespace glean::plan {
namespace {

constexpr Bytes memory_share = 16;
constexpr Bytes unit_where_unknown = 4 * base::KiB;   // a page
constexpr Bytes bytes_max = Bytes{1} << 62;   // of a file

// Cannot overflow: numbers of ranks and bytes that are too large are refused before they are multiplied.
bool too_much(std::int64_t ranks, Bytes bytes_each) {
  return bytes_each != 0 && static_cast<Bytes>(ranks) > bytes_max / bytes_each;
}

// Of ranks that write something else. `end`: the first rank behind those of the exceptions before it.
std::string flaw_of(const RankRun& run, std::int64_t end, std::int64_t ranks) {
  if (run.count < 1) return fmt::format("an exception from rank {} on has no ranks", run.first);
  const std::int64_t last = run.first + run.count - 1;
  const std::string those = run.count == 1 ? fmt::format("rank {}", last) : fmt::format("ranks {} to {}", run.first, last);
  if (run.count > ranks - run.first) return fmt::format("an exception for {}, and the ranks are 0 to {}", those, ranks - 1);
  if (run.first >= end) return {};
  return fmt::format("an exception for {} comes behind one that goes to rank {}: they ascend and are disjoint", those, end - 1);
}

void verify_request(const topology::Placement& placement, const Request& request, std::vector<std::string>& problems) {
  if (request.variables < 1) problems.push_back(fmt::format("{} variables: there must be one at least", request.variables));
  if (request.files < 0) problems.push_back(fmt::format("{} files", request.files));
  bool large = too_much(ranks_in(placement), request.bytes_per_rank);
  std::int64_t end = 0;
  for (const RankRun& run : request.exceptions) {
    const std::string flaw = flaw_of(run, end, ranks_in(placement));
    if (!flaw.empty()) {
      problems.push_back(flaw);
      return;
    }
    end = run.first + run.count;
    large = large || too_much(run.count, run.bytes_each);
  }
  if (large || request.bytes_before(ranks_in(placement)) > bytes_max) problems.emplace_back("more bytes than a file can have");
}

void verify_limits(const Limits& limits, std::vector<std::string>& problems) {
  if (limits.aggregators_min < 1 || limits.aggregators_max < limits.aggregators_min) {
    problems.push_back(fmt::format("from {} to {} aggregators in a group", limits.aggregators_min, limits.aggregators_max));
  }
  if (limits.request_bytes == 0 || limits.piece_bytes == 0) problems.emplace_back("requests and pieces have a byte at least");
  if (limits.request_bytes > bytes_max) problems.emplace_back("requests of more bytes than a file can have");
}

}  // namespace

Bytes Request::bytes_of(std::int64_t rank) const {
  for (const RankRun& run : exceptions) {
    if (rank >= run.first && rank < run.first + run.count) return run.bytes_each;
  }
  return bytes_per_rank;
}

Bytes Request::bytes_before(std::int64_t rank) const {
  Bytes bytes = 0;
  std::int64_t usual = rank;
  for (const RankRun& run : exceptions) {
    const std::int64_t ranks = std::clamp<std::int64_t>(rank - run.first, 0, run.count);
    usual -= ranks;
    bytes += static_cast<Bytes>(ranks) * run.bytes_each;
  }
  return bytes + static_cast<Bytes>(usual) * bytes_per_rank;
}

Bytes Limits::aggregator_memory_bytes(const topology::Machine& machine) const {
  return memory_bytes != 0 ? memory_bytes : machine.node.memory_bytes / memory_share;
}

Bytes Limits::window_bytes(const topology::FileSystem& file_system, Bytes share_bytes) const {
  const Bytes unit = unit_bytes(file_system);
  return std::clamp(base::align_down(share_bytes, unit), unit, base::align_up(request_bytes, unit));
}

std::int64_t ranks_in(const topology::Placement& placement) {
  return placement.listed.empty() ? placement.ranks : static_cast<std::int64_t>(placement.listed.size());
}

Bytes unit_bytes(const topology::FileSystem& file_system) {
  const Bytes block = file_system.block_bytes, stripe = file_system.stripe_bytes;
  if (block == 0 && stripe == 0) return unit_where_unknown;
  return block == 0 ? stripe : stripe == 0 ? block : std::lcm(block, stripe);
}

void verify(const topology::Machine& machine, const topology::Placement& placement, const Request& request, const Limits& limits) {
  std::vector<std::string> problems;
  if (placement.listed.empty() && (placement.ranks < 1 || placement.ranks_per_node < 1)) {
    problems.push_back(fmt::format("{} ranks, {} on a node", placement.ranks, placement.ranks_per_node));
  } else if (!placement.listed.empty() && *std::min_element(placement.listed.begin(), placement.listed.end()) < 0) {
    problems.emplace_back("a rank is on a node with a negative number");
  } else if (placement.nodes() > machine.nodes()) {
    problems.push_back(fmt::format("{} ranks need {} nodes, {} has {}", ranks_in(placement), placement.nodes(), machine.name,
                                   machine.nodes()));
  } else {
    verify_request(placement, request, problems);
    const std::int64_t groups = GroupsInUse(machine, placement).count();
    if (request.files > groups) {
      problems.push_back(fmt::format("{} files: the ranks are in {} I/O groups, and a group writes to one file", request.files, groups));
    }
  }
  verify_limits(limits, problems);
  if (problems.empty()) return;
  throw base::Error(base::Errc::invalid_argument, fmt::format("this cannot be planned: {}", fmt::join(problems, "; ")));
}

}  // namespace glean::plan
