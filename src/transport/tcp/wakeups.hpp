// SPDX-License-Identifier: BSD-3-Clause
//
// One file that can be read when something has happened at any of many sockets (epoll).
#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <span>

#include "transport/tcp/socket.hpp"

namespace glean::transport {

class Wakeups {
 public:
  static constexpr std::uint32_t meetings = ~std::uint32_t{0};   // whose: of processes that have not proved themselves
  static constexpr std::uint32_t changes = EPOLLIN | EPOLLOUT | EPOLLET;   // events: whenever something has happened
  Wakeups();   // throws base::Error
  // `whose`: what an event says. `events`: of epoll, such as EPOLLIN. A socket that is closed is no more among them.
  void add(const Socket& socket, std::uint32_t whose, std::uint32_t events) { control(EPOLL_CTL_ADD, socket, whose, events); }
  void change(const Socket& socket, std::uint32_t whose, std::uint32_t events) { control(EPOLL_CTL_MOD, socket, whose, events); }
  struct Event {
    std::uint32_t whose = 0, events = 0;
  };
  // What has happened, after `timeout_ms` at most; valid until the next call.
  [[nodiscard]] std::span<const Event> wait(int timeout_ms);
  [[nodiscard]] int descriptor() const { return epoll_.descriptor(); }

 private:
  void control(int operation, const Socket& socket, std::uint32_t whose, std::uint32_t events);

  Socket epoll_;   // owns a descriptor as any other
  std::array<Event, 64> events_{};
};

}  // namespace glean::transport
