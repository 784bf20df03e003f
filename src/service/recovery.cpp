// SPDX-License-Identifier: BSD-3-Clause
#include "service/recovery.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/run_notes.hpp"
#include "drain/retired_files.hpp"
#include "pool/description.hpp"
#include "pool/leaked_chunks.hpp"
#include "pool/name_log.hpp"
#include "pool/postponed.hpp"
#include "pool/published.hpp"
#include "service/left_output.hpp"
#include "service/lost_stagers.hpp"
#include "service/node.hpp"
#include "service/relocation.hpp"
#include "service/staged_outputs.hpp"
#include "store/posix/unclosed.hpp"

namespace glean::service {
namespace {

// However it ends, what it has not finished stays in the pool for another try.
struct LeaveUnfinished {
  void operator()(drain::Engine* engine) const {
    engine->stop(drain::Engine::Unfinished::leave);
    delete engine;
  }
};

// One pool of what is recovered, in the process that does it.
struct Part {
  std::string name;                                     // empty: made anew, because its own is gone
  int index = 0;                                        // of the node in its job
  std::optional<pool::Pool> own{};                      // where no other process has claimed it
  pool::Pool* pool = nullptr;
  std::unique_ptr<drain::Engine, LeaveUnfinished> engine{};
  std::unique_ptr<StagedOutputs> openings{};            // of a stager
  std::unique_ptr<Node> node{};
  std::vector<drain::OutputTrace> published_before{};   // this node was only to hear of it
};

// What is damaged must not end a line.
std::string session_of(const pool::Pool& pool) {
  const auto& bytes = pool.header().session;
  std::string text(bytes.data(), strnlen(bytes.data(), bytes.size()));
  std::replace(text.begin(), text.end(), '\n', '?');
  return text;
}

// --- what is left to do, in the slots

// A node that has heard that another file took its old name does not know that it had been renamed before.
void rename(const pool::Pool& pool, std::uint32_t index, const LeftOutput& left) {
  pool::OutputSlot& slot = pool.slot(index);
  if (left.new_path.empty()) {
    if (left.is_removed) slot.is_renamed = pool::is_removed_output;
    return;
  }
  const pool::OutputKey key{index, slot.generation};
  const auto known = pool::new_name_of(pool, key);
  if (!known || known->final_path != left.new_path) {
    pool::NameChange change{.kind = pool::NameChange::Kind::renamed, .state = pool::NameChange::State::waiting, .output = key};
    left.new_path.copy(change.path.data(), change.path.size() - 1);
    left.new_working_path.copy(change.hidden.data(), change.hidden.size() - 1);
    pool::NameLog log(pool.name(), pool::NameLog::Make::yes);
    if (!log.write(log.count(), change)) throw base::system_error(errno, "cannot note the new name '" + left.new_path + "'");
  }
  slot.is_renamed = 1;
}

// All that is left to do for an output, by all nodes or by this one, is in its slot.
// An output that stagers are to open is open on all their clients at least.
void prepare(const pool::Pool& pool, std::uint32_t index, const LeftOutput& left) {
  pool::OutputSlot& slot = pool.slot(index);
  const auto fail = [&](const char* why) { pool::fail(slot, static_cast<std::uint32_t>(base::Errc::io), why, ""); };
  if (is_refused(pool, slot)) slot.error = slot.error_claimed = slot.discarded = 0;
  if (left.is_to_be_opened && pool.is_staged() && slot.nodes.at_stagers == pool::AtStagers::open) {
    slot.nodes.at_stagers = pool::AtStagers::asked;   // at a stager that has lost it
  }
  rename(pool, index, left);
  const int nodes = static_cast<int>(pool.header().nodes), clients = nodes - static_cast<int>(pool.header().stagers);
  const bool on_all_clients = std::count_if(left.nodes.begin(), left.nodes.end(), [&](int node) { return node < clients; }) == clients;
  const bool is_everywhere = left.is_to_be_opened ? on_all_clients : static_cast<int>(left.nodes.size()) == nodes;
  const bool everywhere = slot.nodes.job_output != 0 && is_everywhere;
  const bool is_needed_everywhere = left.has_publisher || left.is_to_be_opened;
  if (slot.nodes.job_output == 0 || (is_needed_everywhere && !everywhere)) {
    fail("it was just being opened when the job ended");
  } else if (!left.error.empty()) {
    fail(left.error.c_str());
  } else if (!is_needed_everywhere) {
    fail("it had failed when the job ended");
  }
  slot.nodes.job_steps_ended = everywhere ? left.progress.steps_ended : 0;
  slot.nodes.job_steps_begun = left.progress.steps_begun;
  slot.nodes.job_closed = left.is_at_stagers ? nodes::closed_and_at_stagers : left.progress.closed;
  slot.synchronized_writes = left.synchronized_writes;
  slot.publishing_inode = left.inode;
  slot.nodes.steps_sent = slot.nodes.job_steps = 0;
  slot.nodes.part_durable = slot.nodes.job_parts_durable = slot.nodes.job_published = slot.nodes.job_postponed = 0;
}

drain::OutputTrace trace_of_published(const pool::Pool& pool, std::uint32_t index, const LeftOutput& left) {
  drain::OutputTrace trace;
  trace.path = names_of(pool, index).display_path;
  trace.state = "published";
  trace.steps = left.progress.steps_ended;
  if (left.progress.closed != 0 || left.synchronized_writes == 0 || !names_of(pool, index).is_bytes) return trace;
  trace.unclosed_path = find_renamed(names_of(pool, index).names, pool.slot(index)).value_or("");
  if (!trace.unclosed_path.empty()) trace.note = "not closed; synchronized: published as '" + trace.unclosed_path + "'";
  return trace;
}

// --- doing it

void begin(Part& part, store::SystemCalls& calls, std::unique_ptr<transport::Messages> messages = nullptr) {
  plan::NodePlan plan = part.pool->plan();
  plan.drain_cores.clear();   // they were chosen to keep out of the application's way
  part.engine.reset(new drain::Engine(*part.pool, plan, calls, drain::Ranks::gone));
  part.node = messages ? std::make_unique<Node>(*part.pool, *part.engine, std::move(messages))
                       : std::make_unique<Node>(*part.pool, *part.engine);
}

// Prepares the part of one of several nodes.
void prepare(Part& part, const LeftOutputs& all) {
  pool::Pool& pool = *part.pool;
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    pool::OutputSlot& slot = pool.slot(index);
    if (slot.state.load() != pool::OutputState::open) continue;
    const LeftOutput& left = all.at(slot.nodes.job_output);
    if (slot.nodes.job_output != 0 && left.is_published()) {
      part.published_before.push_back(trace_of_published(pool, index, left));
      slot.state = pool::OutputState::published;
      continue;
    }
    if (left.is_sent_again) begin_again(pool, index, left);
    if (slot.state.load() != pool::OutputState::open) continue;   // it is opened again
    prepare(pool, index, left);
    const bool is_given_up = slot.error != 0 || slot.is_renamed == pool::is_removed_output;
    if (is_given_up) slot.nodes.job_output = 0;   // each node removes what is left by itself
  }
  pool::forget_killed_processes(pool);
}

// What a client had asked for when the job ended, and this stager does not have open yet.
void open_for_clients(Part& part, const LeftOutputs& all) {
  pool::Pool& pool = *part.pool;
  part.openings = std::make_unique<StagedOutputs>(pool, *part.engine, std::vector<std::string>{"/"},
                                                  [&pool, &all](std::uint32_t index, std::uint64_t job_output) {
    prepare(pool, index, all.at(job_output));
  });
  part.node->exchange().serve(*part.openings);
}

bool any_postponed(const pool::Pool& pool) {
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    const pool::OutputSlot& slot = pool.slot(index);
    if (slot.state == pool::OutputState::open && pool::postponed(slot) == pool::Postponed::yes) return true;
  }
  return false;
}

