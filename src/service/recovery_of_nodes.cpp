// SPDX-License-Identifier: BSD-3-Clause
#include "service/recovery_of_nodes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "drain/current_names.hpp"
#include "nodes/exchange.hpp"
#include "pool/description.hpp"
#include "pool/leaked_chunks.hpp"
#include "pool/name_log.hpp"
#include "pool/postponed.hpp"
#include "pool/published.hpp"
#include "pool/ranks_of_output.hpp"
#include "service/views_of_nodes.hpp"
#include "store/posix/unclosed.hpp"
#include "transport/local_messages.hpp"

namespace glean::service {
namespace {

using nlohmann::json;

class NobodyElse final : public Companions {
 public:
  [[nodiscard]] int self() const override { return 0; }
  [[nodiscard]] int count() const override { return 1; }
  [[nodiscard]] std::vector<std::string> from_all(const std::string& mine) override { return {mine}; }
  [[nodiscard]] std::vector<std::unique_ptr<transport::Messages>> messages(const std::vector<int>& nodes,
                                                                           const std::vector<int>& process_of) override {
    auto& network = *networks_.emplace_back(std::make_unique<transport::LocalNetwork>(static_cast<int>(process_of.size())));
    std::vector<std::unique_ptr<transport::Messages>> messages;
    for (const int node : nodes) messages.push_back(network.messages(node));
    return messages;
  }
  [[nodiscard]] bool nobody_needs_more() override { return true; }

