// SPDX-License-Identifier: BSD-3-Clause
//
// Which container a file that a rank writes for itself belongs to (setting into): docs/file-per-rank.md
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/name_pattern.hpp"
#include "base/settings.hpp"

namespace glean::gather {

// A file of a rank, as a rule sees it.
struct RankFile {
  std::string path;        // absolute, of the program's
  std::string container;   // absolute
  std::string name;        // in the container: the path from the container's directory on, or the whole one where it is elsewhere
  std::string rank;        // digits
  std::size_t rule = 0;
  std::string containers_of_nodes;   // a shell pattern of those of all nodes; empty: there is one
};

struct RuleText {
  std::string pattern, into;
};
[[nodiscard]] std::vector<RuleText> rules_of(const base::Settings& settings);

class GatherRules {
 public:
  // `node`: in place of {node} in the names of containers.
  GatherRules(const std::vector<RuleText>& rules, int node);

  // By the last part of the path alone: whether a rule may match. Allocates nothing, for any path that a program looks at.
  [[nodiscard]] bool may_match(std::string_view path) const noexcept;
  // `path` is absolute and without links. The last rule that matches decides. Nothing for the container itself, nor for hidden
  // files, nor where the name is too long to be one of an entry on the node.
  [[nodiscard]] std::optional<RankFile> find(std::string_view path) const;

  // Patterns of the shell of the containers that may have files of this directory; none: no rule is about such files. `directory` is
  // absolute and without links.
  [[nodiscard]] std::vector<std::string> containers_for(std::string_view directory) const;

  // The number of the rank whose file has this name in a container; empty: no rule says. Without leading zeros.
  [[nodiscard]] std::string rank_of(std::string_view name) const;

 private:
  struct Rule {
    base::NamePattern pattern, last_part;
    base::NamePattern directories;   // what the pattern has before its last slash
    std::string into;
  };
  std::vector<Rule> rules_;
  std::string node_;
};

}  // namespace glean::gather
