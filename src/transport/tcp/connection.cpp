// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace glean::transport {
namespace {

using Kind = FrameHeader::Kind;

constexpr Bytes bytes_at_once = 4 * base::MiB;     // so that one connection does not keep the others waiting
constexpr Bytes overhead_of_a_head = 64;           // many empty ones take memory, too
constexpr Bytes untold_bytes_max = 256 * base::KiB;   // the other side keeps as much for longer than it need
constexpr int damaged_max = 10;                    // it is no accident then
constexpr auto not_understood = "it sends what cannot be understood";

}  // namespace

void Connection::begin(Socket socket, bool is_first) {
  if (!loss_.empty()) return;
  close();
  socket_ = std::move(socket);
  watch_for_silence(socket_, silence_seconds_);
  problem_.clear();
  broken_.clear();
  has_begun_ = true;
  is_up_ = is_first;
  tells_received_ = !is_first;
  write();
}

// --- out

void Connection::introduce(const Introduction& introduction) {
  if (!loss_.empty() || ends_) return;
  const auto text = std::as_bytes(std::span(introduction.addresses));
  frames_.push_back({.kind = Kind::introduction, .body_bytes = introduction.pair(), .head = {text.begin(), text.end()}});
  write();
}

void Connection::send(std::span<const std::byte> head, std::span<const std::byte> body, Token token) {
  if (!loss_.empty()) {
    if (!body.empty()) completed_->push_back(token);
    return;
  }
  frames_.push_back({.kind = Kind::head, .body_bytes = body.size(), .head = {head.begin(), head.end()}});
  if (!body.empty()) offers_.push_back({body, token});
  write();
}

bool Connection::has_output() const {
  if (!socket_.is_open() || !broken_.empty()) return false;
  const bool has_numbered = next_ < numbered_.size() || !frames_.empty() || !bodies_.empty();
  return writer_.is_busy() || tells_received_ || (is_up_ && has_numbered);
}

void Connection::write() {
  Bytes left = bytes_at_once;
  while (socket_.is_open() && broken_.empty() && left != 0) {
    if (!writer_.is_busy() && !begin_next_frame()) return;
    const Moved moved = writer_.write_to(socket_);
    if (moved.error != 0) broken_ = std::generic_category().message(moved.error);
    if (moved.bytes == 0) return;
    left -= std::min<Bytes>(left, moved.bytes);
  }
}

// Before both sides know what the other one has, each says what it has itself, and nothing else.
bool Connection::begin_next_frame() {
  if (is_up_ && next_ == numbered_.size()) {
    auto& queue = frames_.empty() ? bodies_ : frames_;
    if (!queue.empty()) {
      numbered_.push_back(std::move(queue.front()));
      numbered_.back().sequence = sequence_++;
      queue.pop_front();
    }
  }
  writes_numbered_ = is_up_ && next_ < numbered_.size();
  if (!writes_numbered_ && !tells_received_) return false;
  tells_received_ = false;
  told_received_ = received_;
  untold_bytes_ = 0;
  FrameHeader header{.kind = Kind::received, .received = received_};
  if (!writes_numbered_) {
    writer_.begin(header, {});
    return true;
  }
  const Frame& frame = numbered_[next_++];
  header.kind = frame.kind;
  header.head_bytes = static_cast<std::uint32_t>(frame.head.size());
  header.body_bytes = frame.body_bytes;
  header.sequence = frame.sequence;
  writer_.begin(header, frame.payload());
  return true;
}

void Connection::acknowledge() {
  if (!is_up_ || told_received_ == received_) return;
  tells_received_ = true;
  write();
}

// Not of what has never been written in full.
bool Connection::is_acknowledgement(std::uint64_t received) const {
  const std::uint64_t first = numbered_.empty() ? sequence_ : numbered_.front().sequence;
  const bool is_writing = is_up_ && writes_numbered_ && writer_.is_busy();
  return received >= first && received <= (is_writing ? numbered_[next_ - 1].sequence : sequence_);
}

void Connection::drop_acknowledged(std::uint64_t received) {
  for (; !numbered_.empty() && numbered_.front().sequence < received; numbered_.pop_front()) {
    if (is_body(numbered_.front())) completed_->push_back(numbered_.front().token);
    if (next_ != 0) --next_;
  }
}

