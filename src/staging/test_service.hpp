// SPDX-License-Identifier: BSD-3-Clause
//
// A service to be asked, and strangers that come to it. For tests.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/test_error.hpp"
#include "staging/control_client.hpp"
#include "staging/control_server.hpp"
#include "staging/endpoint.hpp"

namespace glean::staging {

inline constexpr double long_enough = 60;   // for what has to come

struct TemporaryDirectory {
  TemporaryDirectory() { EXPECT_NE(mkdtemp(path.data()), nullptr); }
  ~TemporaryDirectory() { std::filesystem::remove_all(path); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::string path = testing::TempDir() + "glean-staging-XXXXXX";
};

using base::error_of;

template <class Condition>
bool comes_true(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// Says to whatever it is asked: {"asked": request, "by": connection}; "fail" throws.
inline nlohmann::json echo(const nlohmann::json& request, const Peer& peer) {
  if (request == "fail") throw base::Error(base::Errc::no_space, "no room for the job 'x\xff'", "take another stager");
  if (request == "break") throw std::out_of_range("a bug");
  return {{"asked", request}, {"by", peer.connection}};
}

inline ControlServer::Options options_at(std::vector<std::string> listen = {"127.0.0.1:0"}) {
  ControlServer::Options options;
  options.listen = std::move(listen);
  options.key = wire::make_key();
  return options;
}

// A connection of a process that has an address only.
class Stranger {
 public:
  explicit Stranger(const std::string& address) {
    const Endpoint endpoint = resolve(address).front();
    socket_ = OwnedSocket(::socket(endpoint.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(socket_.descriptor(), endpoint.raw(), endpoint.bytes), 0);
  }
  void say(std::span<const std::byte> bytes) const {
    static_cast<void>(::send(socket_.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  }
  // What comes next, within a minute; nothing if it is sent away.
  [[nodiscard]] std::vector<std::byte> hear() const {
    std::vector<std::byte> bytes(256);
    pollfd one{socket_.descriptor(), POLLIN, 0};
    const bool has_come = ::poll(&one, 1, 60'000) > 0;
    EXPECT_TRUE(has_come);
    const ssize_t result = has_come ? ::recv(socket_.descriptor(), bytes.data(), bytes.size(), 0) : 0;
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(result, 0)));
    return bytes;
  }
  [[nodiscard]] bool is_sent_away() const {
    while (!hear().empty()) continue;
    return !testing::Test::HasFailure();
  }

 private:
  OwnedSocket socket_;
};

}  // namespace glean::staging
