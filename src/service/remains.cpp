// SPDX-License-Identifier: BSD-3-Clause
#include "service/remains.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <span>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/job_end.hpp"
#include "base/log.hpp"
#include "base/run_notes.hpp"
#include "base/units.hpp"
#include "drain/retired_files.hpp"
#include "pool/lamport_clock.hpp"
#include "store/description.hpp"
#include "pool/journal.hpp"
#include "pool/description.hpp"
#include "pool/name_log.hpp"
#include "pool/other_handles.hpp"
#include "pool/published.hpp"
#include "pool/ranks_of_output.hpp"
#include "pool/spill.hpp"
#include "service/process_life.hpp"
#include "service/stager_place.hpp"
#include "store/parts/part_index.hpp"
#include "store/sums/sidecar.hpp"

namespace glean::service {
namespace {

constexpr char shared_memory[] = "/dev/shm";
constexpr std::string_view prefix = "glean.";

double age_of(std::uint64_t created_realtime_ns) {
  const std::uint64_t now = base::realtime_ns();
  return now > created_realtime_ns ? base::seconds(now - created_realtime_ns) : 0;
}

double age_of_object(const std::string& pool) {
  struct stat status {};
  if (stat((shared_memory + pool).c_str(), &status) != 0) return 0;
  return age_of(static_cast<std::uint64_t>(status.st_mtim.tv_sec) * 1'000'000'000);
}

// Ranks end a step when they close an output that has attributes to come: none of the program's.
void leave_out_closing_step(RemainingOutput& output, std::span<const std::byte> description) {
  if (store::OutputDescription::decode(description).layout.attributes.empty()) return;
  if (output.closed && output.steps_complete != 0) --output.steps_complete;
  output.steps_begun = output.steps_complete;
  output.ranks_behind.clear();
}

RemainingOutput look_at_output(const pool::Pool& pool, pool::OutputKey key) {
  RemainingOutput output;
  const pool::RanksOfOutput ranks = pool::ranks_of_output(pool, key.slot);
  const bool has_ranks = pool.header().ranks != 0;   // a stager knows what it was told
  const std::uint64_t steps = has_ranks ? ranks.steps_ended : pool.slot(key.slot).nodes.job_steps.load(std::memory_order_acquire);
  output.closed = has_ranks ? ranks.all_closed : pool.slot(key.slot).nodes.job_closed.load(std::memory_order_acquire) != 0;
  output.steps_complete = steps;
  output.steps_begun = ranks.most_ended;
  output.ranks_behind = pool::ranks_before_step(pool, key.slot, output.steps_begun > steps ? steps + 1 : 0);
  const pool::OutputSlot& slot = pool.slot(key.slot);
  try {
    const auto description = pool::read_description(pool, key);
    const auto names = store::OutputDescription::decode_names(description.bytes);
    output.path = names.display_path;
    const auto now = pool::new_name_of(pool, key);
    output.final_path = now && !now->is_removed ? now->final_path : names.names.final_path;
    output.is_bytes = names.is_bytes;
    if (output.is_bytes) output.ranks_behind = pool::ranks_with_output_open(pool, key.slot);
    const bool has_final_name = pool::have_others(slot) && pool::leads_to_file_of(slot, names.names.final_path);
    output.in_place = names.is_bytes && (names.names.working_path == names.names.final_path || has_final_name);
    output.synchronized = output.is_bytes && slot.synchronized_writes.load(std::memory_order_acquire) != 0;
    if (description.complete && !output.is_bytes && ranks.any_closed) leave_out_closing_step(output, description.bytes);
    const bool is_kept = output.closed || output.in_place || output.synchronized;
    if (!description.complete) output.problem = "it was just being opened";
    else if (slot.state != pool::OutputState::open) output.problem = "its slot is damaged";
    else if (ranks.any_abandoned) output.problem = "the application has given it up";
    else if (now && now->is_removed) output.problem = "the application has removed it";
    else if (slot.error != 0 && !pool::is_kept(slot) && !pool::is_tried_again(slot)) output.problem = pool::message_of(slot);
    else if (output.is_bytes && !is_kept) output.problem = "not closed by " + base::readable_ranks(output.ranks_behind);
    else if (!output.is_bytes && steps == 0 && !output.closed) output.problem = "it has no complete step";
  } catch (const base::Error& error) {
    output.problem = error.what();
  }
  return output;
}

// A state that none can be is of an output that something has happened to: it is named, not passed over.
bool is_open_or_damaged(pool::OutputState state) {
  return state == pool::OutputState::open || state > pool::OutputState::opening;
}

// A raw output that ranks had open when they ended, and that has all that was captured: no process can do more for it.
std::optional<RemainingOutput> find_whole_in_place(const pool::Pool& pool, std::uint32_t index) {
  const pool::OutputSlot& slot = pool.slot(index);
  if (slot.state != pool::OutputState::open || slot.is_bytes == 0 || slot.error_claimed != 0 || slot.error != 0) return std::nullopt;
  if (slot.writes.written != pool::writes_begun(slot)) return std::nullopt;
  auto output = look_at_output(pool, {index, slot.generation});
  if (output.closed || !output.in_place || !output.problem.empty()) return std::nullopt;
  return output;
}

void add_waiting_bytes(pool::Pool& pool, std::map<pool::OutputKey, RemainingOutput>& outputs) {
  for (int rank = 0; rank < static_cast<int>(pool.header().ranks); ++rank) {
    pool::JournalReader journal(pool, rank, pool::JournalReader::Purpose::look);
    try {
      for (; const pool::Record* record = journal.peek(); journal.advance()) {
        const auto output = outputs.find({record->slot, record->generation});
        if (output == outputs.end() || record->state != pool::RecordState::live) continue;
        output->second.waiting_bytes += record->payload_bytes;
      }
    } catch (const base::Error& error) {
      const std::string problem = "journal of rank " + std::to_string(pool.job_rank(rank)) + ": " + error.what();
      for (auto& [key, output] : outputs) output.problem = problem;
    }
  }
}

// Each of the processes that use the pool has been killed or ends.
bool all_are_ending(const pool::Pool& pool, int user) {
  const auto is_ending = [](int process) { return process == 0 || life_of(process) != ProcessLife::going_on; };
  if (user == 0 || !is_ending(user) || !is_ending(pool.drainer())) return false;
  for (int rank = 0; rank < static_cast<int>(pool.header().ranks); ++rank) {
    if (!is_ending(pool.process_of_rank(rank))) return false;
  }
  return true;
}

bool any_rank_goes_on(const pool::Pool& pool) {
  for (int rank = 0; rank < static_cast<int>(pool.header().ranks); ++rank) {
    if (const int process = pool.process_of_rank(rank); process != 0 && life_of(process) == ProcessLife::going_on) return true;
  }
  return false;
}

}  // namespace

bool was_never_finished(const std::string& name) {
  const int descriptor = shm_open(name.c_str(), O_RDONLY, 0);
  std::array<char, pool::pool_magic.size()> magic{};
  const ssize_t bytes = descriptor < 0 ? -1 : pread(descriptor, magic.data(), magic.size(), 0);
  if (descriptor >= 0) close(descriptor);
  const bool none = bytes >= 0 && std::all_of(magic.begin(), magic.end(), [](char c) { return c == 0; });
  int maker = 0;
  return none && std::sscanf(name.c_str(), "/glean.%*d.%d.", &maker) == 1 && life_of(maker) == ProcessLife::gone;
}

bool any_rank_lives(const pool::Pool& pool) {
  for (int rank = 0; rank < static_cast<int>(pool.header().ranks); ++rank) {
    if (pool.process_of_rank(rank) != 0) return true;
  }
  return false;
}

std::vector<std::string> pool_names() {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(shared_memory, ignored)) {
    const std::string file = entry.path().filename().string();
    if (!file.starts_with(prefix)) continue;
    try {
      static_cast<void>(pool::Pool::process_using("/" + file));
      names.push_back("/" + file);
    } catch (const base::Error&) {
      // Another user's, or gone meanwhile.
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

Remains look_at(const std::string& name) {
  Remains remains;
  remains.pool = name;
  try {
    remains.in_use_by = pool::Pool::process_using(name);
    remains.age_seconds = age_of_object(name);
    if (remains.in_use_by == getpid()) return remains;   // it cannot be mapped twice
    pool::Pool pool = pool::Pool::attach(name);
    const pool::PoolHeader& header = pool.header();
    remains.job.assign(header.job.data(), strnlen(header.job.data(), header.job.size()));
    remains.age_seconds = age_of(header.created_realtime_ns);
    remains.pool_bytes = header.pool_bytes;
    remains.ranks = static_cast<int>(header.ranks);
    remains.session.assign(header.session.data(), strnlen(header.session.data(), header.session.size()));
    remains.nodes = static_cast<int>(header.nodes);
    remains.node = static_cast<int>(header.node);
    remains.is_ending = all_are_ending(pool, remains.in_use_by);
    remains.ranks_live = any_rank_goes_on(pool);
    const int drainer = pool.drainer();
    remains.is_drained = drainer != 0 && life_of(drainer) == ProcessLife::going_on;
    std::map<pool::OutputKey, RemainingOutput> outputs;
    for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
      const pool::OutputSlot& slot = pool.slot(index);
      if (!is_open_or_damaged(slot.state.load(std::memory_order_acquire))) continue;
      const pool::OutputKey key{index, slot.generation};
      outputs.emplace(key, look_at_output(pool, key));
    }
    if (remains.in_use_by == 0) add_waiting_bytes(pool, outputs);
    for (auto& [key, output] : outputs) remains.outputs.push_back(std::move(output));
  } catch (const base::Error& error) {
    remains.problem = error.what();
  }
  return remains;
}

pool::Pool claim_remains(const std::string& name) {
  pool::Pool pool = pool::Pool::attach(name);
  if (!pool.claim_all()) {
    throw base::Error(base::Errc::invalid_state,
                      "the pool '" + name + "' is in use by process " + std::to_string(pool.other_process()));
  }
  if (pool.is_removed()) throw base::Error(base::Errc::not_found, "the pool '" + name + "' was recovered meanwhile");
  return pool;
}

bool wait_while_it_ends(const std::string& name, double seconds, const std::function<void(int)>& tell) {
  constexpr std::uint64_t look_again_us = 20'000;
  const std::uint64_t begin = base::now_ns();
  for (bool is_told = false;; usleep(look_again_us)) {
    const Remains remains = look_at(name);
    if (!remains.is_ending) return remains.in_use_by == 0;
    if (base::seconds(base::now_ns() - begin) >= seconds) return false;
    if (!std::exchange(is_told, true)) tell(remains.in_use_by);
  }
}

bool remove_if_finished(const std::string& name) {
  try {
    if (pool::Pool::process_using(name) != 0) return false;
    if (was_never_finished(name)) return shm_unlink(name.c_str()) == 0;
    pool::Pool pool = claim_remains(name);
    if (pool.header().place.port != 0) return false;   // its job may wait for another process in the place of the stager
    if (pool.is_stager() && !have_clients_left(pool)) return false;
    if (!pool.is_stager() && !pool::spill_files(pool).empty()) return false;   // a stager's is of no use without outputs
    std::vector<RemainingOutput> never_closed;
    for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
      if (!is_open_or_damaged(pool.slot(index).state.load(std::memory_order_acquire))) continue;
      auto output = pool.is_shared() ? std::nullopt : find_whole_in_place(pool, index);   // other nodes may have more of it
      if (!output) return false;
      never_closed.push_back(std::move(*output));
    }
    for (const RemainingOutput& output : never_closed) {
      base::log(base::LogLevel::warning, "'{}': {} of a job that has ended never closed it; all that was captured is in it",
                output.path, base::readable_ranks(output.ranks_behind));
    }
    store::SystemCalls calls;
    static_cast<void>(drain::restore_all(pool, calls));
    pool.remove();
    return true;
  } catch (const base::Error&) {
    return false;   // the process that looks at it is told why
  }
}

bool tell_what_is_kept(const pool::Pool& pool) {
  bool any = false;
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    const pool::OutputSlot& slot = pool.slot(index);
    if (slot.state.load(std::memory_order_acquire) != pool::OutputState::open) continue;
    any = true;
    const bool is_removed = slot.is_renamed.load(std::memory_order_acquire) == pool::is_removed_output;
    if (pool.header().node != 0 || is_removed) continue;   // all nodes have the same
    const std::string text = fmt::format("'{}' is not published: {}; it is in the memory of all nodes, and `mpirun --map-by ppr:1:node "
                                         "glean recover` completes it when that is mended",
                                         look_at_output(pool, {index, slot.generation}).path, pool::message_of(slot));
    base::log(base::LogLevel::error, "{}", text);
    base::leave_note(base::unpublished_note, text + "\n");
  }
  return any;
}

void discard(const std::string& name, store::SystemCalls& calls) {
  std::optional<pool::Pool> pool;
  try {
    pool.emplace(claim_remains(name));
  } catch (const base::Error& error) {
    // What cannot be read cannot be claimed either.
    if (error.code() != base::Errc::io || pool::Pool::process_using(name) != 0) throw;
    shm_unlink(name.c_str());
    return;
  }
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    const pool::OutputSlot& slot = pool->slot(index);
    if (slot.state.load(std::memory_order_acquire) != pool::OutputState::open) continue;
    try {
      const auto description = store::OutputDescription::decode_names(pool::read_description(*pool, {index, slot.generation}).bytes);
      const auto& names = description.names;
      if (description.is_part) store::discard_index(calls, names);
      if (names.working_path != names.final_path) calls.unlink(names.working_path.c_str());
      store::remove_prepared_sidecar(calls, names.final_path);
    } catch (const base::Error&) {
      // There is nothing to be known of its file.
    }
  }
  static_cast<void>(drain::restore_all(*pool, calls));
  pool->remove();
}

}  // namespace glean::service
