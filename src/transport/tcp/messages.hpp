// SPDX-License-Identifier: BSD-3-Clause
//
// Messages over TCP, for what moves while the program computes: no MPI, so any one thread may call it at any time.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "transport/messages.hpp"
#include "transport/tcp/socket.hpp"
#include "wire/key.hpp"

namespace glean::transport {

// The secret of a job.
using TcpKey = wire::Key;
[[nodiscard]] TcpKey make_tcp_key();   // random

// Listens on any free port of all interfaces from construction on: a peer that connects early waits. Local. Throws base::Error.
class TcpDoor {
 public:
  TcpDoor();
  // Where others reach this process: the port and the addresses of all interfaces, loopback last, as text of at most 1000 bytes.
  [[nodiscard]] const std::string& addresses() const { return addresses_; }
  [[nodiscard]] const Socket& socket() const { return socket_; }

 private:
  Socket socket_;
  std::string addresses_;
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
// A connection that breaks, or whose other end has been silent for `silence_seconds`, is made again by the same two processes, and
// nothing is lost or taken twice. A node is lost when its process is gone or has closed its messages, or when it could not be reached
// again for half of `later_deadline_seconds`. arrival() throws io then, or timeout if a connection to another node cannot be made in
// all of it, naming the node, as soon as all heads that have come are given out. What is sent to that node is dropped, and complete.
//
// The destructor blocks for a second at most, until heads that were sent are on the other side; bodies and targets that are not complete
// it does not touch.
[[nodiscard]] std::unique_ptr<Messages> make_tcp_messages(TcpDoor door, int self, const Tree& tree,
                                                          const std::map<int, std::string>& neighbours, const TcpKey& key,
                                                          double deadline_seconds, double later_deadline_seconds = 300,
                                                          double silence_seconds = 30);

}  // namespace glean::transport
