// SPDX-License-Identifier: BSD-3-Clause
#include "base/interfaces.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <array>
#include <cerrno>
#include <memory>

#include "base/error.hpp"

namespace glean::base {
namespace {

// Means nothing without the name of an interface of the other side.
bool is_link_local(const sockaddr& address) {
  return address.sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

}  // namespace

std::string numeric_host(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = address.sa_family == AF_INET6
                          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr)
                          : &reinterpret_cast<const sockaddr_in&>(address).sin_addr;
  return ::inet_ntop(address.sa_family, bytes, text.data(), text.size()) == nullptr ? "?" : text.data();
}

std::vector<std::string> interface_addresses(bool with_ipv4, bool with_ipv6) {
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) != 0) throw system_error(errno, "cannot list the network interfaces");
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(found, &::freeifaddrs);
  std::vector<std::string> hosts, loopback;
  for (const ifaddrs* each = all.get(); each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_UP) == 0) continue;
    const auto family = each->ifa_addr->sa_family;
    if (!(family == AF_INET && with_ipv4) && !(family == AF_INET6 && with_ipv6)) continue;
    if (is_link_local(*each->ifa_addr)) continue;
    ((each->ifa_flags & IFF_LOOPBACK) != 0 ? loopback : hosts).push_back(numeric_host(*each->ifa_addr));
  }
  hosts.insert(hosts.end(), loopback.begin(), loopback.end());
  return hosts;
}

}  // namespace glean::base
