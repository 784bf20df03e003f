// SPDX-License-Identifier: BSD-3-Clause
//
// What each node of a dead session knows of an output, and what that comes to.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pool/pool.hpp"
#include "store/description.hpp"

namespace glean::service {

// What all nodes together know, in every node's slot: the drains go by it.
struct Verdict {
  std::uint64_t ended = pool::rank_steps, begun = 0, inode = 0, synchronized_writes = 0;
  bool closed = true, all_durable = true, has_root = false, in_place = false, renamed = false, removed = false;
  std::set<int> nodes;
  std::string error, new_path, new_working_path;
};

// Under the name that it has by now. Empty: the output is not described. Local.
[[nodiscard]] store::OutputDescription names_of(const pool::Pool& pool, std::uint32_t index);
// Where the file is that this node has written into, if it has got its final name, or that of one that was not closed. Local.
[[nodiscard]] std::optional<std::string> find_renamed(const store::FileNames& names, const pool::OutputSlot& slot);
// The storage refuses it, and all ranks of the node had closed it: it is tried again. Local.
[[nodiscard]] bool is_refused(const pool::OutputSlot& slot);
// Of all outputs of one node, for the others. Local.
[[nodiscard]] nlohmann::json views_of(const pool::Pool& pool);
// By output, of the views of all nodes.
[[nodiscard]] std::map<std::uint64_t, Verdict> judge(const nlohmann::json& views);
// By node 0: what it has open no more it has published, or it has failed there.
[[nodiscard]] bool is_published(const Verdict& verdict);
// What has failed, what the program has removed, and what node 0 has published and forgotten, each node ends by itself.
[[nodiscard]] bool needs_all_nodes(const std::pair<const std::uint64_t, Verdict>& judged);

}  // namespace glean::service
