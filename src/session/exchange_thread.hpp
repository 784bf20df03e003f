// SPDX-License-Identifier: BSD-3-Clause
//
// Nodes of a program that knows nothing of the session tell each other how far they are in a thread of each leader, over TCP: the program
// is in calls of the library when it likes, and MPI is for its own threads.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "nodes/exchange.hpp"
#include "session/nodes.hpp"

namespace glean::session {

class ExchangeThread {
 public:
  // Connects this node to its neighbours in the tree of nodes. Everything must outlive it. Throws on all leaders or none. Collective over
  // the leaders, blocks at most for the deadline.
  ExchangeThread(pool::Pool& pool, drain::Engine& engine, const Nodes& nodes, double deadline_seconds);
  // Ends it as soon as no node needs anything of this one, or nothing has moved for some seconds. Blocks.
  ~ExchangeThread();
  ExchangeThread(const ExchangeThread&) = delete;
  ExchangeThread& operator=(const ExchangeThread&) = delete;

  // From now on a neighbour that ends is no loss if nothing is needed of it. Local.
  void let_others_end() { others_may_end_.store(true); }
  // This node or another still needs something of an output. Local.
  [[nodiscard]] bool holds_any() const { return holds_any_.load(std::memory_order_acquire); }

 private:
  void run();
  void exchange_until_the_end();
  void listen() const;

  pool::Pool& pool_;
  std::unique_ptr<transport::Messages> messages_;
  std::unique_ptr<nodes::Exchange> exchange_;
  std::atomic<bool> ends_{false}, has_ended_{false}, others_may_end_{false}, holds_any_{false};
  std::thread thread_;
};

}  // namespace glean::session
