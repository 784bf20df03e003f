// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/messages.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <chrono>
#include <utility>

#include "base/error.hpp"
#include "transport/tcp/connection.hpp"
#include "transport/tcp/meeting.hpp"

namespace glean::transport {
namespace {

constexpr std::size_t addresses_bytes_max = 1000;
constexpr std::chrono::seconds last_words{1};
constexpr std::chrono::seconds between_looks{1};

class TcpMessages final : public Messages {
 public:
  TcpMessages(int self, int peers, std::map<int, Socket> sockets) : self_(self), peers_(peers) {
    for (auto& [peer, socket] : sockets) connections_.try_emplace(peer, std::move(socket), completed_);
    next_ = connections_.begin();
  }
  ~TcpMessages() override;
  TcpMessages(const TcpMessages&) = delete;
  TcpMessages& operator=(const TcpMessages&) = delete;

  [[nodiscard]] int self() const override { return self_; }
  [[nodiscard]] int peers() const override { return peers_; }

  void send(int peer, std::span<const std::byte> head, std::span<const std::byte> body, Token token) override {
    if (head.size() > head_bytes_max) throw base::Error(base::Errc::invalid_argument, fmt::format("a head of {} bytes", head.size()));
    to(peer).send(head, body, token);
  }

  [[nodiscard]] std::optional<Arrival> arrival() override {
    if (auto first = next_arrival()) return first;
    progress();
    if (auto first = next_arrival()) return first;
    for (const auto& [peer, connection] : connections_) {
      if (!connection.loss().empty()) {
        throw base::Error(base::Errc::io, fmt::format("the connection to node {} is lost: {}", peer, connection.loss()));
      }
    }
    return std::nullopt;
  }

  void receive_body(int peer, std::span<std::byte> target, Token token) override { to(peer).receive_body(target, token); }

  [[nodiscard]] std::vector<Token> completed() override {
    progress();
    return std::exchange(completed_, {});
  }

  [[nodiscard]] std::vector<int> descriptors() const override {
    std::vector<int> all;
    for (const auto& [peer, connection] : connections_) all.push_back(connection.descriptor());
    return all;
  }

 private:
  [[nodiscard]] Connection& to(int peer) {
    const auto found = connections_.find(peer);
    if (found == connections_.end()) {
      throw base::Error(base::Errc::invalid_argument, fmt::format("node {} is no neighbour of node {}", peer, self_));
    }
    return found->second;
  }

  // Asks the kernel once for all where something has come: most of the time it is nowhere.
  void progress() {
    readable(0);
    auto polled = polled_.begin();
    for (auto& [peer, connection] : connections_) {
      if ((polled++)->revents != 0) connection.read();
      connection.write();
    }
    const auto now = std::chrono::steady_clock::now();
    if (now < silence_looked_for_ + between_looks) return;
    silence_looked_for_ = now;
    for (auto& [peer, connection] : connections_) connection.notice_silence();
  }

  void readable(int timeout_ms) {
    polled_.clear();
    for (const auto& [peer, connection] : connections_) {
      polled_.push_back({connection.is_full() ? -1 : connection.descriptor(), POLLIN, 0});
    }
    static_cast<void>(::poll(polled_.data(), polled_.size(), timeout_ms));   // a signal: then the next time
  }

  // In turn, so that a peer that says much does not keep the others from being heard.
  [[nodiscard]] std::optional<Arrival> next_arrival() {
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      if (next_ == connections_.end()) next_ = connections_.begin();
      auto& [peer, connection] = *next_++;
      if (auto head = connection.next_head()) return Arrival{peer, std::move(*head)};
    }
    return std::nullopt;
  }

  int self_, peers_;
  std::vector<Token> completed_;
  std::map<int, Connection> connections_;
  std::map<int, Connection>::iterator next_;
  std::vector<pollfd> polled_;
  std::chrono::steady_clock::time_point silence_looked_for_{};
};

// Memory that bodies lie in, or shall, may be gone already: whoever wanted them has not waited.
TcpMessages::~TcpMessages() {
  for (auto& [peer, connection] : connections_) connection.give_up_bodies();
  const auto deadline = std::chrono::steady_clock::now() + last_words;
  for (bool done = false; !done && std::chrono::steady_clock::now() < deadline;) {
    done = true;
    for (auto& [peer, connection] : connections_) done = connection.finish() && done;
    if (!done) readable(1);   // an acknowledgement is no event
  }
}

}  // namespace

TcpDoor::TcpDoor() : socket_(listen_anywhere()), addresses_(addresses_of(socket_, addresses_bytes_max)) {}

std::unique_ptr<Messages> make_tcp_messages(TcpDoor door, int self, int peers, const std::map<int, std::string>& neighbours,
                                            const TcpKey& key, double deadline_seconds) {
  return std::make_unique<TcpMessages>(self, peers, meet(door, Party{self, peers, key}, neighbours, deadline_seconds));
}

}  // namespace glean::transport
