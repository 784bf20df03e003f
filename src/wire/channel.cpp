// SPDX-License-Identifier: BSD-3-Clause
#include "wire/channel.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace glean::wire {
namespace {

constexpr std::array<char, 8> channel_magic = {'G', 'L', 'E', 'A', 'N', 'c', 't', 'l'};
constexpr std::size_t seal_bytes = crypto_aead_chacha20poly1305_ietf_ABYTES;
static_assert(sizeof(Key) == crypto_aead_chacha20poly1305_ietf_KEYBYTES);

using SealNumber = std::array<unsigned char, crypto_aead_chacha20poly1305_ietf_NPUBBYTES>;

// Never the same twice under one key.
SealNumber next_number(std::uint64_t& number) {
  SealNumber bytes{};
  std::memcpy(bytes.data(), &number, sizeof number);
  ++number;
  return bytes;
}

const unsigned char* chars(std::span<const std::byte> bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }
unsigned char* chars(std::vector<std::byte>& bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }

template <class Record>
std::span<const std::byte> bytes_of(const Record& record) {
  return std::as_bytes(std::span(&record, 1));
}

[[noreturn]] void refuse(base::Errc code, const std::string& why) { throw base::Error(code, why); }

}  // namespace

Channel::Channel(Side side, const Key& key, std::size_t message_max)
    : side_(side), key_(key), message_max_(message_max), state_(side == Side::connects ? State::awaits_answer : State::awaits_hello),
      own_{channel_magic, protocol_version, 0, make_nonce()}, decoder_(side == Side::connects ? sizeof(Answer) : sizeof(Hello)) {
  if (side == Side::connects) say(Kind::hello, bytes_of(own_));
}

Channel::~Channel() {
  for (Key* key : {&key_, &out_.key, &in_.key}) sodium_memzero(key->data(), key->size());
}

Hellos Channel::hellos() const {
  return side_ == Side::connects ? Hellos{bytes_of(own_), bytes_of(other_)} : Hellos{bytes_of(other_), bytes_of(own_)};
}

std::optional<Channel::Message> Channel::receive(std::span<const std::byte>& bytes) {
  if (state_ == State::broken) refuse(base::Errc::invalid_state, "the connection is broken");
  try {
    while (const auto frame = decoder_.take(bytes)) {
      if (auto message = on_frame(*frame)) return message;
    }
    return std::nullopt;
  } catch (...) {
    state_ = State::broken;
    throw;
  }
}

std::optional<Channel::Message> Channel::on_frame(const Frame& frame) {
  switch (state_) {
    case State::awaits_hello: return on_hello(frame), std::nullopt;
    case State::awaits_answer: return on_answer(frame), std::nullopt;
    case State::awaits_proof: return on_proof(frame), std::nullopt;
    case State::awaits_welcome: return on_welcome(frame), std::nullopt;
    case State::open: return unseal(frame);
    case State::broken: break;
  }
  return std::nullopt;
}

template <class Record>
Record Channel::record_of(const Frame& frame, Kind kind) const {
  Record record;
  if (frame.kind != static_cast<std::uint8_t>(kind) || frame.payload.size() != sizeof record) {
    refuse(base::Errc::io, "the other side does not say what is due");
  }
  std::memcpy(&record, frame.payload.data(), sizeof record);
  return record;
}

void Channel::check_version() const {
  if (other_.magic != channel_magic) refuse(base::Errc::io, "the other side speaks another protocol");
  if (other_.version != protocol_version) {
    refuse(base::Errc::unsupported,
           fmt::format("the other side speaks version {} of the protocol, this one version {}", other_.version, protocol_version));
  }
}

// A side of another version is answered, so that it can say so to its user.
void Channel::on_hello(const Frame& frame) {
  other_ = record_of<Hello>(frame, Kind::hello);
  const Answer answer{own_, prove(Side::accepts, hellos(), key_)};
  say(Kind::answer, bytes_of(answer));
  check_version();
  decoder_.set_payload_max(sizeof(Proof));
  state_ = State::awaits_proof;
}

void Channel::on_answer(const Frame& frame) {
  const auto answer = record_of<Answer>(frame, Kind::answer);
  other_ = answer.hello;
  check_version();
  if (!is_proved(answer.proof, Side::accepts, hellos(), key_)) refuse(base::Errc::permission, "the other side has another key");
  say(Kind::proof, prove(Side::connects, hellos(), key_));
  make_keys();
  state_ = State::awaits_welcome;
}

// Without it this side would not know whether it was sent away before its proof was read.
void Channel::on_welcome(const Frame& frame) {
  if (!unseal(frame).empty()) refuse(base::Errc::io, "the other side does not say what is due");
  state_ = State::open;
}

void Channel::on_proof(const Frame& frame) {
  if (!is_proved(record_of<Proof>(frame, Kind::proof), Side::connects, hellos(), key_)) {
    refuse(base::Errc::permission, "the other side has another key");
  }
  make_keys();
  seal({});
  state_ = State::open;
}

void Channel::make_keys() {
  out_.key = connection_key(side_, hellos(), key_);
  in_.key = connection_key(side_ == Side::connects ? Side::accepts : Side::connects, hellos(), key_);
  sodium_memzero(key_.data(), key_.size());
  decoder_.set_payload_max(message_max_ + seal_bytes);
}

void Channel::send(std::span<const std::byte> message) {
  if (!is_open()) refuse(base::Errc::invalid_state, "the other side has not proved itself");
  if (message.size() > message_max_) {
    refuse(base::Errc::invalid_argument,
           fmt::format("a message of {} bytes is too long: at most {} are sent", message.size(), message_max_));
  }
  seal(message);
}

void Channel::seal(std::span<const std::byte> message) {
  const auto number = next_number(out_.number);
  std::vector<std::byte> sealed(message.size() + seal_bytes);
  crypto_aead_chacha20poly1305_ietf_encrypt(chars(sealed), nullptr, chars(message), message.size(), nullptr, 0, nullptr, number.data(),
                                            chars(out_.key));
  say(Kind::sealed, sealed);
}

// With another number, key or byte it does not open: what is repeated, left out or sent back ends the connection.
Channel::Message Channel::unseal(const Frame& frame) {
  if (frame.kind != static_cast<std::uint8_t>(Kind::sealed) || frame.payload.size() < seal_bytes) {
    refuse(base::Errc::io, "the other side does not say what is due");
  }
  const auto number = next_number(in_.number);
  Message message(frame.payload.size() - seal_bytes);
  const int result = crypto_aead_chacha20poly1305_ietf_decrypt(chars(message), nullptr, nullptr, chars(frame.payload), frame.payload.size(),
                                                               nullptr, 0, number.data(), chars(in_.key));
  if (result != 0) refuse(base::Errc::io, "a message is not of the side that has proved itself");
  return message;
}

std::vector<std::byte> Channel::take_output() { return std::exchange(output_, {}); }

std::size_t Channel::allocated_bytes() const { return decoder_.allocated_bytes() + output_.capacity(); }

}  // namespace glean::wire
