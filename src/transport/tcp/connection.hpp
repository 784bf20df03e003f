// SPDX-License-Identifier: BSD-3-Clause
//
// One connection to a neighbour that has proved itself: frames out and in, as docs/formats/tcp.md has them.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "transport/messages.hpp"
#include "transport/tcp/socket.hpp"

namespace glean::transport {

struct FrameHeader {
  enum class Kind : std::uint8_t { head = 1, go = 2, body = 3, introduction = 4 };
  Kind kind{};
  std::array<std::uint8_t, 3> zero{};
  std::uint32_t head_bytes = 0;
  std::uint64_t body_bytes = 0;   // of an introduction: which node wants a connection with which, see Introduction::pair()
};
static_assert(sizeof(FrameHeader) == 16);

inline constexpr Bytes head_bytes_max = 64 * base::KiB, addresses_bytes_max = 1000;

// Where a node is that wants a connection with another one, which need not be a neighbour of its.
struct Introduction {
  std::uint32_t from = 0, to = 0;
  std::string addresses;
  [[nodiscard]] std::uint64_t pair() const { return std::uint64_t{to} << 32 | from; }
};

// Nothing blocks. What is complete goes to `completed`, which must outlive it. What is sent before it begins waits.
class Connection {
 public:
  using Token = Messages::Token;
  explicit Connection(std::vector<Token>& completed) : completed_(&completed) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  void begin(Socket socket);

  void introduce(const Introduction& introduction);
  [[nodiscard]] std::optional<Introduction> next_introduction();
  void send(std::span<const std::byte> head, std::span<const std::byte> body, Token token);
  void receive_body(std::span<std::byte> target, Token token);
  // Takes what has come, at most some megabytes of it.
  void read();
  // Hands on what the kernel has room for.
  void write();
  // Loses it if nothing has been heard of that node for a minute. A system call.
  void notice_silence();

  [[nodiscard]] const Socket& socket() const { return socket_; }
  // It hands on more when the kernel has room.
  [[nodiscard]] bool has_output() const { return going_ || !frames_.empty() || !bodies_.empty(); }
  // Too many heads wait for next_head(): nothing is read before some are gone.
  [[nodiscard]] bool is_full() const { return waiting_bytes_ > waiting_bytes_max; }
  [[nodiscard]] std::optional<std::vector<std::byte>> next_head();
  // Why there is no connection any more; empty while there is.
  [[nodiscard]] const std::string& loss() const { return loss_; }

  // The end: bodies are left alone from here on. True: all heads are on the other side, or will never be.
  void give_up_bodies();
  [[nodiscard]] bool finish();

 private:
  static constexpr Bytes waiting_bytes_max = 16 * base::MiB;
  struct Frame {
    FrameHeader header;
    std::vector<std::byte> head;
    std::span<const std::byte> body;
    Token token = 0;
    std::size_t sent = 0;
    [[nodiscard]] std::size_t bytes() const { return sizeof header + head.size() + body.size(); }
  };
  struct Offer {   // a body that the other side has not asked for
    std::span<const std::byte> body;
    Token token = 0;
  };
  struct Target {
    std::span<std::byte> bytes;
    Token token = 0;
  };

  [[nodiscard]] Moved write_some(const Frame& frame) const;
  void is_written(const Frame& frame);
  void drop_output();
  void take_in();
  void on_header();
  void on_head();
  [[nodiscard]] bool is_offered(Bytes bytes) const;
  void send_body();
  void ask_for_bodies();
  void next_frame();
  void lose(const std::string& why);

  Socket socket_;
  std::vector<Token>* completed_;
  std::string loss_;

  std::deque<Frame> frames_;          // heads and goes; they overtake bodies that have not begun
  std::deque<Frame> bodies_;          // that were asked for
  std::optional<Frame> going_;        // a part of it may be out
  std::deque<Offer> offers_;
  std::string broken_;                // why nothing can be written; what has come can still be read

  FrameHeader header_;
  std::vector<std::byte> head_;
  enum class Part { header, head, body } part_ = Part::header;
  std::span<std::byte> reading_ = std::as_writable_bytes(std::span(&header_, 1));   // what is missing of that part
  std::deque<std::vector<std::byte>> heads_;
  std::deque<Introduction> introductions_;
  Bytes waiting_bytes_ = 0;           // of them
  std::deque<Bytes> offered_;         // by the other side, and not asked for
  std::deque<Target> targets_;        // without an offer
  std::deque<Target> asked_;          // in the order in which they come
};

}  // namespace glean::transport
