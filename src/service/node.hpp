// SPDX-License-Identifier: BSD-3-Clause
//
// The one loop of everything that drains a node's pool: a thread of a rank, a helper process, a rank that is set aside, and recovery.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "drain/engine.hpp"
#include "nodes/exchange.hpp"
#include "pool/pool.hpp"
#include "transport/messages.hpp"

namespace glean::service {

// A pool, the engine that drains it, and, of a job of several nodes, what this one exchanges with the others. It knows nothing of
// ranks: a node may have none.
class Node {
 public:
  // Alone. Pool and engine must outlive it, here and below.
  Node(pool::Pool& pool, drain::Engine& engine) : pool_(pool), engine_(engine) {}
  // One of several. `blocks`: as nodes::Exchange has it.
  Node(pool::Pool& pool, drain::Engine& engine, std::unique_ptr<transport::Messages> messages,
       std::unique_ptr<transport::Messages> blocks = nullptr);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  [[nodiscard]] pool::Pool& pool() { return pool_; }
  [[nodiscard]] drain::Engine& engine() { return engine_; }
  // Only of one of several. Any thread may ask it what it may be asked while another one runs the loop.
  [[nodiscard]] nodes::Exchange& exchange() { return *exchange_; }
  // This node or another still needs something of an output. Local.
  [[nodiscard]] bool holds_any() const { return exchange_ && exchange_->holds_any(); }
  // Nothing more is exchanged: the connections end, and so the others hear of it. No other thread may be in run().
  void part();

  // Moves on whatever can move without waiting. True: something has. Local, does not block.
  bool turn();
  // Turns again and again, and sleeps in between until ranks, the drain or a message wake it. `ends`, which is asked before every turn:
  // nothing new is to come of this node; from then on `is_over` is asked after every turn, with the seconds that nothing has moved for.
  // Throws what a lost connection comes to. Blocks.
  using Ends = std::function<bool()>;
  using IsOver = std::function<bool(double still_seconds)>;
  void run(const Ends& ends, const IsOver& is_over);
  // Runs several nodes that one thread plays.
  static void run(std::span<Node* const> nodes, const Ends& ends, const IsOver& is_over);

 private:
  class Listener;

  pool::Pool& pool_;
  drain::Engine& engine_;
  std::unique_ptr<transport::Messages> messages_, blocks_;
  std::unique_ptr<nodes::Exchange> exchange_;
};

// Other nodes cannot be reached any more: all ranks and threads that wait on the pool hear it. Local.
void tell_of_loss(pool::Pool& pool, const base::Error& error);

}  // namespace glean::service
