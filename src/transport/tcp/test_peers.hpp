// SPDX-License-Identifier: BSD-3-Clause
//
// Peers of one process, and what they come to. For tests.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/test_error.hpp"
#include "transport/tcp/messages.hpp"

namespace glean::transport {

inline constexpr double long_enough = 60;   // for what has to come

inline std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline std::string text_of(const std::vector<std::byte>& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

using Neighbours = std::map<int, std::vector<int>>;

inline Neighbours all_neighbours(int peers) {
  Neighbours neighbours;
  for (int one = 0; one < peers; ++one) {
    for (int other = 0; other < peers; ++other) {
      if (other != one) neighbours[one].push_back(other);
    }
  }
  return neighbours;
}

struct Making {
  // Where one peer looks for another one that is at these addresses.
  std::function<std::string(int from, int to, const std::string& addresses)> way = [](int, int, const std::string& there) { return there; };
  TcpPatience patience{};
  int stagers = 0;
};

// Peers of this process, each made by a thread of its own.
inline std::vector<std::unique_ptr<Messages>> make_peers(const Neighbours& neighbours, const Making& how = {}) {
  const auto key = make_tcp_key();
  const int peers = static_cast<int>(neighbours.size());
  std::vector<TcpDoor> doors(neighbours.size());
  std::vector<std::string> addresses;
  for (const TcpDoor& door : doors) addresses.push_back(door.addresses());
  std::vector<std::future<std::unique_ptr<Messages>>> making;
  for (const auto& [peer, others] : neighbours) {
    std::map<int, std::string> reached;
    for (const int other : others) reached[other] = how.way(peer, other, addresses[static_cast<std::size_t>(other)]);
    making.push_back(std::async(std::launch::async, [&, reached, self = peer] {
      return make_tcp_messages(std::move(doors[static_cast<std::size_t>(self)]), self, Tree(peers, how.stagers), reached, key, long_enough,
                               how.patience);
    }));
  }
  std::vector<std::unique_ptr<Messages>> made;
  for (auto& each : making) made.push_back(each.get());
  return made;
}

// At the same time, so that none waits for the answer of another one.
inline void end_peers(std::vector<std::unique_ptr<Messages>>& peers) {
  std::vector<std::thread> ending;
  for (auto& peer : peers) ending.emplace_back([&peer] { peer.reset(); });
  for (auto& each : ending) each.join();
}

template <class Condition>
bool comes_true(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

inline Messages::Arrival next_arrival(Messages& messages) {
  std::optional<Messages::Arrival> arrival;
  EXPECT_TRUE(comes_true([&] { return (arrival = messages.arrival()).has_value(); }));
  return arrival.value_or(Messages::Arrival{});
}

// The error that arrival() comes to.
inline base::Error next_error(Messages& messages) {
  std::optional<base::Error> error;
  EXPECT_TRUE(comes_true([&] {
    try {
      EXPECT_FALSE(messages.arrival());
    } catch (const base::Error& thrown) {
      error = thrown;
    }
    return error.has_value();
  }));
  return error.value_or(base::Error(base::Errc::invalid_state, "no error"));
}

using base::error_of;

// A connection of a process that has an address only.
inline Socket stranger(const TcpDoor& door) {
  for (const Address& address : parse_addresses(door.addresses())) {
    Started started = start_connecting(address);
    if (started.error == 0 && comes_true([&] { return connecting_error(started.socket) != EINPROGRESS; }) &&
        connecting_error(started.socket) == 0) {
      return std::move(started.socket);
    }
  }
  ADD_FAILURE() << "no way to " << door.addresses();
  return {};
}

}  // namespace glean::transport
