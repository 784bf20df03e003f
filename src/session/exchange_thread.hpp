// SPDX-License-Identifier: BSD-3-Clause
//
// Where threads of this process drain one of several nodes: a thread of the aggregator tells the other nodes how far this one is, over TCP,
// whatever the program does meanwhile. Blocks of data go the same way, or over MPI inside the program's calls: a session chooses once.
#pragma once

#include <mpi.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "base/settings.hpp"
#include "service/node.hpp"
#include "session/nodes.hpp"
#include "staging/place_search.hpp"

namespace glean::session {

// Connects this node to its neighbours in the tree of nodes; `aggregators` has a rank of each. Throws on all or none. Collective, blocks at
// most for the deadline.
[[nodiscard]] std::unique_ptr<transport::Messages> connect_nodes(MPI_Comm aggregators, double deadline_seconds);

// What "auto" means on this node: tcp, unless it has a port into a fabric that MPI knows better how to use. Local.
[[nodiscard]] base::ExchangeOver choose_exchange(base::ExchangeOver setting);

class ExchangeThread {
 public:
  // Everything must outlive it. `blocks`: what blocks of data go over, if not over `messages` like all the rest. `others`: which nodes
  // the others are, for the message when one is lost.
  ExchangeThread(pool::Pool& pool, drain::Engine& engine, std::unique_ptr<transport::Messages> messages,
                 std::unique_ptr<transport::Messages> blocks, std::string others = {});
  // Ends it as soon as no node needs anything of this one, or nothing has moved for some seconds. Blocks.
  ~ExchangeThread();
  ExchangeThread(const ExchangeThread&) = delete;
  ExchangeThread& operator=(const ExchangeThread&) = delete;

  [[nodiscard]] nodes::Exchange& exchange() { return node_->exchange(); }
  // Where stagers write for nodes that keep what is not durable: places of those that are lost are looked for so.
  void find_places(const staging::JobPlaces& job, const wire::Key& key_of_service);
  // Inside a call of the program: moves the blocks that go over MPI. Local, does not block.
  void move_blocks() { exchange().move_blocks(); }
  // Moves blocks as long as some move, 100 ms at most: other nodes may send as long as they put, and this one's program would stand still
  // for it. What does not come now comes in a later call, or in the background.
  void move_blocks_on();
  // From now on a neighbour that ends is no loss if nothing is needed of it. Local.
  void let_others_end() { others_may_end_.store(true); }
  // This node or another still needs something of an output. Local.
  [[nodiscard]] bool holds_any() const { return node_->holds_any(); }

 private:
  void run();

  pool::Pool& pool_;
  std::string others_;
  std::unique_ptr<staging::PlaceSearch> search_;
  std::unique_ptr<service::Node> node_;
  std::atomic<bool> ends_{false}, others_may_end_{false};
  std::thread thread_;
};

}  // namespace glean::session
