// SPDX-License-Identifier: BSD-3-Clause
#include "staging/endpoint.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "base/interfaces.hpp"

namespace glean::staging {
namespace {

constexpr std::string_view unix_prefix = "unix:";
constexpr int backlog = 4096;   // a flood of connections shall leave room for others
constexpr int idle_seconds = 20, probe_seconds = 10, probes = 4;

[[noreturn]] void refuse(const std::string& address, const std::string& why) {
  throw base::Error(base::Errc::invalid_argument, fmt::format("'{}' is no address of a staging service: {}", address, why),
                    "write HOST:PORT, [IPv6]:PORT or unix:PATH");
}

Endpoint unix_endpoint(const std::string& address) {
  const std::string path = address.substr(unix_prefix.size());
  Endpoint endpoint;
  auto& target = reinterpret_cast<sockaddr_un&>(endpoint.storage);
  if (path.empty()) refuse(address, "the path is missing");
  if (path.size() >= sizeof target.sun_path) {
    refuse(address, fmt::format("the path of a Unix socket has at most {} bytes", sizeof target.sun_path - 1));
  }
  target.sun_family = AF_UNIX;
  std::memcpy(target.sun_path, path.c_str(), path.size() + 1);
  endpoint.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return endpoint;
}

void set(int descriptor, int level, int option, int value) {
  static_cast<void>(::setsockopt(descriptor, level, option, &value, sizeof value));   // no connection is worse without
}

OwnedSocket socket_for(const Endpoint& endpoint) {
  return OwnedSocket(::socket(endpoint.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

// What a service that was killed has left in the file system.
void remove_if_dead(const Endpoint& endpoint) {
  const char* path = reinterpret_cast<const sockaddr_un&>(endpoint.storage).sun_path;
  struct stat status {};
  if (::lstat(path, &status) != 0 || !S_ISSOCK(status.st_mode)) return;
  const OwnedSocket visitor = socket_for(endpoint);
  if (::connect(visitor.descriptor(), endpoint.raw(), endpoint.bytes) != 0 && errno == ECONNREFUSED) ::unlink(path);
}

// An errno.
int listen_with(const OwnedSocket& socket, const Endpoint& endpoint) {
  if (socket.descriptor() < 0) return errno;
  if (!endpoint.is_unix()) set(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (endpoint.storage.ss_family == AF_INET6) set(socket.descriptor(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (endpoint.is_unix()) remove_if_dead(endpoint);
  if (::bind(socket.descriptor(), endpoint.raw(), endpoint.bytes) != 0) return errno;
  if (endpoint.is_unix()) ::chmod(reinterpret_cast<const sockaddr_un&>(endpoint.storage).sun_path, 0600);
  return ::listen(socket.descriptor(), backlog) == 0 ? 0 : errno;
}

std::uint16_t port_of(const Endpoint& endpoint) {
  return ntohs(endpoint.storage.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(endpoint.storage).sin6_port
                                                      : reinterpret_cast<const sockaddr_in&>(endpoint.storage).sin_port);
}

std::string text_of_host(const std::string& host, std::uint16_t port) {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

bool means_all_interfaces(const Endpoint& endpoint) {
  if (endpoint.storage.ss_family == AF_INET) return reinterpret_cast<const sockaddr_in&>(endpoint.storage).sin_addr.s_addr == INADDR_ANY;
  if (endpoint.storage.ss_family != AF_INET6) return false;
  return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6&>(endpoint.storage).sin6_addr);
}

}  // namespace

std::vector<Endpoint> resolve(const std::string& address) {
  if (address.compare(0, unix_prefix.size(), unix_prefix) == 0) return {unix_endpoint(address)};
  const auto colon = address.rfind(':');
  if (colon == std::string::npos) refuse(address, "the port is missing");
  std::string host = address.substr(0, colon);
  const std::string digits = address.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size()) refuse(address, fmt::format("'{}' is no port", digits));
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  else if (host.find(':') != std::string::npos) refuse(address, "an IPv6 address has brackets around it");
  if (host.empty()) refuse(address, "the host is missing");

  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int problem = ::getaddrinfo(host.c_str(), digits.c_str(), &wanted, &found);
  if (problem != 0) {
    throw base::Error(base::Errc::not_found, fmt::format("the host of '{}' is not known: {}", address, gai_strerror(problem)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
  std::vector<Endpoint> endpoints;
  for (const addrinfo* each = all.get(); each != nullptr; each = each->ai_next) {
    Endpoint& endpoint = endpoints.emplace_back();
    std::memcpy(&endpoint.storage, each->ai_addr, each->ai_addrlen);
    endpoint.bytes = each->ai_addrlen;
  }
  return endpoints;
}

std::string text_of(const Endpoint& endpoint) {
  if (!endpoint.is_unix()) return text_of_host(base::numeric_host(*endpoint.raw()), port_of(endpoint));
  const bool has_path = endpoint.bytes > offsetof(sockaddr_un, sun_path);
  return std::string(unix_prefix) + (has_path ? reinterpret_cast<const sockaddr_un&>(endpoint.storage).sun_path : "");
}

OwnedSocket& OwnedSocket::operator=(OwnedSocket&& other) noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = other.release();
  return *this;
}

OwnedSocket::~OwnedSocket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

OwnedSocket listen_at(const std::string& address) {
  int error = 0;
  for (const Endpoint& endpoint : resolve(address)) {   // of a host's addresses the first that this node has
    OwnedSocket socket = socket_for(endpoint);
    error = listen_with(socket, endpoint);
    if (error == 0) return socket;
  }
  if (error == EADDRINUSE) {
    throw base::Error(base::Errc::exists, fmt::format("another process listens at '{}'", address), "stop it, or choose another address");
  }
  throw base::system_error(error, fmt::format("cannot listen at '{}'", address));
}

std::vector<std::string> addresses_of(const OwnedSocket& listening) {
  Endpoint own;
  own.bytes = sizeof own.storage;
  if (::getsockname(listening.descriptor(), own.raw(), &own.bytes) != 0) {
    throw base::system_error(errno, "cannot tell where a socket listens");
  }
  if (!means_all_interfaces(own)) return {text_of(own)};
  std::vector<std::string> addresses;
  for (const std::string& host : base::interface_addresses(true, own.storage.ss_family == AF_INET6)) {
    addresses.push_back(text_of_host(host, port_of(own)));
  }
  return addresses;
}

void set_up_connection(int descriptor) {
  set(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
  set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, idle_seconds);
  set(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, probe_seconds);
  set(descriptor, IPPROTO_TCP, TCP_KEEPCNT, probes);
}

}  // namespace glean::staging
