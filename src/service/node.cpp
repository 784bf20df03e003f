// SPDX-License-Identifier: BSD-3-Clause
#include "service/node.hpp"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/signals_blocked.hpp"
#include "pool/futex.hpp"

namespace glean::service {
namespace {

// Where a message wakes the loop, and where nothing but the pool does.
constexpr std::uint64_t nap_ns = 100'000'000, nap_alone_ns = 50'000'000;
// Where messages have to be looked for: at once while data moves, and less often the longer nothing does.
constexpr std::uint64_t shortest_nap_ns = 100'000, longest_nap_ns = 2'000'000;
constexpr int listening_ms = 100;
constexpr unsigned reading_us = 50;

}  // namespace

// The loop sleeps on a word of the pool, by which ranks and the drain wake it: here messages do.
class Node::Listener {
 public:
  Listener(pool::Pool& pool, int descriptor) : pool_(pool), descriptor_(descriptor) {
    const base::SignalsBlocked blocked;
    thread_ = std::thread([this] { listen(); });
  }
  ~Listener() {
    ends_.store(true);
    thread_.join();
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

 private:
  void listen() const {
    pthread_setname_np(pthread_self(), "glean-listen");
    while (!ends_.load()) {
      pollfd polled{descriptor_, POLLIN, 0};
      if (poll(&polled, 1, listening_ms) <= 0) continue;
      pool::futex_signal(pool_.header().progress);
      usleep(reading_us);   // meanwhile it is read
    }
  }

  pool::Pool& pool_;
  int descriptor_;
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

Node::Node(pool::Pool& pool, drain::Engine& engine, std::unique_ptr<transport::Messages> messages,
           std::unique_ptr<transport::Messages> blocks)
    : pool_(pool), engine_(engine), messages_(std::move(messages)), blocks_(std::move(blocks)),
      exchange_(std::make_unique<nodes::Exchange>(pool, engine, *messages_, blocks_.get())) {}

void Node::part() {
  exchange_->stop();
  messages_.reset();
}

bool Node::turn() {
  engine_.adopt_now();   // a rank may wait for that
  return exchange_ && exchange_->progress();
}

void Node::run(const Ends& ends, const IsOver& is_over) {
  pool::PoolHeader& header = pool_.header();
  const auto descriptor = messages_ ? messages_->descriptor() : std::nullopt;
  std::optional<Listener> listener;
  if (descriptor) listener.emplace(pool_, *descriptor);
  const bool looks = exchange_ && !descriptor;
  std::uint64_t nap = looks ? shortest_nap_ns : exchange_ ? nap_ns : nap_alone_ns;
  for (std::uint64_t moved_ns = base::now_ns();;) {
    const std::uint32_t seen = header.progress.load(std::memory_order_acquire);
    const bool does_end = ends();
    const bool moves = turn();
    if (moves || !does_end) moved_ns = base::now_ns();
    if (does_end && is_over(base::seconds(base::now_ns() - moved_ns))) return;
    if (!moves) pool::futex_wait(header.progress, seen, nap);
    if (!looks) continue;
    const bool is_busy = moves || exchange_->is_moving() || header.progress.load(std::memory_order_acquire) != seen;
    nap = is_busy ? shortest_nap_ns : std::min(2 * nap, exchange_->holds_any() ? longest_nap_ns : nap_alone_ns);
  }
}

void Node::run(std::span<const std::unique_ptr<Node>> nodes, const Ends& ends, const IsOver& is_over) {
  if (nodes.size() == 1) return nodes.front()->run(ends, is_over);
  for (std::uint64_t moved_ns = base::now_ns();;) {
    const bool does_end = ends();
    bool moves = false;
    for (const auto& node : nodes) moves = node->turn() || moves;
    if (moves || !does_end) moved_ns = base::now_ns();
    if (does_end && is_over(base::seconds(base::now_ns() - moved_ns))) return;
    if (!moves) std::this_thread::sleep_for(std::chrono::nanoseconds(shortest_nap_ns));
  }
}

void tell_of_loss(pool::Pool& pool, const base::Error& error) {
  base::log(base::LogLevel::error, "node {}: {}", pool.header().node, error.what());   // before anybody fails because of it
  pool.header().lost_nodes.store(1, std::memory_order_release);
  pool::futex_signal(pool.header().progress);
}

}  // namespace glean::service
