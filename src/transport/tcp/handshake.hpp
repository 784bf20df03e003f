// SPDX-License-Identifier: BSD-3-Clause
//
// How two processes prove to each other that they are of one job: docs/formats/tcp.md. Nothing here blocks.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "transport/tcp/messages.hpp"
#include "transport/tcp/socket.hpp"
#include "wire/proof.hpp"

namespace glean::transport {

// Drawn at random by each process: another one with the same number has another one.
using Incarnation = wire::Nonce;

// What this process is.
struct Party {
  int self = 0;
  int peers = 0;
  TcpKey key{};
  Incarnation incarnation{};
  std::uint16_t port = 0;   // where it listens
};

struct Hello {
  std::array<char, 8> magic{};
  std::uint32_t version = 0;
  std::uint32_t from = 0, to = 0;
  std::uint32_t peers = 0;
  wire::Nonce nonce{};
  Incarnation incarnation{};          // of the sender
  Incarnation met_before{};           // that it wants to meet again; zeros: it has met none
  std::uint64_t attempt = 0;          // of the side that connects: each is the next one
  HostAddress host{};                 // of the sender, as it sees this connection itself
  std::uint32_t port = 0;             // where the sender listens
  std::uint32_t zero = 0;
};
static_assert(sizeof(Hello) == 152);

// A process that has proved itself.
struct Counterpart {
  Incarnation incarnation{};
  std::uint64_t attempt = 0;          // that the last connection was
  std::optional<Address> door;        // where it listens, unless something in between hides that
};

struct Answer {
  Hello hello;
  wire::Proof proof;
};
static_assert(sizeof(Answer) == sizeof(Hello) + sizeof(wire::Proof));

enum class Progress { waits, done, failed };

// A record that arrives in pieces.
template <class Record>
class Awaited {
 public:
  [[nodiscard]] Moved receive_from(const Socket& socket) {
    const Moved moved = receive(socket, std::as_writable_bytes(std::span(&record_, 1)).subspan(bytes_));
    bytes_ += moved.bytes;
    return moved;
  }
  [[nodiscard]] bool is_there() const { return bytes_ == sizeof(Record); }
  [[nodiscard]] const Record& operator*() const { return record_; }
  [[nodiscard]] const Record* operator->() const { return &record_; }

 private:
  Record record_{};
  std::size_t bytes_ = 0;
};

// An address may be of an interface that is not connected to this node, or lead to some other process: the next one is tried soon,
// whatever becomes of it.
inline constexpr std::chrono::milliseconds between_addresses{250};

// What the two sides have in common.
class Handshake {
 public:
  [[nodiscard]] const Socket& socket() const { return socket_; }
  // Why it has failed, and whether because the keys differ.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] bool has_other_key() const { return has_other_key_; }

 protected:
  Handshake(const Party& party, Socket socket) : party_(&party), socket_(std::move(socket)) {}
  Progress fail(const std::string& problem);
  // done: the record is there.
  template <class Record>
  Progress receive(Awaited<Record>& record);

  const Party* party_;
  Socket socket_;
  std::string problem_;
  bool has_other_key_ = false;
};

// The side that connects. The party must outlive it.
class Approach : public Handshake {
 public:
  Approach(const Party& party, int peer, const Address& address);
  // To the process that has been met before, and no other.
  Approach(const Party& party, int peer, const Address& address, const Counterpart& met_before);
  // done: the other side has proved itself, and waits for confirm().
  Progress progress();
  [[nodiscard]] bool is_connecting() const { return is_connecting_; }
  // It has failed because no process listens at that address, or one of this job does that is not the same as before.
  [[nodiscard]] bool finds_none() const { return finds_none_; }
  // The connection, when the last word is said: of several to one peer only one is confirmed.
  [[nodiscard]] Socket confirm();
  [[nodiscard]] Counterpart counterpart() const { return {answer_->hello.incarnation, own_.attempt, address_}; }
  [[nodiscard]] const Address& address() const { return address_; }

 private:
  void start();
  Progress find_none(const std::string& problem);
  [[nodiscard]] Progress connected(int error);
  [[nodiscard]] Progress answered();

  Address address_;
  Hello own_;
  bool is_connecting_ = true, finds_none_ = false;
  Awaited<Answer> answer_;
};

// The side that has been connected to, perhaps by a stranger.
class Reception : public Handshake {
 public:
  Reception(const Party& party, Socket socket) : Handshake(party, std::move(socket)), far_(far_address(this->socket())) {}
  // done: the other side is peer().
  Progress progress();
  // -1: it has not said so yet. Proved only when all is done.
  [[nodiscard]] int peer() const { return peer_; }
  [[nodiscard]] const Address& from() const { return far_; }
  [[nodiscard]] Counterpart counterpart() const;
  [[nodiscard]] const Incarnation& met_before() const { return hello_->met_before; }
  [[nodiscard]] Socket take() { return std::move(socket_); }

 private:
  Progress answer();

  Address far_;
  int peer_ = -1;
  Awaited<Hello> hello_;
  Hello own_;
  Awaited<wire::Proof> proof_;
};

}  // namespace glean::transport
