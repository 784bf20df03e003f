// SPDX-License-Identifier: BSD-3-Clause
//
// Messages between the processes of a session that exchange data: one of each node. Nothing here blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "transport/tree.hpp"

namespace glean::transport {

using base::Bytes;

// Not thread-safe. A message has a head of a few hundred bytes and perhaps a body, which goes from where it lies to where it
// shall be without being copied. Messages from one peer arrive in the order in which it has sent them.
class Messages {
 public:
  using Token = std::uint64_t;   // of the caller; says what is complete

  virtual ~Messages() = default;
  [[nodiscard]] virtual int self() const = 0;
  [[nodiscard]] virtual int peers() const = 0;   // with this one
  // Along which the peers tell each other what all of them have to know.
  [[nodiscard]] virtual Tree tree() const { return Tree(peers()); }

  // The head is copied; the body must stay as it is until completed() gives the token, which it does only where there is one.
  virtual void send(int peer, std::span<const std::byte> head, std::span<const std::byte> body, Token token) = 0;
  void send(int peer, std::span<const std::byte> head) { send(peer, head, {}, 0); }

  struct Arrival {
    int peer = 0;
    std::vector<std::byte> head;
  };
  // The next message that has come, without its body.
  [[nodiscard]] virtual std::optional<Arrival> arrival() = 0;
  // The next body of that peer shall go there; bodies are taken in the order of their heads. It is there when completed()
  // gives the token.
  virtual void receive_body(int peer, std::span<std::byte> target, Token token) = 0;
  // What has been sent or received since the last call.
  [[nodiscard]] virtual std::vector<Token> completed() = 0;
  // That peer has said its last: it is no loss that its connection ends, where there is one.
  virtual void let_go(int /*peer*/) {}
  // Peers whose process has ended, where another one is to take the place: what was on the way to them and from them is gone, bodies too,
  // and what is sent from now on the new process gets. Each time is returned once.
  [[nodiscard]] virtual std::vector<int> take_replaced() { return {}; }
  // The place of that neighbour, whose process has ended, is elsewhere now, as its TcpDoor::addresses() says: it is looked for there only.
  virtual void look_at(int /*peer*/, const std::string& /*addresses*/) {}
  // Another process has the place of that peer, which is no neighbour: take_replaced() returns it if that has not been noticed before.
  virtual void has_another(int /*peer*/) {}
  // As far as is known the process of that peer, which is a neighbour, gets what is sent now.
  [[nodiscard]] virtual bool reaches(int /*peer*/) const { return true; }
  // A file that can be read when something may have come, or can go on, for a caller that would rather wait for that. None: it has to be
  // looked for.
  [[nodiscard]] virtual std::optional<int> descriptor() const { return std::nullopt; }
};

}  // namespace glean::transport
