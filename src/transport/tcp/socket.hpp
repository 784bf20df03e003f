// SPDX-License-Identifier: BSD-3-Clause
//
// What the transport needs of the kernel's sockets: none blocks, none is inherited by programs that are started.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace glean::transport {

// Owns a socket, or none.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    close();
    descriptor_ = std::exchange(other.descriptor_, -1);
    return *this;
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() { close(); }

  [[nodiscard]] int descriptor() const { return descriptor_; }   // -1: none
  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }
  void close();

 private:
  int descriptor_ = -1;
};

// Where a process can be reached.
struct Address {
  sockaddr_storage storage{};
  socklen_t bytes = 0;
};

// A host's address, whatever the socket is of: IPv4 as ::ffff:a.b.c.d.
using HostAddress = std::array<std::uint8_t, 16>;
[[nodiscard]] HostAddress host_of(const Address& address);
[[nodiscard]] Address with_port(const Address& address, std::uint16_t port);
[[nodiscard]] std::string text_of(const Address& address);   // for people

// What a call has moved. An error is an errno.
struct Moved {
  std::size_t bytes = 0;   // 0 without the others: nothing at present
  bool is_end = false;
  int error = 0;
};

// A listening socket at that port of all interfaces; 0: at a free one. Throws base::Error.
[[nodiscard]] Socket listen_anywhere(std::uint16_t port = 0);
// "<port> <address> <address> ...", at most `most_bytes`: of all interfaces that are up, loopback last. Throws base::Error.
[[nodiscard]] std::string addresses_of(const Socket& listening, std::size_t most_bytes);
// Reads such a text. Throws base::Error(invalid_argument).
[[nodiscard]] std::vector<Address> parse_addresses(const std::string& text);

struct Started {
  Socket socket{};
  int error = 0;
};
// A connection on its way; it is there, or has failed, when the socket can be written to.
[[nodiscard]] Started start_connecting(const Address& to);
// Whether it is there: an errno, EINPROGRESS while it is on its way. A socket that has met itself, as the kernel allows at a port that no
// process listens at, counts as refused.
[[nodiscard]] int connecting_error(const Socket& socket);
// The next connection that has come. EAGAIN: none.
[[nodiscard]] Started accept_one(const Socket& listening);
// Of the two ends of a connection. Zeros: it has none any more.
[[nodiscard]] Address own_address(const Socket& socket);
[[nodiscard]] Address far_address(const Socket& socket);
[[nodiscard]] std::uint16_t port_of(const Address& address);

// `first` is not empty; one goes on where the one before ends.
[[nodiscard]] Moved receive(const Socket& socket, std::span<std::byte> first, std::span<std::byte> second = {});
[[nodiscard]] Moved send(const Socket& socket, std::span<const std::byte> first, std::span<const std::byte> second = {},
                         std::span<const std::byte> third = {});
// Has the kernel ask the other side's kernel again and again when nothing is on its way, so that is_silent() can tell.
void watch_for_silence(const Socket& socket, double seconds);
// The other side's kernel has been asked again and again, and has said nothing for so long: there is no way to that node, or it is gone.
// The kernel of a process that is only stopped does answer.
[[nodiscard]] bool is_silent(const Socket& socket, double seconds);
// How much of what was sent the other side's kernel does not have yet.
[[nodiscard]] std::size_t unacknowledged_bytes(const Socket& socket);

}  // namespace glean::transport
