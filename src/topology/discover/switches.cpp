// SPDX-License-Identifier: BSD-3-Clause
#include "topology/discover/switches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "topology/discover/host_list.hpp"

namespace glean::topology {
namespace {

struct Switch {
  std::vector<std::string> nodes{};
  std::vector<std::string> switches{};
};

// In the order of the file, which is the order of their numbers.
struct Switches {
  std::vector<std::string> names{};
  std::map<std::string, Switch> by_name{};
};

// A switch with hosts of the job below it. Height 0: hosts; higher: switches.
struct Branch {
  std::size_t height = 0;
  std::vector<Branch> children{};
  std::vector<std::size_t> hosts{};
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

[[noreturn]] void refuse(std::size_t line, const std::string& what) {
  throw base::Error(base::Errc::invalid_config, fmt::format("topology.conf:{}: {}", line, what));
}

void read_line(const std::string& text, std::size_t line, Switches& switches) {
  std::istringstream words(text);
  std::string name;
  Switch found;
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    const std::string key = lower(word.substr(0, equals));
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (key == "switchname") {
      name = value;
    } else if (key == "nodes" || key == "switches") {
      const auto names = expand_host_list(value);
      if (!names) refuse(line, fmt::format("'{}' is no list of names", value));
      (key == "nodes" ? found.nodes : found.switches) = *names;
    } else if (key != "linkspeed") {
      refuse(line, fmt::format("'{}' belongs to no tree of switches", word));
    }
  }
  if (name.empty()) refuse(line, "a line starts with SwitchName=");
  if (!switches.by_name.emplace(name, found).second) refuse(line, fmt::format("switch '{}' is there twice", name));
  switches.names.push_back(name);
}

Switches read_switches(std::string_view topology_conf) {
  Switches switches;
  std::istringstream lines{std::string(topology_conf)};
  std::string text;
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    line.erase(std::min(line.size(), line.find('#')));
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (line.ends_with('\\')) {
      text += line.substr(0, line.size() - 1) + ' ';
      continue;
    }
    text += line;
    if (text.find_first_not_of(" \t") != std::string::npos) read_line(text, number, switches);
    text.clear();
  }
  return switches;
}

class Pruning {
 public:
  Pruning(const Switches& switches, const std::vector<std::string>& hosts) : switches_(switches) {
    for (std::size_t i = 0; i < hosts.size(); ++i) wanted_.emplace(hosts[i], i);
  }

  // The part below a switch that leads to hosts; empty where none does. Hosts are taken by the first switch that has them.
  Branch below(const std::string& name) {
    const auto found = switches_.by_name.find(name);
    if (found == switches_.by_name.end()) return {};
    if (!above_.insert(name).second) {
      throw base::Error(base::Errc::invalid_config, fmt::format("topology.conf: switch '{}' is below itself", name));
    }
    Branch leaf;
    for (const std::string& node : found->second.nodes) {
      if (const auto host = wanted_.find(node); host != wanted_.end()) {
        leaf.hosts.push_back(host->second);
        wanted_.erase(host);
      }
    }
    Branch branch;
    for (const std::string& child : found->second.switches) add(branch, below(child));
    above_.erase(name);
    if (branch.children.empty()) return leaf;
    add(branch, std::move(leaf));
    return branch;
  }

  static void add(Branch& parent, Branch child) {
    if (child.hosts.empty() && child.children.empty()) return;
    parent.height = std::max(parent.height, child.height + 1);
    parent.children.push_back(std::move(child));
  }

  // A host that no switch has taken; empty: none.
  [[nodiscard]] std::string left() const { return wanted_.empty() ? "" : wanted_.begin()->first; }

 private:
  const Switches& switches_;
  std::map<std::string, std::size_t> wanted_;
  std::set<std::string> above_;
};

// How many children the fullest switch of each level has. A branch that is lower than its level hangs below a chain.
void widen(const Branch& branch, std::size_t level, std::vector<FatTree::Level>& levels) {
  if (branch.height < level) return widen(branch, level - 1, levels);
  const std::size_t children = level == 0 ? branch.hosts.size() : branch.children.size();
  levels[level].down = std::max(levels[level].down, static_cast<int>(children));
  for (const Branch& child : branch.children) widen(child, level - 1, levels);
}

void number(const Branch& branch, std::size_t level, NodeId first, const std::vector<NodeId>& places, std::vector<NodeId>& nodes) {
  if (branch.height < level) return number(branch, level - 1, first, places, nodes);
  for (const std::size_t host : branch.hosts) nodes[host] = first++;
  for (const Branch& child : branch.children) {
    number(child, level - 1, first, places, nodes);
    first += places[level - 1];
  }
}

}  // namespace

SwitchTree tree_of_switches(std::string_view topology_conf, const std::vector<std::string>& hosts) {
  const Switches switches = read_switches(topology_conf);
  std::set<std::string> below_others;
  for (const auto& [name, each] : switches.by_name) below_others.insert(each.switches.begin(), each.switches.end());
  Pruning pruning(switches, hosts);
  Branch root;
  for (const std::string& name : switches.names) {
    if (below_others.count(name) == 0) Pruning::add(root, pruning.below(name));
  }
  if (const std::string left = pruning.left(); !left.empty()) {
    throw base::Error(base::Errc::invalid_config, fmt::format("topology.conf: no switch leads to node '{}'", left));
  }
  while (root.children.size() == 1) root = Branch(root.children.front());

  SwitchTree tree;
  tree.network.levels.resize(root.height + 1);
  tree.nodes.resize(hosts.size());
  widen(root, root.height, tree.network.levels);
  std::vector<NodeId> places;   // below a switch of each level
  for (FatTree::Level& level : tree.network.levels) {
    level.up = 1;
    places.push_back((places.empty() ? 1 : places.back()) * level.down);
  }
  tree.network.levels.back().up = 0;
  number(root, root.height, 0, places, tree.nodes);
  tree.network.nodes = 1 + *std::max_element(tree.nodes.begin(), tree.nodes.end());
  return tree;
}

}  // namespace glean::topology
