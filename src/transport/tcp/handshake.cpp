// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/handshake.hpp"

#include <bit>
#include <cerrno>
#include <system_error>

namespace glean::transport {
namespace {

static_assert(std::endian::native == std::endian::little);   // records go as they lie in memory

constexpr std::array<char, 8> magic = {'G', 'L', 'E', 'A', 'N', 't', 'c', 'p'};
constexpr std::uint32_t version = 3;

Hello make_hello(const Party& party, int to) {
  return {.magic = magic, .version = version, .from = static_cast<std::uint32_t>(party.self), .to = static_cast<std::uint32_t>(to),
          .peers = static_cast<std::uint32_t>(party.peers), .nonce = wire::make_nonce(), .incarnation = party.incarnation,
          .port = party.port};
}

wire::Hellos hellos_of(const Hello& connecting, const Hello& accepting) {
  return {std::as_bytes(std::span(&connecting, 1)), std::as_bytes(std::span(&accepting, 1))};
}

// A new connection has room for so few bytes, or is broken.
bool send_at_once(const Socket& socket, std::span<const std::byte> bytes) { return send(socket, bytes).bytes == bytes.size(); }

std::string words_of(int error) { return std::generic_category().message(error); }

}  // namespace

Progress Handshake::fail(const std::string& problem) {
  problem_ = problem;
  socket_.close();
  return Progress::failed;
}

template <class Record>
Progress Handshake::receive(Awaited<Record>& record) {
  const Moved moved = record.receive_from(socket_);
  if (moved.is_end) return fail("the connection was closed");
  if (moved.error != 0) return fail(words_of(moved.error));
  return record.is_there() ? Progress::done : Progress::waits;
}

Approach::Approach(const Party& party, int peer, const Address& address)
    : Handshake(party, Socket()), address_(address), own_(make_hello(party, peer)) {
  start();
}

Approach::Approach(const Party& party, int peer, const Address& address, const Counterpart& met_before)
    : Handshake(party, Socket()), address_(address), own_(make_hello(party, peer)) {
  own_.met_before = met_before.incarnation;
  own_.attempt = met_before.attempt;
  start();
}

void Approach::start() {
  Started started = start_connecting(address_);
  if (started.error == 0) socket_ = std::move(started.socket);
  else static_cast<void>(connected(started.error));
}

Progress Approach::find_none(const std::string& problem) {
  finds_none_ = true;
  return fail(problem);
}

Progress Approach::progress() {
  if (!socket_.is_open()) return Progress::failed;
  if (is_connecting_) {
    const int error = connecting_error(socket_);
    if (error == EINPROGRESS) return Progress::waits;
    if (connected(error) == Progress::failed) return Progress::failed;
  }
  const Progress received = receive(answer_);
  return received == Progress::done ? answered() : received;
}

Progress Approach::connected(int error) {
  if (error == ECONNREFUSED) return find_none(words_of(error));
  if (error != 0) return fail(words_of(error));
  is_connecting_ = false;
  own_.host = host_of(own_address(socket_));
  const bool is_sent = send_at_once(socket_, std::as_bytes(std::span(&own_, 1)));
  return is_sent ? Progress::waits : fail("the connection was closed");
}

Progress Approach::answered() {
  const Hello& other = answer_->hello;
  if (other.magic != magic || other.version != version || other.from != own_.to || other.to != own_.from || other.peers != own_.peers) {
    return fail("another process answers");
  }
  if (!wire::is_proved(answer_->proof, wire::Side::accepts, hellos_of(own_, other), party_->key)) {
    has_other_key_ = true;
    static_cast<void>(send_at_once(socket_, wire::Proof{}));   // so that it need not wait to hear the same
    return fail("it has another key");
  }
  const bool is_the_same = own_.met_before == Incarnation{} || own_.met_before == other.incarnation;
  return is_the_same ? Progress::done : find_none("another process has its place");
}

Socket Approach::confirm() {
  // Should the connection have broken meanwhile, it is lost as it may be at any time later.
  static_cast<void>(send_at_once(socket_, wire::prove(wire::Side::connects, hellos_of(own_, answer_->hello), party_->key)));
  return std::move(socket_);
}

Progress Reception::progress() {
  if (peer_ < 0) {
    const Progress received = receive(hello_);
    if (received != Progress::done) return received;
    return answer();
  }
  const Progress received = receive(proof_);
  if (received != Progress::done) return received;
  if (wire::is_proved(*proof_, wire::Side::connects, hellos_of(*hello_, own_), party_->key)) return Progress::done;
  has_other_key_ = true;
  return fail("it has another key");
}

// The side that connects has the lower number. Whether it is a neighbour the caller knows.
Progress Reception::answer() {
  const auto self = static_cast<std::uint32_t>(party_->self);
  if (hello_->magic != magic) return fail("it speaks something else");
  if (hello_->version != version) return fail("it speaks version " + std::to_string(hello_->version) + " of the protocol");
  if (hello_->to != self || hello_->from >= self || hello_->peers != static_cast<std::uint32_t>(party_->peers)) {
    return fail("it looks for another process");
  }
  peer_ = static_cast<int>(hello_->from);
  own_ = make_hello(*party_, peer_);
  const Answer answer{own_, wire::prove(wire::Side::accepts, hellos_of(*hello_, own_), party_->key)};
  return send_at_once(socket_, std::as_bytes(std::span(&answer, 1))) ? Progress::waits : fail("the connection was closed");
}

// Where something in between translates addresses, the far end is not where that process listens.
Counterpart Reception::counterpart() const {
  const bool is_seen = host_of(far_) == hello_->host && hello_->port <= 0xffff;
  return {hello_->incarnation, hello_->attempt,
          is_seen ? std::optional(with_port(far_, static_cast<std::uint16_t>(hello_->port))) : std::nullopt};
}

}  // namespace glean::transport
