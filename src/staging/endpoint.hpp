// SPDX-License-Identifier: BSD-3-Clause
//
// Where a staging service listens, as people write it: "HOST:PORT", "[IPv6]:PORT" or "unix:PATH". No socket here blocks, none is inherited
// by programs that are started.
#pragma once

#include <sys/socket.h>

#include <string>
#include <utility>
#include <vector>

namespace glean::staging {

struct Endpoint {
  sockaddr_storage storage{};
  socklen_t bytes = 0;
  [[nodiscard]] sockaddr* raw() { return reinterpret_cast<sockaddr*>(&storage); }
  [[nodiscard]] const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&storage); }
  [[nodiscard]] bool is_unix() const { return storage.ss_family == AF_UNIX; }
};

// A host's name may have several. Throws base::Error: invalid_argument, not_found for a host that is not known.
[[nodiscard]] std::vector<Endpoint> resolve(const std::string& address);
[[nodiscard]] std::string text_of(const Endpoint& endpoint);   // with a number for the host

// Owns the descriptor of a socket.
class OwnedSocket {
 public:
  explicit OwnedSocket(int descriptor = -1) : descriptor_(descriptor) {}
  OwnedSocket(OwnedSocket&& other) noexcept : descriptor_(other.release()) {}
  OwnedSocket& operator=(OwnedSocket&& other) noexcept;
  OwnedSocket(const OwnedSocket&) = delete;
  OwnedSocket& operator=(const OwnedSocket&) = delete;
  ~OwnedSocket();
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

// A listening socket. A Unix socket that no process listens at is replaced. Throws base::Error.
[[nodiscard]] OwnedSocket listen_at(const std::string& address);
// Where others reach it: an address that means all interfaces becomes theirs, loopback last.
[[nodiscard]] std::vector<std::string> addresses_of(const OwnedSocket& listening);
// Sets what every connection has: no delay, and probes by which a node that is gone is noticed.
void set_up_connection(int descriptor);

}  // namespace glean::staging