// It will not be wanted: the caller may have its memory back.
void Connection::drop_output() {
  writer_.give_up();
  drop_acknowledged(sequence_);
  if (!ends_) {
    for (const Frame& frame : bodies_) completed_->push_back(frame.token);
    for (const Offer& offer : offers_) completed_->push_back(offer.token);
  }
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
    frames_.push_back({.kind = Kind::go, .body_bytes = offered});
  }
}

void Connection::read() {
  for (Bytes taken = 0; socket_.is_open() && !is_full() && taken < bytes_at_once;) {
    const Moved moved = read_some();
    if (moved.is_end) return break_off(broken_.empty() ? "the other side has closed it" : broken_);
    if (moved.error != 0) return break_off(std::generic_category().message(moved.error));
    if (moved.bytes == 0) return;
    taken += moved.bytes;
  }
}

// One step, and what is complete then.
Moved Connection::read_some() {
  if (!reads_payload_) {
    const Moved moved = receive(socket_, std::as_writable_bytes(std::span(&header_, 1)).subspan(read_));
    read_ += moved.bytes;
    if (read_ == sizeof header_) on_header();
    return moved;
  }
  std::array<std::byte, 4096> unwanted;
  const Bytes left = payload_bytes_ - std::min(read_, payload_bytes_);
  const auto place = payload_ != nullptr ? std::span(payload_ + payload_bytes_ - left, std::min(left, piece_bytes))
                                         : std::span(unwanted).first(std::min<Bytes>(left, unwanted.size()));
  const auto trailer = std::as_writable_bytes(std::span(&trailer_, 1)).subspan(read_ > payload_bytes_ ? read_ - payload_bytes_ : 0);
  const Moved moved = place.empty() ? receive(socket_, trailer)
                                    : receive(socket_, place, place.size() == left ? trailer : std::span<std::byte>());
  checksum_.add(place.first(std::min(moved.bytes, place.size())));
  read_ += moved.bytes;
  if (read_ == payload_bytes_ + sizeof trailer_) on_payload();
  return moved;
}

void Connection::on_header() {
  if (header_.checksum != checksum_of(header_)) return break_off_damaged();
  if (!is_understood()) return lose(not_understood);
  drop_acknowledged(header_.received);
  if (header_.kind == Kind::body) {
    await_payload(header_.body_bytes, ends_ ? nullptr : asked_.front().bytes.data());
  } else if (header_.head_bytes != 0) {
    head_.resize(header_.head_bytes);
    await_payload(header_.head_bytes, head_.data());
  } else {
    head_.clear();
    on_frame();
  }
}

bool Connection::is_understood() const {
  const bool is_numbered = header_.kind != Kind::received;
  if (header_.zero != std::array<std::uint8_t, 3>{} || !is_acknowledgement(header_.received)) return false;
  if (is_numbered ? !is_up_ || header_.sequence != received_ : header_.sequence != 0) return false;
  switch (header_.kind) {
    case Kind::head: return header_.head_bytes <= head_bytes_max;
    case Kind::introduction: return header_.head_bytes <= addresses_bytes_max;
    case Kind::go: return header_.head_bytes == 0 && is_offered(header_.body_bytes);
    case Kind::body: return header_.head_bytes == 0 && !asked_.empty() && asked_.front().bytes.size() == header_.body_bytes;
    case Kind::received:
    case Kind::farewell: return header_.head_bytes == 0 && header_.body_bytes == 0;
  }
  return false;
}

// What the other side asks for is offered no more when this one ends.
bool Connection::is_offered(Bytes bytes) const { return ends_ || (!offers_.empty() && offers_.front().body.size() == bytes); }

void Connection::await_header() {
  reads_payload_ = false;
  read_ = 0;
}

void Connection::await_payload(Bytes bytes, std::byte* place) {
  reads_payload_ = true;
  read_ = 0;
  payload_bytes_ = bytes;
  payload_ = place;
  checksum_.begin(header_);
}

void Connection::on_payload() {
  if (trailer_ != checksum_.value()) return break_off_damaged();
  on_frame();
}

