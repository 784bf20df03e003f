// SPDX-License-Identifier: BSD-3-Clause
//
// One end of a connection between two sides that prove to each other that they have the same key, and whose messages are sealed from then
// on: docs/formats/staging-control.md. A state machine: bytes in, bytes out, no sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "wire/frame.hpp"
#include "wire/proof.hpp"

namespace glean::wire {

inline constexpr std::uint32_t protocol_version = 1;

class Channel {
 public:
  using Message = std::vector<std::byte>;
  // `message_max`: bytes of a message, out and in. The side that connects has a hello in its output at once.
  Channel(Side side, const Key& key, std::size_t message_max);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Takes bytes off the front, until there is a message, which it returns, or none are left. Throws base::Error: permission if the other
  // side has another key, io if what it says cannot be. The connection is to be closed then, after what is in the output is sent.
  [[nodiscard]] std::optional<Message> receive(std::span<const std::byte>& bytes);
  // Both sides have proved themselves, and each knows it of the other. Before that nothing that the other side has said counts, nor may
  // anything be sent.
  [[nodiscard]] bool is_open() const { return state_ == State::open; }
  // The other side has said a hello, as any process can.
  [[nodiscard]] bool has_hello() const { return state_ == State::awaits_proof; }
  // Throws base::Error(invalid_argument) if it is too long.
  void send(std::span<const std::byte> message);

  // What the other side is to get next.
  [[nodiscard]] std::vector<std::byte> take_output();
  [[nodiscard]] bool has_output() const { return !output_.empty(); }
  [[nodiscard]] std::size_t allocated_bytes() const;   // for tests

 private:
  struct Hello {
    std::array<char, 8> magic{};
    std::uint32_t version = 0;
    std::uint32_t zero = 0;
    Nonce nonce{};
  };
  static_assert(sizeof(Hello) == 48);
  struct Answer {
    Hello hello;
    Proof proof;
  };
  static_assert(sizeof(Answer) == 80);
  enum class Kind : std::uint8_t { hello = 1, answer = 2, proof = 3, sealed = 4 };   // the first sealed one is empty: the welcome
  enum class State { awaits_hello, awaits_answer, awaits_proof, awaits_welcome, open, broken };
  struct Direction {   // of what one side says: each message has the next number
    Key key{};
    std::uint64_t number = 0;
  };

  [[nodiscard]] Hellos hellos() const;
  std::optional<Message> on_frame(const Frame& frame);
  void on_hello(const Frame& frame);
  void on_answer(const Frame& frame);
  void on_proof(const Frame& frame);
  void make_keys();
  void on_welcome(const Frame& frame);
  void seal(std::span<const std::byte> message);
  [[nodiscard]] Message unseal(const Frame& frame);
  template <class Record>
  [[nodiscard]] Record record_of(const Frame& frame, Kind kind) const;
  void say(Kind kind, std::span<const std::byte> payload) { append_frame(output_, static_cast<std::uint8_t>(kind), payload); }
  void check_version() const;

  const Side side_;
  Key key_;
  const std::size_t message_max_;
  State state_;
  Hello own_, other_;
  Direction out_, in_;
  FrameDecoder decoder_;
  std::vector<std::byte> output_;
};

}  // namespace glean::wire