// What other nodes keep for another try, too, this one need not end by itself.
bool is_done(const Part& part) {
  if (part.node->holds_any()) return false;
  return part.engine->wait_until_idle(0) || (part.pool->is_shared() && any_postponed(*part.pool));
}

void run(const std::vector<Part>& parts, const std::function<bool()>& none_needs_more, const std::function<void()>& waiting) {
  std::vector<Node*> nodes;
  for (const Part& part : parts) nodes.push_back(part.node.get());
  std::uint64_t told = base::now_ns();
  const auto ends = [&] {
    if (base::seconds(base::now_ns() - told) < 1) return true;
    told = base::now_ns();
    waiting();
    return true;
  };
  bool all_done = false;
  Node::run(nodes, ends, [&](double) {
    all_done = all_done || std::all_of(parts.begin(), parts.end(), is_done);
    return all_done && none_needs_more();   // receipts, perhaps, of what this process does not care for any more
  });
}

Recovered finish(Part& part, store::SystemCalls& calls) {
  Recovered recovered{.outputs = std::move(part.published_before), .restored = {}, .hidden = {}};
  part.engine->stop(drain::Engine::Unfinished::leave);
  for (drain::OutputTrace& output : part.engine->trace().outputs) {
    if (output.state == "open") output.state = "postponed";
    recovered.outputs.push_back(std::move(output));
  }
  part.node.reset();
  part.engine.reset();
  recovered.pool_removed = std::none_of(recovered.outputs.begin(), recovered.outputs.end(),
                                        [](const drain::OutputTrace& output) { return output.state == "postponed"; });
  if (!recovered.pool_removed) return recovered;
  restore_names(*part.pool, calls, recovered);
  part.pool->remove();
  return recovered;
}

