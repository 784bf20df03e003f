// SPDX-License-Identifier: BSD-3-Clause
//
// A TCP connection of this process to itself.
#pragma once

namespace glean::calibrate {

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}   // negative: none
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&&) = delete;
  ~Socket() { close(); }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  // A thread that waits at the other end, to send or to receive, is told at once; one that waits for room would not be told by shutdown().
  void close();

 private:
  int descriptor_;
};

struct Connection {
  Socket near, far;
};

// Throws what the system says. Local.
[[nodiscard]] Connection connect_to_self();

}  // namespace glean::calibrate
