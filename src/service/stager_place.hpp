// SPDX-License-Identifier: BSD-3-Clause
//
// How another process takes the place of a stager whose process has ended: it goes on with what is in the pool, while the other nodes of
// the job look for it at the same port.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pool/pool.hpp"

namespace glean::service {

// What it needs besides the pool.
struct StagerPlace {
  using KeyMark = std::array<std::byte, 16>;
  std::uint16_t port = 0;              // where the stager waits for other nodes
  double restart_seconds = 0;          // for which they look for another process; 0: not at all
  KeyMark key_mark{};                  // only a service with the key of the one before has it
  std::map<int, std::string> doors;    // where neighbours with higher numbers wait, as transport::TcpDoor::addresses() says
};

// Notes it in the pool. Local.
void note(pool::Pool& pool, const StagerPlace& place);
[[nodiscard]] StagerPlace place_in(const pool::Pool& pool);
// The stager ends as it should: none takes its place. Local.
void give_up_place(pool::Pool& pool);
// Pools on this host of stagers that were killed, and whose places this process has claimed: one of each job, and those that the process
// before had taken besides, of stagers that were lost. `mark_of`: none for what is not to be looked for. Local.
using MarkOf = std::function<std::optional<StagerPlace::KeyMark>(const std::string& session, const pool::Pool& left)>;
[[nodiscard]] std::vector<pool::Pool> claim_left_stagers(const MarkOf& mark_of);
// After that, before a drain begins: what the process before was just at is undone or forgotten. Of an output that it was just opening
// there is nothing: its client asks for it again. Local.
void take_place(pool::Pool& pool);
// Some output of it is not complete. Local.
[[nodiscard]] bool holds_any(const pool::Pool& pool);
// The job has ended well for all that this stager knows: its clients have left. Until then recovery needs the pool, also an empty one, to
// tell it from one that is lost. Local.
[[nodiscard]] bool have_clients_left(const pool::Pool& pool);

}  // namespace glean::service
