// SPDX-License-Identifier: BSD-3-Clause
//
// What every transport promises, played through: each peer sends messages to all others, with bodies and without, and takes
// what comes. For tests.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "transport/messages.hpp"

namespace glean::transport {

class ContractPlayer {
 public:
  explicit ContractPlayer(Messages& messages) : messages_(messages) {
    for (int number = 0; number < messages_each; ++number) {
      for (int peer = 0; peer < messages_.peers(); ++peer) {
        if (peer != messages_.self()) send({messages_.self(), peer, number});
      }
    }
  }

  [[nodiscard]] bool is_done() const { return left_ == 0 && bodies_to_take_.empty() && moving_.empty(); }
  [[nodiscard]] const std::string& problem() const { return problem_; }

  void progress() {
    while (const auto arrival = messages_.arrival()) take_head(*arrival);
    if (!bodies_to_take_.empty()) take_body();   // one at a time: heads come long before
    for (const Messages::Token token : messages_.completed()) complete(token);
  }

 private:
  static constexpr int messages_each = 30;
  struct Head {
    int from = 0, to = 0, number = 0;
    // None, one that goes along with the head, and one that MPI does not send before it is asked for.
    [[nodiscard]] std::size_t body_bytes() const { return number % 3 == 0 ? 0 : number % 3 == 1 ? 100 : 70'000; }
    [[nodiscard]] std::vector<std::byte> body() const {
      std::vector<std::byte> bytes(body_bytes());
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::byte>(static_cast<std::size_t>(from * 7 + to * 5 + number * 3) + i % 251);
      }
      return bytes;
    }
  };
  struct Moving {
    Head head;
    std::vector<std::byte> bytes;
  };

  void expect(bool holds, const char* what) {
    if (!holds && problem_.empty()) problem_ = "peer " + std::to_string(messages_.self()) + ": " + what;
  }

  void send(Head head) {
    std::byte copied[sizeof head];
    std::memcpy(copied, &head, sizeof head);
    ++left_;   // as many come
    if (head.body_bytes() == 0) return messages_.send(head.to, copied);
    const Moving& sent = moving_[++tokens_] = {head, head.body()};
    messages_.send(head.to, copied, sent.bytes, tokens_);
  }

  void take_head(const Messages::Arrival& arrival) {
    Head head;
    expect(arrival.head.size() == sizeof head, "a head is not as long as it was");
    std::memcpy(&head, arrival.head.data(), sizeof head);
    expect(head.to == messages_.self() && head.from == arrival.peer, "a head is not from whom it says, or for another");
    expect(head.number == next_[arrival.peer]++, "heads of a peer are not in order");
    --left_;
    if (head.body_bytes() != 0) bodies_to_take_.push_back(head);
  }

  void take_body() {
    // That of the peer whose head came last, and of its bodies the first: the order holds between two peers only.
    const int peer = bodies_to_take_.back().from;
    const auto taken = std::find_if(bodies_to_take_.begin(), bodies_to_take_.end(), [&](const Head& one) { return one.from == peer; });
    const Head head = *taken;
    bodies_to_take_.erase(taken);
    Moving& received = moving_[++tokens_] = {head, std::vector<std::byte>(head.body_bytes())};
    messages_.receive_body(head.from, received.bytes, tokens_);
  }

  void complete(Messages::Token token) {
    const auto moved = moving_.extract(token);
    expect(!moved.empty(), "something is complete that is not on its way");
    if (!moved.empty()) expect(moved.mapped().bytes == moved.mapped().head.body(), "a body is not what was sent");
  }

  Messages& messages_;
  std::string problem_;
  int left_ = 0;
  Messages::Token tokens_ = 0;
  std::map<int, int> next_;   // by peer
  std::deque<Head> bodies_to_take_;
  std::map<Messages::Token, Moving> moving_;
};

// `mine`: the peers of this process; the others play elsewhere at the same time. The first thing that is not as promised.
[[nodiscard]] inline std::string play_contract(const std::vector<Messages*>& mine) {
  std::list<ContractPlayer> players;
  for (Messages* messages : mine) players.emplace_back(*messages);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (bool done = false; !done;) {
    done = true;
    for (ContractPlayer& player : players) {
      player.progress();
      done = done && player.is_done();
      if (!player.problem().empty()) return player.problem();
    }
    if (std::chrono::steady_clock::now() > deadline) return "not everything arrives";
    std::this_thread::yield();
  }
  return {};
}

}  // namespace glean::transport
