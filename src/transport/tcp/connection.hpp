// SPDX-License-Identifier: BSD-3-Clause
//
// What is said to one neighbour and heard of it, in frames as docs/formats/tcp.md has them. It goes on over one TCP connection after the
// other: what the other side has not acknowledged is kept, and sent again.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "transport/messages.hpp"
#include "transport/tcp/frame.hpp"
#include "transport/tcp/socket.hpp"

namespace glean::transport {

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
  Connection(std::vector<Token>& completed, double silence_seconds) : completed_(&completed), silence_seconds_(silence_seconds) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  // Over this socket from now on. What came over the one before, and was not read, comes again. `is_first`: neither side has received
  // anything; otherwise each tells the other what it has.
  void begin(Socket socket, bool is_first);

  void introduce(const Introduction& introduction);
  [[nodiscard]] std::optional<Introduction> next_introduction();
  void send(std::span<const std::byte> head, std::span<const std::byte> body, Token token);
  void receive_body(std::span<std::byte> target, Token token);
  // Takes what has come, at most some megabytes of it.
  void read();
  // Hands on what the kernel has room for.
  void write();
  // Tells the other side how much has been received since it was told last, if no other frame does.
  void acknowledge();
  // Breaks off if the other side's kernel has been silent for too long. A system call.
  void notice_silence();

  [[nodiscard]] const Socket& socket() const { return socket_; }
  // It hands on more when the kernel has room.
  [[nodiscard]] bool has_output() const;
  // Too many heads wait for next_head(): nothing is read before some are gone.
  [[nodiscard]] bool is_full() const { return is_up_ && waiting_bytes_ > waiting_bytes_max; }
  [[nodiscard]] std::optional<std::vector<std::byte>> next_head();
  [[nodiscard]] bool has_begun() const { return has_begun_; }
  // Both sides know what the other one has received.
  [[nodiscard]] bool is_up() const { return is_up_; }
  // Why the last socket is closed, which begin() may follow.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  // Why nothing follows any more; empty while something may.
  [[nodiscard]] const std::string& loss() const { return loss_; }
  void lose(const std::string& why);

  // The end: bodies are left alone from here on, and what comes is thrown away.
  void end();
  // All heads are on the other side, or will never be. `is_patient`: the process there has to have them, not just its kernel.
  [[nodiscard]] bool has_ended(bool is_patient) const;

 private:
  static constexpr Bytes waiting_bytes_max = 16 * base::MiB;
  struct Frame {
    FrameHeader::Kind kind{};
    std::uint64_t body_bytes = 0;   // as in its header
    std::vector<std::byte> head{};
    std::span<const std::byte> body{};
    Token token = 0;
    std::uint64_t sequence = 0;
    // A frame has one of them, or none.
    [[nodiscard]] std::span<const std::byte> payload() const { return head.empty() ? body : head; }
  };
  [[nodiscard]] static bool is_body(const Frame& frame) { return frame.kind == FrameHeader::Kind::body; }
  struct Offer {   // a body that the other side has not asked for
    std::span<const std::byte> body;
    Token token = 0;
  };
  struct Target {
    std::span<std::byte> bytes;
    Token token = 0;
  };

  [[nodiscard]] bool begin_next_frame();
  [[nodiscard]] bool is_acknowledgement(std::uint64_t received) const;
  void drop_acknowledged(std::uint64_t received);
  void drop_output();
  [[nodiscard]] Moved read_some();
  void on_header();
  [[nodiscard]] bool is_understood() const;
  [[nodiscard]] bool is_offered(Bytes bytes) const;
  void await_payload(Bytes bytes, std::byte* place);
  void on_payload();
  void on_frame();
  void on_head();
  void on_received();
  void on_farewell();
  void send_body();
  void ask_for_bodies();
  void await_header();
  void close();
  void break_off(const std::string& why);
  void break_off_damaged();

  Socket socket_;
  std::vector<Token>* completed_;
  double silence_seconds_;
  bool has_begun_ = false, is_up_ = false, ends_ = false;
  std::string problem_, loss_;
  int damaged_ = 0;                   // connections in a row that have ended at a wrong checksum

  std::deque<Frame> frames_;          // heads and goes; they overtake bodies that have not begun
  std::deque<Frame> bodies_;          // that were asked for
  std::deque<Offer> offers_;
  std::deque<Frame> numbered_;        // that have begun, and are not acknowledged
  std::size_t next_ = 0;              // the first of those that has not begun over this socket
  std::uint64_t sequence_ = 0;        // of the next one
  FrameWriter writer_;
  bool writes_numbered_ = false;      // the writer has the one before next_
  bool tells_received_ = false;
  std::string broken_;                // why nothing can be written; what has come can still be read

  FrameHeader header_;
  std::vector<std::byte> head_;
  bool reads_payload_ = false;
  Bytes payload_bytes_ = 0;
  std::byte* payload_ = nullptr;      // where it goes; nowhere: it is thrown away
  std::uint64_t trailer_ = 0;         // the checksum behind the payload
  Bytes read_ = 0;                    // of the header, or of the payload and what is behind it
  PayloadChecksum checksum_;
  std::uint64_t received_ = 0, told_received_ = 0;   // frames
  Bytes untold_bytes_ = 0;            // of them
  std::deque<std::vector<std::byte>> heads_;
  std::deque<Introduction> introductions_;
  Bytes waiting_bytes_ = 0;           // of them
  std::deque<Bytes> offered_;         // by the other side, and not asked for
  std::deque<Target> targets_;        // without an offer
  std::deque<Target> asked_;          // in the order in which they come
};

}  // namespace glean::transport
