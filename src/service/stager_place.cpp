// SPDX-License-Identifier: BSD-3-Clause
#include "service/stager_place.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "nodes/exchange.hpp"
#include "pool/leaked_chunks.hpp"
#include "service/remains.hpp"
#include "transport/tree.hpp"

namespace glean::service {

void note(pool::Pool& pool, const StagerPlace& place) {
  std::string doors;
  for (const auto& [node, door] : place.doors) doors += std::to_string(node) + ' ' + door + '\n';
  pool::StagerPlace& noted = pool.header().place;
  if (place.restart_seconds == 0 || doors.size() >= noted.doors.size()) return;
  noted.restart_ms = static_cast<std::uint32_t>(std::min(std::ceil(1000 * place.restart_seconds), 4e9));
  noted.key_mark = place.key_mark;
  doors.copy(noted.doors.data(), doors.size());
  noted.port = place.port;
}

StagerPlace place_in(const pool::Pool& pool) {
  const pool::StagerPlace& noted = pool.header().place;
  StagerPlace place{.port = static_cast<std::uint16_t>(noted.port), .restart_seconds = noted.restart_ms / 1000.0,
                    .key_mark = noted.key_mark, .doors = {}};
  std::istringstream lines(std::string(noted.doors.data(), strnlen(noted.doors.data(), noted.doors.size())));
  int node = 0;
  for (std::string door; lines >> node && std::getline(lines >> std::ws, door);) place.doors[node] = door;
  return place;
}

void give_up_place(pool::Pool& pool) { pool.header().place.port = 0; }

std::vector<pool::Pool> claim_left_stagers(const MarkOf& mark_of) {
  std::vector<pool::Pool> claimed;
  std::set<std::string> sessions;
  for (const std::string& name : pool_names()) {
    try {
      if (pool::Pool::process_using(name) != 0) continue;   // mapped, it would be harder to leave alone
      pool::Pool pool = pool::Pool::attach(name);
      const pool::PoolHeader& header = pool.header();
      const std::string session(header.session.data(), strnlen(header.session.data(), header.session.size()));
      const bool is_taken = header.is_made_anew != 0;
      const bool is_left = pool.is_stager() && header.place.port != 0 && header.place.key_mark == mark_of(session, pool);
      if (is_left && (is_taken || !sessions.contains(session)) && pool.claim_all()) {
        if (!is_taken) sessions.insert(session);
        claimed.push_back(std::move(pool));
      }
    } catch (const base::Error&) {
      // Another process has just removed it, or it is of another version: not a stager that this one could be.
    }
  }
  return claimed;
}

void take_place(pool::Pool& pool) {
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    pool::OutputSlot& slot = pool.slot(index);
    const pool::OutputState state = slot.state.load();
    const std::uint64_t job_output = slot.nodes.job_output.load();
    if (state == pool::OutputState::free) continue;
    if (state == pool::OutputState::open) {
      // Writes of a raw output come again, from the beginning: what is written is not so until they have.
      if (pool.header().is_made_anew != 0) slot.writes.job_sent_tick = slot.writes.written_tick = 0;
      slot.nodes.job_parts_durable = 0;   // the nodes say it again: it is not published before they can be told of that
      continue;
    }
    // One that it was just opening has no file yet, and is asked for again.
    if (state != pool::OutputState::opening && job_output != 0) nodes::Exchange::note_end(pool, job_output, slot);
    slot.nodes.job_output = 0;
    slot.state = pool::OutputState::free;
  }
  pool::forget_killed_processes(pool);
  pool.header().lost_nodes = 0;
}

// As nodes::Exchange::have_clients_left() says.
bool have_clients_left(const pool::Pool& pool) {
  const transport::Tree tree(static_cast<int>(pool.header().nodes), static_cast<int>(pool.header().stagers));
  std::vector<int> clients = tree.children_of(static_cast<int>(pool.header().node));
  std::erase_if(clients, [&](int child) { return tree.is_stager(child); });
  if (clients.empty()) {
    clients.resize(static_cast<std::size_t>(tree.clients()));
    std::iota(clients.begin(), clients.end(), 0);
  }
  const std::set<int> left = nodes::Exchange::clients_that_have_left(pool);
  return std::all_of(clients.begin(), clients.end(), [&](int client) { return left.contains(client); });
}

bool holds_any(const pool::Pool& pool) {
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    if (pool.slot(index).state.load() == pool::OutputState::open) return true;
  }
  return false;
}

}  // namespace glean::service
