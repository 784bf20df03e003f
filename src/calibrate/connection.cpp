// SPDX-License-Identifier: BSD-3-Clause
#include "calibrate/connection.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.hpp"

namespace glean::calibrate {
namespace {

[[noreturn]] void fail() { throw base::system_error(errno, "cannot make a connection within this node"); }

int made(int descriptor) {
  if (descriptor < 0) fail();
  return descriptor;
}

}  // namespace

Socket::Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

void Socket::close() {
  if (const int descriptor = std::exchange(descriptor_, -1); descriptor >= 0) ::close(descriptor);
}

Connection connect_to_self() {
  const Socket listener(made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  Socket near(made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  if (bind(listener.descriptor(), generic, length) != 0 || listen(listener.descriptor(), 1) != 0 ||
      getsockname(listener.descriptor(), generic, &length) != 0 || connect(near.descriptor(), generic, length) != 0) {
    fail();
  }
  Socket far(made(accept4(listener.descriptor(), nullptr, nullptr, SOCK_CLOEXEC)));
  const int yes = 1;
  for (const Socket* each : {&near, &far}) setsockopt(each->descriptor(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return {std::move(near), std::move(far)};
}

}  // namespace glean::calibrate
