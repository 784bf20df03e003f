// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/socket.hpp"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>

#include "base/error.hpp"
#include "base/interfaces.hpp"

namespace glean::transport {
namespace {

// A node that cannot be reached any more is noticed by probes where nothing is on its way, otherwise by is_silent(). The kernel would
// take hours and a quarter of one. Its TCP_USER_TIMEOUT does not tell a dead node from a process that is stopped while data for it wait:
// it gives up both.
constexpr int probes = 4;
constexpr unsigned repetitions = 3;

void set(int descriptor, int level, int option, int value) {
  static_cast<void>(::setsockopt(descriptor, level, option, &value, sizeof value));   // no connection is worse without
}

void set_up_connection(int descriptor) {
  set(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
}

sockaddr* as_sockaddr(Address& address) { return reinterpret_cast<sockaddr*>(&address.storage); }
const sockaddr* as_sockaddr(const Address& address) { return reinterpret_cast<const sockaddr*>(&address.storage); }

Address any_address(int family) {
  Address any;
  any.storage.ss_family = static_cast<sa_family_t>(family);   // port and address are zero: a free one, all of them
  any.bytes = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  return any;
}

std::uint16_t& port_in(Address& address) {
  return address.storage.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address.storage).sin6_port
                                               : reinterpret_cast<sockaddr_in&>(address.storage).sin_port;
}

Address address_of(const std::string& host, std::uint16_t port) {
  Address address;
  auto& v4 = reinterpret_cast<sockaddr_in&>(address.storage);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address.storage);
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    address.bytes = sizeof v4;
  } else if (::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    address.bytes = sizeof v6;
  }
  return address;
}

Moved moved(ssize_t result) {
  if (result >= 0) return {.bytes = static_cast<std::size_t>(result)};
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {};
  return {.error = errno};
}

}  // namespace

std::uint16_t port_of(const Address& address) {
  Address copy = address;
  return ntohs(port_in(copy));
}

Address with_port(const Address& address, std::uint16_t port) {
  Address changed = address;
  port_in(changed) = htons(port);
  return changed;
}

HostAddress host_of(const Address& address) {
  HostAddress host{};
  if (address.storage.ss_family == AF_INET6) {
    std::memcpy(host.data(), &reinterpret_cast<const sockaddr_in6&>(address.storage).sin6_addr, host.size());
  } else {
    host[10] = host[11] = 0xff;
    std::memcpy(host.data() + 12, &reinterpret_cast<const sockaddr_in&>(address.storage).sin_addr, 4);
  }
  return host;
}

std::string text_of(const Address& address) {
  if (address.bytes == 0) return "somewhere";
  const std::string host = base::numeric_host(*as_sockaddr(address));
  const std::string of_ipv4 = "::ffff:";
  return (host.starts_with(of_ipv4) ? host.substr(of_ipv4.size()) : host) + " port " + std::to_string(port_of(address));
}

Address own_address(const Socket& socket) {
  Address own;
  own.bytes = sizeof own.storage;
  return ::getsockname(socket.descriptor(), as_sockaddr(own), &own.bytes) == 0 ? own : Address{};
}

Address far_address(const Socket& socket) {
  Address far;
  far.bytes = sizeof far.storage;
  return ::getpeername(socket.descriptor(), as_sockaddr(far), &far.bytes) == 0 ? far : Address{};
}

void Socket::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

