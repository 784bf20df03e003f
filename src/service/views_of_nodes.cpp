// SPDX-License-Identifier: BSD-3-Clause
#include "service/views_of_nodes.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "drain/current_names.hpp"
#include "pool/description.hpp"
#include "pool/name_log.hpp"
#include "pool/postponed.hpp"
#include "pool/published.hpp"
#include "pool/ranks_of_output.hpp"
#include "store/posix/unclosed.hpp"

namespace glean::service {

using nlohmann::json;

namespace {

bool is_in_place(const store::FileNames& names) { return !names.final_path.empty() && names.working_path == names.final_path; }

}  // namespace

store::OutputDescription names_of(const pool::Pool& pool, std::uint32_t index) {
  try {
    const pool::OutputKey key{index, pool.slot(index).generation};
    auto description = store::OutputDescription::decode_names(pool::read_description(pool, key).bytes);
    if (auto now = drain::current_names(pool, key); !now.final_path.empty()) description.names = std::move(now);   // empty: it was removed
    return description;
  } catch (const base::Error&) {
    return {};
  }
}

std::optional<std::string> find_renamed(const store::FileNames& names, const pool::OutputSlot& slot) {
  return is_in_place(names) ? std::nullopt : store::find_unclosed(names.final_path, slot.working_inode);
}

bool is_refused(const pool::OutputSlot& slot) { return pool::is_kept(slot) || pool::is_undecided(slot); }

namespace {

// Names need not be UTF-8.
using Bytes8 = std::vector<std::uint8_t>;

// What the program has made of its name since it was closed; it is known on the node of the rank that has renamed or removed it.
json new_name(const pool::Pool& pool, std::uint32_t index) {
  const auto now = pool::new_name_of(pool, {index, pool.slot(index).generation});
  if (!now || now->is_removed) return {{"final", Bytes8()}, {"working", Bytes8()}};
  return {{"final", Bytes8(now->final_path.begin(), now->final_path.end())},
          {"working", Bytes8(now->working_path.begin(), now->working_path.end())}};
}

json view_of(const pool::Pool& pool, std::uint32_t index) {
  const pool::OutputSlot& slot = pool.slot(index);
  const store::FileNames names = names_of(pool, index).names;
  const pool::RanksOfOutput ranks = pool::ranks_of_output(pool, index);
  return {{"node", pool.header().node}, {"output", slot.job_output.load()}, {"ended", ranks.steps_ended},
          {"begun", ranks.most_ended}, {"closed", ranks.all_closed},
          {"part_durable", slot.part_durable.load()}, {"inode", slot.publishing_inode.load()},
          {"in_place", is_in_place(names)}, {"renamed", find_renamed(names, slot).has_value()},
          {"synchronized_writes", slot.synchronized_writes.load()},
          {"removed", slot.is_renamed.load() == pool::is_removed_output}, {"new_name", new_name(pool, index)},
          {"error", slot.error.load() != 0 && !is_refused(slot) ? pool::message_of(slot) : std::string()}};
}

}  // namespace

json views_of(const pool::Pool& pool) {
  json views = json::array();
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    if (pool.slot(index).state.load() == pool::OutputState::open) views.push_back(view_of(pool, index));
  }
  return views;
}

bool is_published(const Verdict& verdict) {
  return !verdict.has_root && verdict.error.empty() && (verdict.renamed || (verdict.in_place && verdict.all_durable));
}

bool needs_all_nodes(const std::pair<const std::uint64_t, Verdict>& judged) {
  const auto& [output, verdict] = judged;
  const bool is_removed = verdict.removed && verdict.new_path.empty();
  return output != 0 && verdict.error.empty() && !is_removed && !is_published(verdict);
}

std::map<std::uint64_t, Verdict> judge(const json& views) {
  std::map<std::uint64_t, Verdict> verdicts;
  for (const auto& view : views) {
    Verdict& verdict = verdicts[view["output"].get<std::uint64_t>()];
    verdict.ended = std::min(verdict.ended, view["ended"].get<std::uint64_t>());
    verdict.begun = std::max(verdict.begun, view["begun"].get<std::uint64_t>());
    verdict.closed = verdict.closed && view["closed"].get<bool>();
    verdict.all_durable = verdict.all_durable && view["part_durable"] == 1;
    verdict.in_place = verdict.in_place || view["in_place"].get<bool>();
    verdict.renamed = verdict.renamed || view["renamed"].get<bool>();
    verdict.removed = verdict.removed || view["removed"].get<bool>();
    if (const auto now = view["new_name"]["final"].get<Bytes8>(); !now.empty()) {
      const auto working = view["new_name"]["working"].get<Bytes8>();
      verdict.new_path.assign(now.begin(), now.end());
      verdict.new_working_path.assign(working.begin(), working.end());
    }
    verdict.nodes.insert(view["node"].get<int>());
    verdict.has_root = verdict.has_root || view["node"] == 0;
    if (view["node"] == 0) verdict.inode = view["inode"].get<std::uint64_t>();
    if (verdict.error.empty()) verdict.error = view["error"].get<std::string>();
    // Of any node: what died with the others may have been told.
    verdict.synchronized_writes = std::max(verdict.synchronized_writes, view["synchronized_writes"].get<std::uint64_t>());
  }
  return verdicts;
}

}  // namespace glean::service
