// SPDX-License-Identifier: BSD-3-Clause
//
// Checksums of what each node has written, and what it has found out of steps, on their way to the publisher, which publishes them with the
// file. Straight there: on the way along the tree every node would hold those of all below it, and the publisher has to hold all of them
// anyway.
#include <algorithm>
#include <cstring>
#include <utility>

#include "nodes/exchange.hpp"

namespace glean::nodes {
namespace {

constexpr std::size_t sums_at_once = 1024;   // of an output; the next follow when these have arrived
constexpr std::size_t results_bytes_max = 256 * base::MiB;

}  // namespace

void Exchange::send_sums(SharedOutput& output) {
  using SumsAre = SharedOutput::SumsAre;
  if (output.sums_are != SumsAre::not_taken) return;
  if (pool_.slot(output.key.slot).nodes.part_durable.load(std::memory_order_acquire) == 0) return;
  auto sums = output.publisher != self_ ? engine_.take_sums(output.key) : std::nullopt;
  output.sums_are = sums && sums->any() ? SumsAre::leaving : SumsAre::there;
  if (output.sums_are == SumsAre::there) return;
  output.sums = std::move(*sums);
  send_next_sums(output);
}

void Exchange::send_next_sums(SharedOutput& output) {
  auto& left = output.sums.sums;
  const auto begin = left.end() - static_cast<std::ptrdiff_t>(std::min(left.size(), sums_at_once));
  const std::uint64_t number = ++tokens_;
  const bool are_results = left.empty() && !output.sums.results.empty();
  const auto& sent = sums_on_their_way_[number] = {output.job_output, {begin, left.end()},
                                                   are_results ? std::exchange(output.sums.results, {}) : std::vector<std::byte>()};
  left.erase(begin, left.end());
  const auto body = are_results ? std::span<const std::byte>(sent.results) : std::as_bytes(std::span(sent.sums));
  const SumsHead head{.lost = static_cast<std::uint16_t>(output.sums.lost ? 1 : 0),
                      .body = are_results ? SumsHead::Body::results : SumsHead::Body::sums,
                      .number = number,
                      .job_output = output.job_output,
                      .body_bytes = body.size()};
  if (body.empty()) all_.messages.send(output.publisher, bytes_of(head));
  else all_.messages.send(output.publisher, bytes_of(head), body, number);
}

// Or they are not needed there, because the output has failed or is put off; then its end comes from there, too.
bool Exchange::sums_have_arrived(std::uint64_t number) {
  const auto sent = sums_on_their_way_.extract(number);
  if (sent.empty()) return false;
  if (SharedOutput* output = find(sent.mapped().job_output)) {
    if (output->sums.sums.empty() && output->sums.results.empty()) output->sums_are = SharedOutput::SumsAre::there;
    else send_next_sums(*output);
  }
  return true;
}

void Exchange::take_in_sums(Lane& lane, Incoming incoming) {
  const auto head = head_of<SumsHead>(incoming.head);
  const bool are_sums = head.body_bytes <= sums_at_once * sizeof(store::StridedSum) && head.body_bytes % sizeof(store::StridedSum) == 0;
  if (head.body == SumsHead::Body::results ? head.body_bytes > results_bytes_max : !are_sums) {
    throw base::Error(base::Errc::io, "a message of another node is cut off");
  }
  const int peer = incoming.peer;
  Receiving receiving{.incoming = std::move(incoming), .held = {}, .body = std::vector<std::byte>(head.body_bytes)};
  if (head.body_bytes == 0) return commit_sums(receiving);
  const std::uint64_t token = ++tokens_;
  std::vector<std::byte>& body = (lane.receiving[token] = std::move(receiving)).body;
  lane.messages.receive_body(peer, body, token);
}

void Exchange::commit_sums(const Receiving& received) {
  const auto head = head_of<SumsHead>(received.incoming.head);
  const bool wanted = wants(head.job_output);
  if (wanted) {
    drain::Engine::Sums sums{.sums = {}, .lost = head.lost != 0};
    if (head.body == SumsHead::Body::results) {
      sums.results = received.body;
    } else {
      sums.sums.resize(received.body.size() / sizeof(store::StridedSum));
      if (!received.body.empty()) std::memcpy(sums.sums.data(), received.body.data(), received.body.size());
    }
    engine_.add_sums(find(head.job_output)->key, sums);
  }
  all_.messages.send(received.incoming.peer, bytes_of(ReceiptHead{.taken = wanted ? 1U : 0U, .number = head.number}));
}

}  // namespace glean::nodes
