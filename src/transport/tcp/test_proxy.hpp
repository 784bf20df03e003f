// SPDX-License-Identifier: BSD-3-Clause
//
// A proxy in front of a process: what goes through it can be cut, swallowed and damaged. For tests.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "transport/tcp/socket.hpp"

namespace glean::transport {

// What becomes of a connection when so many bytes have gone through it, of both directions together.
struct Fate {
  enum class Is { passed_on, closed, reset, swallowed, damaged } is = Is::passed_on;
  std::uint64_t after = 0;
};

// Each connection to it becomes one to the process. What it swallows the kernel has acknowledged to the sender; a connection of which
// something has been swallowed ends at cut(), or when nothing has come for some milliseconds.
class Proxy {
 public:
  // `fate_of`: of the connection with that number, from 0; called by the proxy's thread.
  Proxy(const std::string& addresses, std::function<Fate(int)> fate_of, bool cuts_when_still = true)
      : target_(with_port(parse_addresses("1 127.0.0.1").front(), port_of(parse_addresses(addresses).front()))),
        fate_of_(std::move(fate_of)), cuts_when_still_(cuts_when_still), socket_(listen_anywhere()), thread_([this] { run(); }) {}
  ~Proxy() {
    ends_.store(true);
    thread_.join();
  }
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  [[nodiscard]] std::string addresses() const { return std::to_string(port_of(own_address(socket_))) + " 127.0.0.1"; }
  [[nodiscard]] int connections() const { return connections_.load(); }
  [[nodiscard]] std::uint64_t swallowed_bytes() const { return swallowed_bytes_.load(); }
  // All connections that are there now.
  void cut() {
    cuts_.store(true);
    while (cuts_.load()) std::this_thread::yield();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds still{5};
  struct Pair {
    std::array<Socket, 2> ends;
    std::array<std::vector<std::byte>, 2> waiting{};   // for the end with that number
    Fate fate;
    std::uint64_t passed = 0;
    bool is_ending = false, is_reset = false, is_over = false, has_swallowed = false;
    Clock::time_point last = Clock::now();
  };

  void run() {
    while (!ends_.load()) {
      std::vector<pollfd> polled = {{socket_.descriptor(), POLLIN, 0}};
      for (const Pair& pair : pairs_) {
        for (std::size_t end : {0, 1}) {
          const int events = (pair.waiting[1 - end].empty() ? POLLIN : 0) | (pair.waiting[end].empty() ? 0 : POLLOUT);
          polled.push_back({pair.ends[end].descriptor(), static_cast<short>(events), 0});
        }
      }
      ::poll(polled.data(), polled.size(), 1);
      accept();
      for (Pair& pair : pairs_) move(pair);
      if (cuts_.load()) pairs_.clear();
      cuts_.store(false);
      pairs_.remove_if([](const Pair& pair) { return pair.is_over; });
    }
  }

  void accept() {
    Started near = accept_one(socket_);
    if (near.error != 0) return;
    Started far = start_connecting(target_);
    int error = far.error;
    while (error == 0 || error == EINPROGRESS) {
      error = connecting_error(far.socket);
      if (error == 0) break;
    }
    if (error != 0) return;   // the process is gone: the connection to the proxy ends
    Pair& pair = pairs_.emplace_back();
    pair.ends = {std::move(near.socket), std::move(far.socket)};
    pair.fate = fate_of_(connections_++);
  }

  void move(Pair& pair) {
    for (std::size_t to : {0, 1}) {
      auto& waiting = pair.waiting[to];
      if (waiting.empty() && !pair.is_ending && !pair.is_over) take(pair, pair.ends[1 - to], waiting);
      if (waiting.empty()) continue;
      const Moved moved = send(pair.ends[to], waiting);
      waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(moved.bytes));
      if (moved.error != 0) pair.is_over = true;
    }
    if (pair.has_swallowed && cuts_when_still_ && Clock::now() > pair.last + still) pair.is_ending = pair.is_reset = true;
    if (pair.is_ending && pair.waiting[0].empty() && pair.waiting[1].empty()) end(pair);
  }

  void take(Pair& pair, const Socket& from, std::vector<std::byte>& into) {
    std::array<std::byte, 16384> bytes;
    const Moved moved = receive(from, bytes);
    if (moved.is_end || moved.error != 0) pair.is_ending = true;
    if (moved.bytes == 0) return;
    pair.last = Clock::now();
    std::size_t good = moved.bytes;
    if (pair.fate.is != Fate::Is::passed_on) good = std::min<std::size_t>(good, pair.fate.after - std::min(pair.fate.after, pair.passed));
    pair.passed += good;
    into.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(good));
    if (good == moved.bytes) return;
    if (pair.fate.is == Fate::Is::damaged) {
      bytes[good] ^= std::byte{4};
      into.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(moved.bytes));
      pair.fate.is = Fate::Is::passed_on;
    } else if (pair.fate.is == Fate::Is::swallowed) {
      pair.has_swallowed = true;
      swallowed_bytes_ += moved.bytes - good;
    } else {
      pair.is_ending = true;
      pair.is_reset = pair.fate.is == Fate::Is::reset;
    }
  }

  static void end(Pair& pair) {
    const linger at_once{1, 0};
    for (const Socket& socket : pair.ends) {
      if (pair.is_reset) ::setsockopt(socket.descriptor(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    pair.is_over = true;
  }

  const Address target_;
  const std::function<Fate(int)> fate_of_;
  const bool cuts_when_still_;
  const Socket socket_;
  std::list<Pair> pairs_;
  std::atomic<int> connections_{0};
  std::atomic<std::uint64_t> swallowed_bytes_{0};
  std::atomic<bool> ends_{false}, cuts_{false};
  std::thread thread_;
};

}  // namespace glean::transport
