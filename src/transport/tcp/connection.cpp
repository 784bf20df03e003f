// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

namespace glean::transport {
namespace {

constexpr Bytes bytes_at_once = 4 * base::MiB;   // so that one connection does not keep the others waiting
constexpr Bytes overhead_of_a_head = 64;         // many empty ones take memory, too

}  // namespace

void Connection::begin(Socket socket) {
  socket_ = std::move(socket);
  write();
}

// --- out

void Connection::introduce(const Introduction& introduction) {
  if (!loss_.empty() || !broken_.empty()) return;
  Frame& frame = frames_.emplace_back();
  const auto text = std::as_bytes(std::span(introduction.addresses));
  frame.header = {.kind = FrameHeader::Kind::introduction, .head_bytes = static_cast<std::uint32_t>(text.size()),
                  .body_bytes = introduction.pair()};
  frame.head.assign(text.begin(), text.end());
  write();
}

void Connection::send(std::span<const std::byte> head, std::span<const std::byte> body, Token token) {
  if (!loss_.empty() || !broken_.empty()) {
    if (!body.empty()) completed_->push_back(token);
    return;
  }
  Frame& frame = frames_.emplace_back();
  frame.header = {.kind = FrameHeader::Kind::head, .head_bytes = static_cast<std::uint32_t>(head.size()), .body_bytes = body.size()};
  frame.head.assign(head.begin(), head.end());
  if (!body.empty()) offers_.push_back({body, token});
  write();
}

void Connection::write() {
  Bytes left = bytes_at_once;
  while (socket_.is_open() && broken_.empty() && left != 0) {
    if (!going_) {
      auto& next = frames_.empty() ? bodies_ : frames_;
      if (next.empty()) return;
      going_ = std::move(next.front());
      next.pop_front();
    }
    const Moved moved = write_some(*going_);
    if (moved.error != 0) {
      broken_ = std::generic_category().message(moved.error);
      return drop_output();
    }
    if (moved.bytes == 0) return;
    left -= std::min<Bytes>(left, moved.bytes);
    going_->sent += moved.bytes;
    if (going_->sent == going_->bytes()) is_written(*std::exchange(going_, std::nullopt));
  }
}

Moved Connection::write_some(const Frame& frame) const {
  const auto header = std::as_bytes(std::span(&frame.header, 1));
  const std::span<const std::byte> rest = frame.head.empty() ? frame.body : frame.head;   // a frame has one of them, or none
  if (frame.sent < header.size()) return transport::send(socket_, header.subspan(frame.sent), rest);
  return transport::send(socket_, rest.subspan(frame.sent - header.size()));
}

void Connection::is_written(const Frame& frame) {
  if (frame.header.kind == FrameHeader::Kind::body) completed_->push_back(frame.token);
}

// It will not be wanted: the caller may have its memory back.
void Connection::drop_output() {
  if (going_) is_written(*going_);
  for (const Frame& frame : bodies_) is_written(frame);
  for (const Offer& offer : offers_) completed_->push_back(offer.token);
  going_.reset();
  frames_.clear();
  bodies_.clear();
  offers_.clear();
}

// --- in

void Connection::receive_body(std::span<std::byte> target, Token token) {
  if (!loss_.empty()) return;
  targets_.push_back({target, token});
  ask_for_bodies();
  write();
}

void Connection::ask_for_bodies() {
  while (loss_.empty() && !targets_.empty() && !offered_.empty()) {
    const Bytes offered = offered_.front();
    if (offered != targets_.front().bytes.size()) {
      return lose(fmt::format("it offers a body of {} bytes where {} are expected", offered, targets_.front().bytes.size()));
    }
    offered_.pop_front();
    asked_.push_back(targets_.front());
    targets_.pop_front();
    if (broken_.empty()) frames_.emplace_back().header = {.kind = FrameHeader::Kind::go, .body_bytes = offered};
  }
}

void Connection::read() {
  for (Bytes taken = 0; socket_.is_open() && !is_full() && taken < bytes_at_once;) {
    const Moved moved = receive(socket_, reading_);
    if (moved.is_end) return lose(broken_.empty() ? "the other side has closed it" : broken_);
    if (moved.error != 0) return lose(std::generic_category().message(moved.error));
    if (moved.bytes == 0) return;
    taken += moved.bytes;
    reading_ = reading_.subspan(moved.bytes);
    if (reading_.empty()) take_in();
  }
}

void Connection::take_in() {
  switch (part_) {
    case Part::header: return on_header();
    case Part::head: return on_head();
    case Part::body:
      completed_->push_back(asked_.front().token);
      asked_.pop_front();
      return next_frame();
  }
}

void Connection::on_header() {
  const bool is_zero = header_.zero == std::array<std::uint8_t, 3>{};
  const Bytes most = header_.kind == FrameHeader::Kind::head ? head_bytes_max : addresses_bytes_max;
  const bool has_head = header_.kind == FrameHeader::Kind::head || header_.kind == FrameHeader::Kind::introduction;
  if (has_head && header_.head_bytes <= most && is_zero) {
    part_ = Part::head;
    head_.resize(header_.head_bytes);
    reading_ = head_;
    if (head_.empty()) on_head();
  } else if (header_.kind == FrameHeader::Kind::go && header_.head_bytes == 0 && is_zero && is_offered(header_.body_bytes)) {
    if (!offers_.empty()) send_body();
    next_frame();
  } else if (header_.kind == FrameHeader::Kind::body && header_.head_bytes == 0 && is_zero && !asked_.empty() &&
             asked_.front().bytes.size() == header_.body_bytes) {
    part_ = Part::body;
    reading_ = asked_.front().bytes;
  } else {
    lose("it sends what cannot be understood");
  }
}

// What the other side asks for may have been dropped meanwhile: heads that it has sent later are still good.
bool Connection::is_offered(Bytes bytes) const {
  return !broken_.empty() || (!offers_.empty() && offers_.front().body.size() == bytes);
}

void Connection::send_body() {
  const Offer offer = offers_.front();
  offers_.pop_front();
  Frame& frame = bodies_.emplace_back();
  frame.header = {.kind = FrameHeader::Kind::body, .body_bytes = offer.body.size()};
  frame.body = offer.body;
  frame.token = offer.token;
}

void Connection::on_head() {
  if (header_.kind == FrameHeader::Kind::introduction) {
    const auto* text = reinterpret_cast<const char*>(head_.data());
    const auto pair = header_.body_bytes;
    introductions_.push_back({static_cast<std::uint32_t>(pair), static_cast<std::uint32_t>(pair >> 32), {text, text + head_.size()}});
    return next_frame();
  }
  waiting_bytes_ += head_.size() + overhead_of_a_head;
  heads_.push_back(std::move(head_));
  head_ = {};
  if (header_.body_bytes != 0) {
    offered_.push_back(header_.body_bytes);
    ask_for_bodies();
  }
  if (loss_.empty()) next_frame();
}

void Connection::next_frame() {
  part_ = Part::header;
  reading_ = std::as_writable_bytes(std::span(&header_, 1));
}

std::optional<std::vector<std::byte>> Connection::next_head() {
  if (heads_.empty()) return std::nullopt;
  auto head = std::move(heads_.front());
  heads_.pop_front();
  waiting_bytes_ -= head.size() + overhead_of_a_head;
  return head;
}

std::optional<Introduction> Connection::next_introduction() {
  if (introductions_.empty()) return std::nullopt;
  Introduction first = std::move(introductions_.front());
  introductions_.pop_front();
  return first;
}

// --- the end

void Connection::lose(const std::string& why) {
  loss_ = why;
  socket_.close();
  drop_output();
  targets_.clear();
  asked_.clear();
  offered_.clear();
}

void Connection::notice_silence() {
  if (socket_.is_open() && is_silent(socket_)) lose("nothing has been heard of that node for a minute");
}

void Connection::give_up_bodies() {
  bodies_.clear();
  offers_.clear();
  // Heads behind a body of which a part is out would be taken for the rest of it.
  if (going_ && !going_->body.empty() && going_->sent != 0) socket_.close();
  else if (going_ && !going_->body.empty()) going_.reset();
}

bool Connection::finish() {
  write();
  // What is not read when the connection is closed makes the kernel throw away what is still on its way to the other side.
  std::array<std::byte, 4096> unwanted{};
  Moved moved;
  do {
    if (!socket_.is_open()) return true;
    moved = receive(socket_, unwanted);
    if (moved.is_end || moved.error != 0) socket_.close();
  } while (moved.bytes != 0);
  return !socket_.is_open() || (!going_ && frames_.empty() && unacknowledged_bytes(socket_) == 0);
}

}  // namespace glean::transport
