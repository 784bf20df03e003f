// SPDX-License-Identifier: BSD-3-Clause
//
// Messages between threads of one process, for nodes that are only played.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <utility>

#include "transport/messages.hpp"

namespace glean::transport {

// What the peers share. With a seed, messages and completions are held back for a while, at random.
class LocalNetwork {
 public:
  explicit LocalNetwork(int peers, unsigned seed = 0, int stagers = 0)
      : tree_(peers, stagers), posts_(static_cast<std::size_t>(peers)), random_(seed), delays_(seed != 0) {}
  [[nodiscard]] std::unique_ptr<Messages> messages(int self);
  [[nodiscard]] int peers() const { return static_cast<int>(posts_.size()); }

 private:
  friend class LocalMessages;
  struct Body {
    int from;
    std::span<const std::byte> bytes;
    Messages::Token token;
  };
  struct Post {
    std::deque<Messages::Arrival> heads;
    std::deque<Body> bodies;
    std::vector<Messages::Token> completed;
  };
  [[nodiscard]] bool is_late() { return delays_ && random_() % 3 != 0; }

  const Tree tree_;
  std::mutex mutex_;
  std::vector<Post> posts_;
  std::mt19937 random_;
  bool delays_;
};

class LocalMessages final : public Messages {
 public:
  LocalMessages(LocalNetwork& network, int self) : network_(network), self_(self) {}
  [[nodiscard]] int self() const override { return self_; }
  [[nodiscard]] int peers() const override { return static_cast<int>(network_.posts_.size()); }
  [[nodiscard]] Tree tree() const override { return network_.tree_; }

  void send(int peer, std::span<const std::byte> head, std::span<const std::byte> body, Token token) override {
    const std::lock_guard lock(network_.mutex_);
    auto& post = network_.posts_[static_cast<std::size_t>(peer)];
    post.heads.push_back({self_, {head.begin(), head.end()}});
    if (!body.empty()) post.bodies.push_back({self_, body, token});
  }

  [[nodiscard]] std::optional<Arrival> arrival() override {
    const std::lock_guard lock(network_.mutex_);
    auto& heads = mine().heads;
    if (heads.empty() || network_.is_late()) return std::nullopt;
    Arrival first = std::move(heads.front());
    heads.pop_front();
    return first;
  }

  void receive_body(int peer, std::span<std::byte> target, Token token) override {
    const std::lock_guard lock(network_.mutex_);
    auto& bodies = mine().bodies;
    const auto body = std::find_if(bodies.begin(), bodies.end(), [&](const auto& each) { return each.from == peer; });
    std::copy(body->bytes.begin(), body->bytes.end(), target.begin());
    network_.posts_[static_cast<std::size_t>(peer)].completed.push_back(body->token);
    mine().completed.push_back(token);
    bodies.erase(body);
  }

  [[nodiscard]] std::vector<Token> completed() override {
    const std::lock_guard lock(network_.mutex_);
    if (network_.is_late()) return {};
    return std::exchange(mine().completed, {});
  }

 private:
  [[nodiscard]] LocalNetwork::Post& mine() { return network_.posts_[static_cast<std::size_t>(self_)]; }
  LocalNetwork& network_;
  int self_;
};

inline std::unique_ptr<Messages> LocalNetwork::messages(int self) { return std::make_unique<LocalMessages>(*this, self); }

}  // namespace glean::transport
