// SPDX-License-Identifier: BSD-3-Clause
//
// What a process without the key, or one on the way of a client that has it, can say to a staging service: frames that may be anything, and
// an input that plays both sides of a connection and changes what goes over it.
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "wire/channel.hpp"

namespace glean::fuzz {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t message_max = 4096;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// One byte, 0 at the end.
class Program {
 public:
  explicit Program(std::span<const std::uint8_t> bytes) : rest_(bytes) {}
  [[nodiscard]] bool is_over() const { return rest_.empty(); }
  std::uint8_t next() {
    if (rest_.empty()) return 0;
    const std::uint8_t value = rest_.front();
    rest_ = rest_.subspan(1);
    return value;
  }
  Bytes take(std::size_t most) {
    const auto bytes = std::as_bytes(rest_.first(std::min(most, rest_.size())));
    rest_ = rest_.subspan(bytes.size());
    return {bytes.begin(), bytes.end()};
  }

 private:
  std::span<const std::uint8_t> rest_;
};

// --- frames

// In pieces of that many bytes: the payloads, and whether all was accepted.
struct Decoded {
  std::vector<wire::Frame> frames;
  bool is_refused = false;
};

Decoded decode(const Bytes& bytes, std::size_t piece_bytes) {
  constexpr std::size_t payload_max = 200;
  wire::FrameDecoder decoder(payload_max);
  Decoded decoded;
  std::span<const std::byte> left = bytes;
  try {
    while (!left.empty()) {
      auto piece = left.first(std::min(piece_bytes, left.size()));
      left = left.subspan(piece.size());
      for (;;) {
        auto frame = decoder.take(piece);
        if (!frame) break;
        decoded.frames.push_back(std::move(*frame));
      }
      expect(piece.empty(), "bytes are left without a frame");
      expect(decoder.allocated_bytes() <= 2 * payload_max, "a decoder takes more memory than what it may be sent");
    }
  } catch (const base::Error&) {
    decoded.is_refused = true;
  }
  return decoded;
}

// Makes the checksums of the frames that lie there right.
void repair(Bytes& bytes) {
  for (std::size_t at = 0; at + sizeof(wire::FrameHeader) <= bytes.size();) {
    wire::FrameHeader header;
    std::memcpy(&header, bytes.data() + at, sizeof header);
    const std::size_t payload = at + sizeof header;
    if (header.payload_bytes > bytes.size() - payload) return;
    header.checksum = XXH3_64bits_withSeed(bytes.data() + payload, header.payload_bytes, XXH3_64bits(&header, 8));
    std::memcpy(bytes.data() + at, &header, sizeof header);
    at = payload + header.payload_bytes;
  }
}

void read_frames(Program program) {
  const bool is_repaired = program.next() % 2 == 1;
  const std::size_t piece_bytes = std::size_t{1} + program.next();
  Bytes bytes = program.take(~std::size_t{0});
  if (is_repaired) repair(bytes);
  const Decoded whole = decode(bytes, bytes.size() + 1), pieces = decode(bytes, piece_bytes);
  expect(whole.is_refused == pieces.is_refused, "what is refused depends on the pieces it comes in");
  expect(whole.frames.size() == pieces.frames.size(), "the frames depend on the pieces they come in");
  Bytes again;
  for (std::size_t i = 0; i < whole.frames.size(); ++i) {
    expect(whole.frames[i].payload == pieces.frames[i].payload, "a frame depends on the pieces it comes in");
    wire::append_frame(again, whole.frames[i].kind, whole.frames[i].payload);
  }
  expect(again.size() <= bytes.size() && std::equal(again.begin(), again.end(), bytes.begin()), "a frame changes when it is written again");
}

// --- the state machine

constexpr wire::Key key{};

// A service and what it is sent. Its client has the key; what is between them does as the program says.
class Scene {
 public:
  void play(Program program) {
    while (!program.is_over()) {
      const std::uint8_t what = program.next();
      switch (what % 8) {
        case 0: deliver(what / 8, program); break;
        case 1: change(program); break;
        case 2: repair(to_server_); break;
        case 3: ask(program); break;
        case 4: to_client_ = server_.take_output(); break;   // an answer that was not taken is lost
        case 5: answer(); break;
        case 6: repeat(); break;
        case 7: junk(program); break;
      }
      if (is_over_) return;
    }
  }

 private:
  void collect() {
    const Bytes more = client_.take_output();
    to_server_.insert(to_server_.end(), more.begin(), more.end());
  }
  void deliver(std::uint8_t pieces, Program& program) {
    collect();
    const std::size_t piece_bytes = pieces == 0 ? to_server_.size() + 1 : std::size_t{1} + program.next();
    std::span<const std::byte> left = to_server_;
    try {
      while (!left.empty()) {
        auto piece = left.first(std::min(piece_bytes, left.size()));
        left = left.subspan(piece.size());
        while (const auto message = server_.receive(piece)) on_message(*message);
        expect(piece.empty(), "a service leaves bytes without a message");
        if (!server_.is_open()) expect(server_.allocated_bytes() <= 512, "a stranger takes memory");
      }
    } catch (const base::Error&) {
      is_over_ = true;
    }
    delivered_.insert(delivered_.end(), to_server_.begin(), to_server_.end());
    to_server_.clear();
  }
  // Nothing is taken but what the client has sent, whole, once and in order.
  void on_message(const Bytes& message) {
    expect(client_.is_open() || has_proved_, "a service takes messages without a proof");
    expect(taken_ < sent_.size() && message == sent_[taken_], "a service takes what its client has not sent");
    ++taken_;
  }
  void answer() {
    if (server_.is_open()) server_.send(Bytes(10));
    const Bytes bytes = server_.take_output();
    to_client_.insert(to_client_.end(), bytes.begin(), bytes.end());
    std::span<const std::byte> left = to_client_;
    try {
      while (client_.receive(left)) continue;
    } catch (const base::Error&) {
    }
    has_proved_ = has_proved_ || client_.is_open();
    to_client_.clear();
  }
  void ask(Program& program) {
    if (!client_.is_open()) return;
    const Bytes message = program.take(program.next());
    client_.send(message);
    sent_.push_back(message);
  }
  void change(Program& program) {
    collect();
    const std::size_t at = program.next() + std::size_t{256} * (program.next() % 16);
    const auto bits = static_cast<std::byte>(program.next());
    if (at < to_server_.size()) to_server_[at] ^= bits;
  }
  void repeat() {
    const std::size_t last = std::min<std::size_t>(delivered_.size(), 4096);
    to_server_.insert(to_server_.end(), delivered_.end() - static_cast<std::ptrdiff_t>(last), delivered_.end());
  }
  void junk(Program& program) {
    const Bytes bytes = program.take(program.next());
    to_server_.insert(to_server_.end(), bytes.begin(), bytes.end());
  }

  wire::Channel client_{wire::Side::connects, key, message_max}, server_{wire::Side::accepts, key, message_max};
  Bytes to_server_, to_client_, delivered_;
  std::vector<Bytes> sent_;
  std::size_t taken_ = 0;
  bool has_proved_ = false, is_over_ = false;
};

}  // namespace

void read(std::span<const std::uint8_t> bytes) {
  Program program(bytes);
  if (program.next() % 2 == 0) return read_frames(program);
  Scene().play(program);
}

}  // namespace glean::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  glean::fuzz::read({data, size});
  return 0;
}
