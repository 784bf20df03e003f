// SPDX-License-Identifier: BSD-3-Clause
//
// For tests: the processes that recover a job of two nodes, played by threads.
#pragma once

#include <atomic>
#include <barrier>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "service/recovery.hpp"
#include "transport/local_messages.hpp"

namespace glean::tests {

// Another's messages, until a number of them has been asked for.
class BrokenMessages final : public transport::Messages {
 public:
  BrokenMessages(std::unique_ptr<transport::Messages> whole, int& left) : whole_(std::move(whole)), left_(left) {}
  [[nodiscard]] int self() const override { return whole_->self(); }
  [[nodiscard]] int peers() const override { return left_ < 0 ? throw base::Error(base::Errc::io, "no cable") : whole_->peers(); }
  void send(int peer, std::span<const std::byte> head, std::span<const std::byte> body, Token token) override {
    whole_->send(peer, head, body, token);
  }
  [[nodiscard]] std::optional<Arrival> arrival() override {
    if (--left_ < 0) throw base::Error(base::Errc::io, "no cable");
    return whole_->arrival();
  }
  void receive_body(int peer, std::span<std::byte> target, Token token) override { whole_->receive_body(peer, target, token); }
  [[nodiscard]] std::vector<Token> completed() override { return whole_->completed(); }

 private:
  std::unique_ptr<transport::Messages> whole_;
  int& left_;
};

// One process with all nodes, or each node in a thread that plays a process.
class Played {
 public:
  static constexpr int nodes = 2;

  explicit Played(int processes) : said_(static_cast<std::size_t>(processes)), all_(processes) {}

  class Process final : public service::Companions {
   public:
    Process(Played& played, int self) : played_(played), self_(self) {}
    [[nodiscard]] int self() const override { return self_; }
    [[nodiscard]] int count() const override { return static_cast<int>(played_.said_.size()); }
    [[nodiscard]] std::vector<std::string> from_all(const std::string& mine) override {
      played_.said_[static_cast<std::size_t>(self_)] = mine;
      played_.all_.arrive_and_wait();
      auto all = played_.said_;
      played_.all_.arrive_and_wait();
      return all;
    }
    [[nodiscard]] std::vector<std::unique_ptr<transport::Messages>> messages(const std::vector<int>& mine,
                                                                             const std::vector<int>&) override {
      std::vector<std::unique_ptr<transport::Messages>> messages;
      for (const int node : mine) {
        messages.push_back(played_.network_.messages(node));
        if (node == 1) messages.back() = std::make_unique<BrokenMessages>(std::move(messages.back()), played_.arrivals_of_node_1);
      }
      return messages;
    }
    // The processes recover one job.
    [[nodiscard]] bool none_needs_more() override {
      if (!std::exchange(is_done_, true)) ++played_.done_;
      return played_.done_ == count();
    }

   private:
    Played& played_;
    int self_;
    bool is_done_ = false;
  };

  int arrivals_of_node_1 = 1'000'000;

 private:
  std::vector<std::string> said_;
  std::barrier<> all_;
  std::atomic<int> done_ = 0;
  transport::LocalNetwork network_{nodes};
};

}  // namespace glean::tests