void Connection::on_frame() {
  await_header();
  if (header_.kind == Kind::received) return on_received();
  ++received_;
  damaged_ = 0;
  untold_bytes_ += sizeof header_ + header_.head_bytes + (header_.kind == Kind::body ? header_.body_bytes : 0);
  if (untold_bytes_ > untold_bytes_max) tells_received_ = true;
  switch (header_.kind) {
    case Kind::head:
    case Kind::introduction: return on_head();
    case Kind::go: return send_body();
    case Kind::body:
      if (!ends_) completed_->push_back(asked_.front().token);
      asked_.pop_front();
      return;
    case Kind::farewell: return on_farewell();
    case Kind::received: return;
  }
}

// The first time over a socket: what the other side has not received follows, and nothing else.
void Connection::on_received() {
  if (std::exchange(is_up_, true)) return;
  next_ = 0;
  if (ends_ && std::any_of(numbered_.begin(), numbered_.end(), is_body)) lose("it ends in the middle of a body");
}

void Connection::send_body() {
  if (offers_.empty()) return;
  const Offer offer = offers_.front();
  offers_.pop_front();
  bodies_.push_back({.kind = Kind::body, .body_bytes = offer.body.size(), .body = offer.body, .token = offer.token});
}

void Connection::on_head() {
  if (ends_) return;
  if (header_.kind == Kind::introduction) {
    const auto* text = reinterpret_cast<const char*>(head_.data());
    const auto pair = header_.body_bytes;
    introductions_.push_back({static_cast<std::uint32_t>(pair), static_cast<std::uint32_t>(pair >> 32), {text, text + head_.size()}});
    return;
  }
  waiting_bytes_ += head_.size() + overhead_of_a_head;
  heads_.push_back(std::exchange(head_, {}));
  if (header_.body_bytes == 0) return;
  offered_.push_back(header_.body_bytes);
  ask_for_bodies();
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

void Connection::close() {
  socket_.close();
  is_up_ = tells_received_ = false;
  writer_.give_up();
  await_header();
}

void Connection::break_off(const std::string& why) {
  close();
  problem_ = why;
  damaged_ = 0;
}

void Connection::break_off_damaged() {
  close();
  problem_ = "what came was damaged on the way";
  if (++damaged_ > damaged_max) lose("what comes is damaged on the way, again and again");
}

void Connection::lose(const std::string& why) {
  close();
  loss_ = why;
  drop_output();
  targets_.clear();
  asked_.clear();
  offered_.clear();
}

// The other side waits a moment to hear that this has come. It does not where a part of another frame is out.
void Connection::on_farewell() {
  if (!writer_.has_begun()) {
    drop_output();
    tells_received_ = true;
    write();
  }
  lose("the other side has closed it");
}

void Connection::notice_silence() {
  if (socket_.is_open() && is_silent(socket_, silence_seconds_)) {
    break_off(fmt::format("nothing has been heard of that node for {:g} s", silence_seconds_));
  }
}

// Bodies of which a part is out, or that have to be sent again, cannot be left out: heads behind them would be taken for something else.
void Connection::end() {
  ends_ = true;
  bodies_.clear();
  offers_.clear();
  targets_.clear();
  introductions_.clear();
  heads_.clear();
  waiting_bytes_ = 0;
  if (reads_payload_ && header_.kind == Kind::body) payload_ = nullptr;
  const bool is_writing = writes_numbered_ && writer_.is_busy();
  if (is_writing && !writer_.has_begun() && next_ == numbered_.size() && numbered_.back().kind == Kind::body) {
    writer_.give_up();
    numbered_.pop_back();
    --next_;
    --sequence_;
  }
  const std::size_t unwritten = !is_up_ ? numbered_.size() : next_ - (writes_numbered_ && writer_.is_busy() ? 1 : 0);
  const bool lacks_body = std::any_of(numbered_.begin() + static_cast<std::ptrdiff_t>(unwritten), numbered_.end(), is_body);
  if (lacks_body) return lose("it ends in the middle of a body");
  frames_.push_back({.kind = Kind::farewell});
  write();
}

bool Connection::has_ended(bool is_patient) const {
  if (!loss_.empty() || !has_begun_ || (numbered_.empty() && frames_.empty())) return true;
  return !is_patient && is_up_ && next_ == numbered_.size() && !writer_.is_busy() && unacknowledged_bytes(socket_) == 0;
}

}  // namespace glean::transport