 private:
  std::vector<std::unique_ptr<transport::LocalNetwork>> networks_;
};

// However it ends, what it has not finished stays in the pool for another try.
struct LeaveUnfinished {
  void operator()(drain::Engine* engine) const {
    engine->stop(drain::Engine::Unfinished::leave);
    delete engine;
  }
};

// One pool of the session that is recovered, in the process that does it.
struct Part {
  std::string name;
  int node = 0;
  std::optional<pool::Pool> pool{};
  std::unique_ptr<transport::Messages> messages{};
  std::unique_ptr<drain::Engine, LeaveUnfinished> engine{};
  std::unique_ptr<nodes::Exchange> exchange{};
  std::vector<drain::OutputTrace> published_before{};   // this node was only to hear of it
};

std::string session_of(const pool::Pool& pool) {
  const auto& text = pool.header().session;
  return {text.data(), strnlen(text.data(), text.size())};
}

// Texts that lie in pools may be damaged, and names of files need not be UTF-8.
std::string text_of(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

// --- what is left to do, in the slots

// A node that has heard that another file took its old name does not know that it had been renamed before.
void rename(const pool::Pool& pool, std::uint32_t index, const Verdict& verdict) {
  pool::OutputSlot& slot = pool.slot(index);
  if (verdict.new_path.empty()) {
    if (verdict.removed) slot.is_renamed = pool::is_removed_output;
    return;
  }
  const pool::OutputKey key{index, slot.generation};
  const auto known = pool::new_name_of(pool, key);
  if (!known || known->final_path != verdict.new_path) {
    pool::NameChange change{.kind = pool::NameChange::Kind::renamed, .state = pool::NameChange::State::waiting, .output = key};
    verdict.new_path.copy(change.path.data(), change.path.size() - 1);
    verdict.new_working_path.copy(change.hidden.data(), change.hidden.size() - 1);
    pool::NameLog log(pool.name(), pool::NameLog::Make::yes);
    if (!log.write(log.count(), change)) throw base::system_error(errno, "cannot note the new name '" + verdict.new_path + "'");
  }
  slot.is_renamed = 1;
}

// All that is left to do for an output, by all nodes or by this one, is in its slot.
void prepare(const pool::Pool& pool, std::uint32_t index, const Verdict& verdict, int nodes) {
  pool::OutputSlot& slot = pool.slot(index);
  const auto fail = [&](const char* why) { pool::fail(slot, static_cast<std::uint32_t>(base::Errc::io), why, ""); };
  if (is_refused(slot)) slot.error = slot.error_claimed = slot.discarded = 0;
  rename(pool, index, verdict);
  const bool everywhere = slot.job_output != 0 && static_cast<int>(verdict.nodes.size()) == nodes;
  if (slot.job_output == 0 || (verdict.has_root && !everywhere)) {
    fail("it was just being opened when the job ended");
  } else if (!verdict.error.empty()) {
    fail(verdict.error.c_str());
  } else if (!verdict.has_root) {
    fail("it had failed when the job ended");
  }
  slot.job_steps_ended = everywhere ? verdict.ended : 0;
  slot.job_steps_begun = verdict.begun;
  slot.job_closed = verdict.closed ? 1 : 0;
  slot.synchronized_writes = verdict.synchronized_writes;
  slot.publishing_inode = verdict.inode;
  slot.steps_sent = slot.job_steps = slot.job_parts_durable = slot.part_durable = slot.job_published = slot.job_postponed = 0;
}

drain::OutputTrace trace_of_published(const pool::Pool& pool, std::uint32_t index, const Verdict& verdict) {
  drain::OutputTrace trace;
  trace.path = names_of(pool, index).display_path;
  trace.state = "published";
  trace.steps = verdict.ended;
  if (verdict.closed || verdict.synchronized_writes == 0 || !names_of(pool, index).is_bytes) return trace;
  trace.unclosed_path = find_renamed(names_of(pool, index).names, pool.slot(index)).value_or("");
  if (!trace.unclosed_path.empty()) trace.note = "not closed; synchronized: published as '" + trace.unclosed_path + "'";
  return trace;
}

// --- doing it

void start(Part& part, const std::map<std::uint64_t, Verdict>& verdicts, int nodes, store::SystemCalls& calls) {
  pool::Pool& pool = *part.pool;
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    pool::OutputSlot& slot = pool.slot(index);
    if (slot.state.load() != pool::OutputState::open) continue;
    const Verdict& verdict = verdicts.at(slot.job_output);
    if (slot.job_output != 0 && is_published(verdict)) {
      part.published_before.push_back(trace_of_published(pool, index, verdict));
      slot.state = pool::OutputState::published;
      continue;
    }
    prepare(pool, index, verdict, nodes);
    const bool is_given_up = slot.error != 0 || slot.is_renamed == pool::is_removed_output;
    if (is_given_up) slot.job_output = 0;   // each node removes what is left by itself
  }
  pool::free_leaked_chunks(pool);
  // Who was killed waits no more.
  pool.header().waiting_for_space = 0;
  for (int journal = 0; journal < static_cast<int>(pool.header().journals); ++journal) pool.journal(journal).is_full = 0;
  plan::NodePlan plan = pool.plan();
  plan.drain_cores.clear();
  part.engine.reset(new drain::Engine(pool, plan, calls, drain::Ranks::gone));
  part.exchange = std::make_unique<nodes::Exchange>(pool, *part.engine, *part.messages);
}

void run(std::vector<Part>& parts, Companions& companions, const std::function<void()>& waiting) {
  std::uint64_t told = base::now_ns();
  const auto is_left = [](const Part& part) { return part.exchange->holds_any(); };
  for (bool done = false;;) {
    bool moved = false;
    for (Part& part : parts) moved = part.exchange->progress() || moved;
    done = done || std::none_of(parts.begin(), parts.end(), is_left);
    if (done && companions.nobody_needs_more()) return;   // receipts, perhaps, of what this process does not care for any more
    if (!moved) usleep(200);
    if (base::seconds(base::now_ns() - told) < 1) continue;
    told = base::now_ns();
    waiting();
  }
}

Recovered finish(Part& part) {
  Recovered recovered{.outputs = std::move(part.published_before), .restored = {}, .hidden = {}};
  bool any_postponed = false;
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    const pool::OutputSlot& slot = part.pool->slot(index);
    any_postponed = any_postponed || (slot.state == pool::OutputState::open && pool::postponed(slot) == pool::Postponed::yes);
  }
  // What was to be given up by this node alone.
  if (!any_postponed) part.engine->wait_until_idle();
  part.engine->stop(drain::Engine::Unfinished::leave);
  for (drain::OutputTrace& output : part.engine->trace().outputs) {
    if (output.state == "open") output.state = "postponed";
    recovered.outputs.push_back(std::move(output));
  }
  part.exchange.reset();
  part.engine.reset();
  recovered.pool_removed = !any_postponed;
  if (!recovered.pool_removed) return recovered;
  store::SystemCalls calls;
  restore_names(*part.pool, calls, recovered);
  part.pool->remove();
  return recovered;
}

// One session. `seen`: by process, the names of the pools of each node that it sees.
struct Session {
  int nodes = 0;
  std::map<int, std::map<int, std::string>> seen;   // by node, by process
};

// Who does what of it.
struct Division {
  std::vector<int> process_of, missing;   // nodes whose pool nobody sees
  std::vector<Part> parts;                // this process's
};

Division divide(const Session& session, int self) {
  Division division;
  for (int node = 0; node < session.nodes; ++node) {
    const auto seers = session.seen.find(node);
    if (seers == session.seen.end()) {
      division.missing.push_back(node);
      division.process_of.push_back(self);   // nobody will be asked
      continue;
    }
    auto seer = seers->second.begin();
    for (auto before = static_cast<std::size_t>(node) % seers->second.size(); before > 0; --before) ++seer;
    division.process_of.push_back(seer->first);
    if (seer->first == self) division.parts.push_back({.name = seer->second, .node = node});
  }
  return division;
}

// Does it for each part. What the first of all processes that cannot says, to all of them; empty: all could. Collective, blocks.
std::string on_all(std::vector<Part>& parts, Companions& companions, const std::function<void(Part&)>& act) {
  std::string problem;
  for (auto part = parts.begin(); part != parts.end() && problem.empty(); ++part) {
    try {
      act(*part);
    } catch (const std::exception& error) {
      problem = fmt::format("node {}: {}", part->node, error.what());
    }
  }
  const auto problems = companions.from_all(problem);
  const auto first = std::find_if(problems.begin(), problems.end(), [](const std::string& each) { return !each.empty(); });
  return first == problems.end() ? "" : *first;
}

std::string are_missing(const std::vector<int>& missing, int nodes) {
  const bool one = missing.size() == 1;
  return fmt::format("it belongs to a job of {} nodes, and the pool{} of node{} {} {} not here or in use: mpirun --map-by "
                     "ppr:1:node glean recover, or srun --mpi=pmix -N {} -n {} glean recover, on the nodes of the job",
                     nodes, one ? "" : "s", one ? "" : "s", fmt::join(missing, ", "), one ? "is" : "are", nodes, nodes);
}

void recover_session(const Session& session, Companions& companions, store::SystemCalls& calls,
                     const std::function<void()>& waiting, std::map<std::string, RecoveredPool>& results) {
  auto [process_of, missing, parts] = divide(session, companions.self());
  json mine = json::array(), views = json::array();
  std::string problem = on_all(parts, companions, [&](Part& part) {
    part.pool.emplace(claim_remains(part.name));
    for (auto& view : views_of(*part.pool)) mine.push_back(std::move(view));
  });
  for (const std::string& text : companions.from_all(text_of(mine))) {
    for (auto& view : json::parse(text)) views.push_back(std::move(view));
  }
  const auto verdicts = judge(views);
  if (!missing.empty() && std::any_of(verdicts.begin(), verdicts.end(), needs_all_nodes)) {
    problem = are_missing(missing, session.nodes);
  }
  if (problem.empty()) {
    std::vector<int> nodes;
    for (const Part& part : parts) nodes.push_back(part.node);
    auto messages = companions.messages(nodes, process_of);
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i].messages = std::move(messages[i]);
    problem = on_all(parts, companions, [&](Part& part) { start(part, verdicts, session.nodes, calls); });
  }
  if (problem.empty()) run(parts, companions, waiting);
  // Nobody goes before what he has to say has been heard.
  static_cast<void>(companions.from_all(""));
  for (Part& part : parts) {
    results[part.name] = {part.name, {}, problem};
    if (problem.empty()) results[part.name].recovered = finish(part);
  }
}

}  // namespace

