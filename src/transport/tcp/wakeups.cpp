// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/wakeups.hpp"

#include <cerrno>

#include "base/error.hpp"

namespace glean::transport {

Wakeups::Wakeups() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_.is_open()) throw base::system_error(errno, "cannot wait for connections of other nodes");
}

std::span<const Wakeups::Event> Wakeups::wait(int timeout_ms) {
  std::array<epoll_event, std::tuple_size_v<decltype(events_)>> found;
  const int count = ::epoll_wait(epoll_.descriptor(), found.data(), static_cast<int>(found.size()), timeout_ms);
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    events_[at] = {found[at].data.u32, found[at].events};
  }
  return {events_.data(), static_cast<std::size_t>(count < 0 ? 0 : count)};   // a signal: then the next time
}

void Wakeups::control(int operation, const Socket& socket, std::uint32_t whose, std::uint32_t events) {
  if (!socket.is_open()) return;
  epoll_event event{};
  event.events = events;
  event.data.u32 = whose;
  if (::epoll_ctl(epoll_.descriptor(), operation, socket.descriptor(), &event) != 0) {
    throw base::system_error(errno, "cannot wait for a connection of another node");
  }
}

}  // namespace glean::transport
