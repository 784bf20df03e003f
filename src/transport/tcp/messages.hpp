// SPDX-License-Identifier: BSD-3-Clause
//
// Messages over TCP, for what moves while the program computes: no MPI, so any one thread may call it at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "transport/messages.hpp"
#include "transport/tcp/socket.hpp"
#include "wire/key.hpp"

namespace glean::transport {

// The secret of a job.
using TcpKey = wire::Key;
[[nodiscard]] TcpKey make_tcp_key();   // random

// Listens on a port of all interfaces from construction on, any free one for 0: a peer that connects early waits. Local. Throws
// base::Error.
class TcpDoor {
 public:
  explicit TcpDoor(std::uint16_t port = 0);
  [[nodiscard]] std::uint16_t port() const;
  // Where others reach this process: the port and the addresses of all interfaces, loopback last, as text of at most 1000 bytes.
  [[nodiscard]] const std::string& addresses() const { return addresses_; }
  [[nodiscard]] const Socket& socket() const { return socket_; }

 private:
  Socket socket_;
  std::string addresses_;
};

// How long messages wait for other nodes once they are connected.
struct TcpPatience {
  double deadline_seconds = 300;    // for a node that messages are to go to; half of it for one whose connection is broken
  double silence_seconds = 30;      // of the other side, after which a connection is taken as broken
  double replaced_seconds = 0;      // for another process in the place of a stager whose process has ended; 0: none comes
  // For a process elsewhere to take the place after that, which look_at() tells; 0: none does. A stager that cannot be reached for
  // replaced_seconds is then taken as ended.
  double taken_over_seconds = 0;
  std::set<int> not_waited_for{};   // neighbours with lower numbers that may come, or not
};

// Connects to those neighbours in the tree: by peer number, what their TcpDoor::addresses() said. Of two, the one with the lower number
// connects, and each proves to the other that it has the key. Every neighbour does it at the same time. Blocks, at most
// `deadline_seconds`.
//
// Throws base::Error: timeout, naming the peers that did not come; permission if one has another key; io; invalid_argument.
//
// Messages may go to others, too, where the neighbours are those of the tree (transport/tree.hpp): the two nodes are introduced to
// each other along it, and connect; what is sent waits meanwhile. send() throws invalid_argument where no way leads, as it does for
// heads above 64 KiB.
//
// A connection that breaks, or whose other end is silent, is made again by the same two processes, and nothing is lost or taken twice.
// A node is lost when its process is gone or has closed its messages, or when it could not be reached again in time. arrival() throws io
// then, or timeout if a connection to another node cannot be made in time, naming the node, as soon as all heads that have come are given
// out. What is sent to that node is dropped, and complete.
//
// Where another process may take the place of a stager (transport/tree.hpp), take_replaced() tells that the one before is gone. A neighbour
// is then looked for at the same port, or connects by itself, as the numbers are; with other nodes a connection is made when something is
// sent to them.
//
// The destructor blocks for a second at most, until heads that were sent are on the other side; bodies and targets that are not complete
// it does not touch.
[[nodiscard]] std::unique_ptr<Messages> make_tcp_messages(TcpDoor door, int self, const Tree& tree,
                                                          const std::map<int, std::string>& neighbours, const TcpKey& key,
                                                          double deadline_seconds, const TcpPatience& patience = {});

}  // namespace glean::transport
