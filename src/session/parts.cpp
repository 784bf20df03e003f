// SPDX-License-Identifier: BSD-3-Clause
#include "session/parts.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <map>
#include <span>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "plan/group_load.hpp"
#include "session/agreement.hpp"
#include "session/file_plans.hpp"
#include "topology/text.hpp"

namespace glean::session {
namespace {

std::vector<std::uint64_t> encode(const Blocks& blocks) {
  std::vector<std::uint64_t> words = {0, blocks.size()};
  for (const auto& boxes : blocks) {
    words.push_back(boxes.size());
    for (const mesh::Box& box : boxes) {
      words.push_back(box.start.size());
      words.insert(words.end(), box.start.begin(), box.start.end());
      words.insert(words.end(), box.count.begin(), box.count.end());
    }
  }
  words.front() = words.size();
  return words;
}

Blocks decode(std::span<const std::uint64_t> words) {
  Blocks blocks(words[1]);
  const std::uint64_t* at = words.data() + 2;
  for (auto& boxes : blocks) {
    boxes.resize(*at++);
    for (mesh::Box& box : boxes) {
      const std::uint64_t dimensions = *at++;
      box.start.assign(at, at + dimensions);
      box.count.assign(at + dimensions, at + 2 * dimensions);
      at += 2 * dimensions;
    }
  }
  return blocks;
}

bool are_of_the_same_shape(const std::vector<mesh::Box>& some, const std::vector<mesh::Box>& others) {
  return some.empty() || others.empty() || some.front().start.size() == others.front().start.size();
}

}  // namespace

Parts divide_into_parts(MPI_Comm comm, const Nodes& nodes, const base::Settings& settings) {
  std::map<std::string, std::string> texts;
  struct Count {
    int files;
  };
  const auto count = on_root<Count>(comm, [&](Count& value) {
    const topology::Machine machine = machine_of(settings, nodes.count());
    const std::int64_t groups = plan::GroupsInUse(machine, {.ranks = nodes.count(), .ranks_per_node = 1}).count();
    value.files = settings.plan.files == 0 ? static_cast<int>(groups) : settings.plan.files;
    if (value.files > groups) {
      throw base::Error(base::Errc::invalid_config,
                        fmt::format("plan.files = {}, and the session's {} {} in {} I/O {}", value.files, nodes.count(),
                                    nodes.count() == 1 ? "node is" : "nodes are", groups, groups == 1 ? "group" : "groups"),
                        "plan.files = \"group\" makes as many files as there are groups");
    }
    texts = {{"machine", topology::to_toml(machine)},
             {"session", fmt::format("session {} of user {} at {}", getpid(), getuid(), base::realtime_ns())}};
  });
  if (count.files == 1) return {};
  texts = from_root(comm, texts);
  Parts parts;
  parts.count = count.files;
  parts.session = texts["session"];
  parts.machine = topology::machine_from_toml(texts["machine"], "machine of the session");
  const plan::GroupsInUse groups(parts.machine, {.ranks = nodes.count(), .ranks_per_node = 1});
  const auto part_of = [&](topology::NodeId node) {
    return static_cast<int>(groups.index_of(parts.machine.group_of(node)) * parts.count / groups.count());
  };
  parts.self = part_of(nodes.self());
  for (topology::NodeId node = 0; node < nodes.count(); ++node) {
    if (part_of(node) == parts.self) parts.nodes.push_back(node);
  }
  return parts;
}

Blocks gather_blocks(MPI_Comm comm, const Blocks& mine) {
  const std::vector<std::uint64_t> words = gather(comm, encode(mine));
  Blocks all(words.empty() ? 0 : mine.size());
  for (std::size_t at = 0; at < words.size(); at += words[at]) {
    Blocks its = decode(std::span(words).subspan(at, words[at]));
    if (its.size() != all.size()) continue;
    for (std::size_t v = 0; v < all.size(); ++v) {
      if (are_of_the_same_shape(all[v], its[v])) all[v].insert(all[v].end(), its[v].begin(), its[v].end());
    }
  }
  for (auto& boxes : all) boxes = mesh::merged(std::move(boxes));
  return all;
}

}  // namespace glean::session
