// SPDX-License-Identifier: BSD-3-Clause
//
// Where this node can be reached.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

namespace glean::base {

// IPv4 or IPv6, as a number.
[[nodiscard]] std::string numeric_host(const sockaddr& address);
// Of all interfaces that are up, without IPv6 link-local ones, loopback last. Throws base::Error.
[[nodiscard]] std::vector<std::string> interface_addresses(bool with_ipv4, bool with_ipv6);

}  // namespace glean::base