Socket listen_anywhere(std::uint16_t port) {
  int error = 0;
  for (const int family : {AF_INET6, AF_INET}) {   // the first takes IPv4, too; kernels may be without it
    Socket socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (socket.is_open()) {
      if (family == AF_INET6) set(socket.descriptor(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
      set(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, 1);   // another process may take the port while connections are not forgotten yet
      const Address any = with_port(any_address(family), port);
      const bool is_bound = ::bind(socket.descriptor(), as_sockaddr(any), any.bytes) == 0;
      if (is_bound && ::listen(socket.descriptor(), SOMAXCONN) == 0) return socket;
    }
    error = errno;
  }
  throw base::system_error(error, "cannot listen for other nodes" + (port == 0 ? "" : " at port " + std::to_string(port)));
}

std::string addresses_of(const Socket& listening, std::size_t most_bytes) {
  const Address own = own_address(listening);
  if (own.bytes == 0) throw base::system_error(errno, "cannot listen for other nodes");
  std::string text = std::to_string(port_of(own));
  for (const std::string& host : base::interface_addresses(true, own.storage.ss_family == AF_INET6)) {
    if (text.size() + 1 + host.size() <= most_bytes) text += ' ' + host;
  }
  return text;
}

std::vector<Address> parse_addresses(const std::string& text) {
  std::istringstream words(text);
  std::string word;
  words >> word;
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), port);
  std::vector<Address> addresses;
  bool good = error == std::errc() && end == word.data() + word.size() && port != 0;
  while (good && words >> word) {
    addresses.push_back(address_of(word, port));
    good = addresses.back().bytes != 0;
  }
  if (!good || addresses.empty()) throw base::Error(base::Errc::invalid_argument, "no addresses of a process: '" + text + "'");
  return addresses;
}

Started start_connecting(const Address& to) {
  Started started{Socket(::socket(to.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0))};
  if (!started.socket.is_open()) return {.error = errno};
  set_up_connection(started.socket.descriptor());
  if (::connect(started.socket.descriptor(), as_sockaddr(to), to.bytes) != 0 && errno != EINPROGRESS && errno != EINTR) {
    return {.error = errno};
  }
  return started;
}

int connecting_error(const Socket& socket) {
  pollfd one{socket.descriptor(), POLLOUT, 0};
  if (::poll(&one, 1, 0) <= 0) return EINPROGRESS;
  int error = 0;
  socklen_t bytes = sizeof error;
  if (::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) return errno;
  if (error != 0) return error;
  const Address own = own_address(socket), far = far_address(socket);
  const bool is_itself = own.bytes != 0 && own.bytes == far.bytes && std::memcmp(&own.storage, &far.storage, own.bytes) == 0;
  return is_itself ? ECONNREFUSED : 0;
}

Started accept_one(const Socket& listening) {
  Started started{Socket(::accept4(listening.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC))};
  if (!started.socket.is_open()) return {.error = errno == EWOULDBLOCK ? EAGAIN : errno};
  set_up_connection(started.socket.descriptor());
  return started;
}

Moved receive(const Socket& socket, std::span<std::byte> first, std::span<std::byte> second) {
  std::array<iovec, 2> parts{iovec{first.data(), first.size()}, iovec{second.data(), second.size()}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = second.empty() ? 1 : 2;
  const ssize_t result = ::recvmsg(socket.descriptor(), &message, 0);
  if (result == 0) return {.is_end = true};
  return moved(result);
}

Moved send(const Socket& socket, std::span<const std::byte> first, std::span<const std::byte> second, std::span<const std::byte> third) {
  std::array<iovec, 3> parts{};
  std::size_t count = 0;
  for (const auto part : {first, second, third}) {
    if (!part.empty()) parts[count++] = {const_cast<std::byte*>(part.data()), part.size()};
  }
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  return moved(::sendmsg(socket.descriptor(), &message, MSG_NOSIGNAL));
}

void watch_for_silence(const Socket& socket, double seconds) {
  const auto part = [&](int of) { return std::max(1, static_cast<int>(seconds / of)); };
  set(socket.descriptor(), SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket.descriptor(), IPPROTO_TCP, TCP_KEEPIDLE, part(3));
  set(socket.descriptor(), IPPROTO_TCP, TCP_KEEPINTVL, part(6));
  set(socket.descriptor(), IPPROTO_TCP, TCP_KEEPCNT, probes);
}

bool is_silent(const Socket& socket, double seconds) {
  tcp_info info{};
  socklen_t bytes = sizeof info;
  if (::getsockopt(socket.descriptor(), IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return false;
  const bool is_asked = info.tcpi_retransmits >= repetitions || info.tcpi_probes >= repetitions;
  return is_asked && info.tcpi_last_ack_recv > seconds * 1000;
}

std::size_t unacknowledged_bytes(const Socket& socket) {
  int bytes = 0;
  return ::ioctl(socket.descriptor(), SIOCOUTQ, &bytes) == 0 ? static_cast<std::size_t>(bytes) : 0;
}

}  // namespace glean::transport