// One session. `seen`: by process, the names of the pools of each node that it sees.
struct Session {
  int nodes = 0, stagers = 0;   // `nodes` has them, too: the last ones
  bool keeps = false;           // the nodes without stagers: until it is durable
  std::set<int> made_anew;      // stagers, by an attempt before this one
  std::map<int, std::map<int, std::string>> seen;   // by node, by process
};

// Which process does what of it.
struct Division {
  std::vector<int> process_of, missing;   // nodes whose pool no process sees
  std::vector<int> lost;                  // stagers that get another pool
  std::vector<Part> parts;                // this process's
};

// `makes_anew`: pools of stagers that are not there.
Division divide(const Session& session, int self, bool makes_anew) {
  Division division;
  for (int node = 0; node < session.nodes; ++node) {
    const auto seers = session.seen.find(node);
    if (seers == session.seen.end() && makes_anew && node >= session.nodes - session.stagers) {
      const int maker = session.seen.begin()->second.begin()->first;   // which has a part of it
      division.lost.push_back(node);
      division.process_of.push_back(maker);
      if (maker == self) division.parts.push_back({.name = "", .index = node});
      continue;
    }
    if (seers == session.seen.end()) {
      division.missing.push_back(node);
      division.process_of.push_back(self);   // no other process will be asked
      continue;
    }
    auto seer = seers->second.begin();
    for (auto before = static_cast<std::size_t>(node) % seers->second.size(); before > 0; --before) ++seer;
    division.process_of.push_back(seer->first);
    if (seer->first == self) division.parts.push_back({.name = seer->second, .index = node});
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
      problem = fmt::format("node {}: {}", part->index, error.what());
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

// Of all stagers none has it open any more, and something was put: so they had opened it, and have finished it.
void settle_with_stagers(LeftOutputs& all, const Session& session, const std::vector<int>& missing) {
  const int first = session.nodes - session.stagers;
  if (session.stagers == 0 || std::any_of(missing.begin(), missing.end(), [&](int node) { return node >= first; })) return;
  for (auto& [output, left] : all) {
    const bool was_opened = left.progress.steps_begun != 0 || left.progress.closed != 0;
    if (!left.has_stager && !left.is_to_be_opened && was_opened) left.is_at_stagers = true;
  }
}

void recover_session(const Session& session, Companions& companions, store::SystemCalls& calls,
                     const std::function<void()>& waiting, bool stagers_are_lost, std::map<std::string, RecoveredPool>& results) {
  const bool is_lost = stagers_are_lost && session.keeps;
  Division division = divide(session, companions.self(), is_lost);
  const std::vector<int>& missing = division.missing;
  std::vector<Part>& parts = division.parts;
  LeftOutputs mine, all;
  std::string problem = on_all(parts, companions, [&](Part& part) {
    if (part.name.empty()) return;
    part.own.emplace(claim_remains(part.name));
    part.pool = &*part.own;
    join(mine, left_in(*part.pool));
  });
  for (const std::string& bytes : companions.from_all(encode(mine))) join(all, decode(bytes));
  const auto is_stager = [&](int node) { return node >= session.nodes - session.stagers; };
  const bool lacks_stagers = !division.lost.empty() || !session.made_anew.empty() || std::any_of(missing.begin(), missing.end(), is_stager);
  if (session.keeps && lacks_stagers) ask_stagers_again(all);
  else settle_with_stagers(all, session, missing);
  const auto needs_them = [&](const auto& each) { return each.first != 0 && each.second.needs(missing); };
  if (!missing.empty() && std::any_of(all.begin(), all.end(), needs_them)) {
    problem = are_missing(missing, session.nodes);
    if (session.keeps && std::all_of(missing.begin(), missing.end(), is_stager)) {
      problem += "; if the hosts of these stagers are gone for good, --without-stagers completes it from what the other nodes have kept";
    }
  }
  if (problem.empty()) {
    std::vector<int> nodes;
    for (const Part& part : parts) nodes.push_back(part.index);
    auto messages = companions.messages(nodes, division.process_of);
    auto next = messages.begin();
    problem = on_all(parts, companions, [&](Part& part) {
      if (part.name.empty()) {
        const auto other = std::find_if(parts.begin(), parts.end(), [](const Part& each) { return !each.name.empty(); });
        part.own.emplace(make_place_anew(*other->pool, part.index));
        part.pool = &*part.own;
      }
      prepare(part, all);
      begin(part, calls, std::move(*next++));
      if (part.pool->is_stager()) open_for_clients(part, all);
      part.node->exchange().do_without({missing.begin(), missing.end()});
    });
  }
  if (problem.empty()) run(parts, [&] { return companions.none_needs_more(); }, waiting);
  // No process goes before what it has to say has been heard.
  static_cast<void>(companions.from_all(""));
  for (Part& part : parts) {
    Recovered recovered;
    if (problem.empty()) recovered = finish(part, calls);
    if (!part.name.empty()) results[part.name] = {part.name, std::move(recovered), problem};
    else if (!problem.empty() && part.own) part.own->remove();   // nothing has been sent there
  }
}

}  // namespace

Recovered recover(const std::string& name, store::SystemCalls& calls, const std::function<void()>& waiting, const std::string& to) {
  if (pool::Pool::process_using(name) == 0 && was_never_finished(name)) {
    shm_unlink(name.c_str());
    return {.outputs = {}, .restored = {}, .hidden = {}, .pool_removed = true};
  }
  pool::Pool pool = claim_remains(name);
  if (!to.empty()) move_outputs_to(pool, to, calls);
  return complete(pool, calls, waiting);
}

Recovered complete(pool::Pool& pool, store::SystemCalls& calls, const std::function<void()>& waiting) {
  std::vector<Part> parts(1);
  parts.front().pool = &pool;
  begin(parts.front(), calls);
  run(parts, [] { return true; }, waiting);
  return finish(parts.front(), calls);
}

void restore_names(const pool::Pool& pool, store::SystemCalls& calls, Recovered& recovered) {
  const auto add = [&](const std::vector<std::string>& restored, const std::vector<std::string>& hidden) {
    recovered.restored.insert(recovered.restored.end(), restored.begin(), restored.end());
    recovered.hidden.insert(recovered.hidden.end(), hidden.begin(), hidden.end());
  };
  for (const drain::OutputTrace& output : recovered.outputs) add(output.restored, output.hidden);
  const drain::Retired left = drain::restore_all(pool, calls);
  add(left.restored, left.hidden);
}

void log(const Recovered& recovered) {
  for (const drain::OutputTrace& output : recovered.outputs) {
    const bool whole = output.state == "published" && output.note.empty();
    base::log(whole ? base::LogLevel::info : base::LogLevel::warning, "'{}': {}, {} step(s){}{}", output.path, output.state,
              output.steps, output.note.empty() ? "" : ": ", output.note);
  }
  if (!recovered.pool_removed) {
    base::log(base::LogLevel::error, "not all could be completed; `glean recover` tries it again");
  }
}

bool try_what_is_kept(pool::Pool& pool, store::SystemCalls& calls) {
  if (!pool::any_is_kept(pool)) return true;
  const Recovered recovered = complete(pool, calls);
  for (const drain::OutputTrace& output : recovered.outputs) {
    if (output.state == "published" || output.state == "removed") continue;
    const bool is_kept = output.state == "postponed";
    const std::string text = fmt::format("'{}' is not published: {}{}", output.path, output.note,
                                         is_kept ? "; it is in memory, and `glean recover` completes it when that is mended" : "");
    base::log(base::LogLevel::error, "{}", text);
    base::leave_note(base::unpublished_note, text + "\n");
  }
  return recovered.pool_removed;
}

std::vector<RecoveredPool> recover_nodes(const std::vector<std::string>& pools, Companions& companions,
                                         store::SystemCalls& calls, const std::function<void()>& waiting, bool stagers_are_lost) {
  std::map<std::string, RecoveredPool> results;
  std::string mine;   // a line for each pool
  for (const std::string& name : pools) {
    try {
      const pool::Pool pool = pool::Pool::attach(name);
      const pool::PoolHeader& header = pool.header();
      mine += fmt::format("{} {} {} {} {} {} {}\n", header.nodes, header.stagers, header.node, header.keeps_until_durable.load(),
                          header.is_made_anew.load(), name, session_of(pool));
    } catch (const base::Error& error) {
      results[name] = {name, {}, error.what()};
    }
  }
  std::map<std::string, Session> sessions;
  const auto all = companions.from_all(mine);
  for (int process = 0; process < companions.count(); ++process) {
    std::istringstream lines(all[static_cast<std::size_t>(process)]);
    int nodes = 0, stagers = 0, node = 0, keeps = 0, is_made_anew = 0;
    for (std::string pool, name;
         lines >> nodes >> stagers >> node >> keeps >> is_made_anew >> pool && std::getline(lines, name);) {
      Session& session = sessions[name];
      session.nodes = nodes;
      session.stagers = stagers;
      session.keeps = session.keeps || (keeps != 0 && node < nodes - stagers);
      // The one that it replaces may be there again, with its host.
      if (is_made_anew != 0 && session.made_anew.insert(node).second) session.seen[node].clear();
      if (is_made_anew != 0 || !session.made_anew.contains(node)) session.seen[node][process] = pool;
    }
  }
  for (const auto& [name, session] : sessions) recover_session(session, companions, calls, waiting, stagers_are_lost, results);
  std::vector<RecoveredPool> list;
  for (auto& [name, result] : results) list.push_back(std::move(result));
  return list;
}

}  // namespace glean::service