std::unique_ptr<Companions> nobody_else() { return std::make_unique<NobodyElse>(); }

std::vector<RecoveredPool> recover_nodes(const std::vector<std::string>& pools, Companions& companions,
                                         store::SystemCalls& calls, const std::function<void()>& waiting) {
  std::map<std::string, RecoveredPool> results;
  json mine = json::array();
  for (const std::string& name : pools) {
    try {
      const pool::Pool pool = pool::Pool::attach(name);
      mine.push_back({{"pool", name}, {"session", session_of(pool)}, {"nodes", pool.header().nodes}, {"node", pool.header().node}});
    } catch (const base::Error& error) {
      results[name] = {name, {}, error.what()};
    }
  }
  std::map<std::string, Session> sessions;
  const auto all = companions.from_all(text_of(mine));
  for (int process = 0; process < companions.count(); ++process) {
    for (const auto& pool : json::parse(all[static_cast<std::size_t>(process)])) {
      Session& session = sessions[pool["session"].get<std::string>()];
      session.nodes = pool["nodes"].get<int>();
      session.seen[pool["node"].get<int>()][process] = pool["pool"].get<std::string>();
    }
  }
  for (const auto& [name, session] : sessions) recover_session(session, companions, calls, waiting, results);
  std::vector<RecoveredPool> list;
  for (auto& [name, result] : results) list.push_back(std::move(result));
  return list;
}

}  // namespace glean::service
