// SPDX-License-Identifier: BSD-3-Clause
//
// The connections of a process to its neighbours: it looks for those with higher numbers, and waits for the others.
#pragma once

#include <map>
#include <string>

#include "transport/tcp/handshake.hpp"
#include "transport/tcp/messages.hpp"

namespace glean::transport {

// By peer; both sides have proved themselves. As make_tcp_messages(), which makes messages of them.
[[nodiscard]] std::map<int, Socket> meet(const TcpDoor& door, const Party& party, const std::map<int, std::string>& neighbours,
                                         double deadline_seconds);

}  // namespace glean::transport
