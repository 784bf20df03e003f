// SPDX-License-Identifier: BSD-3-Clause
//
// What nodes tell each other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/error.hpp"

namespace glean::nodes {

// How far a node is with an output, or the nodes of a subtree, or all. Every figure only grows; who is last changes.
struct Standing {
  std::uint64_t steps_ended = 0;          // by all ranks
  std::uint64_t steps_begun = 0;          // ended by at least one
  std::uint64_t steps_sent = 0;           // ended, and at the nodes that write them
  std::uint64_t steps_synchronized = 0;
  std::uint64_t synchronize_up_to = 0;    // wanted by somebody
  std::uint64_t records = 0, highest_end = 0;
  // Of bytes, by epochs (output_epochs.cpp): all writes of earlier ones are in the file; wanted there by somebody; the latest that a
  // node is in.
  std::uint64_t written_epoch = 0, wanted_epoch = 0, latest_epoch = 0;
  std::uint64_t written_bytes = 0;        // of all outputs; no news by itself
  std::uint32_t closed = 0;
  std::uint32_t part_durable = 0;
  std::uint32_t published = 0;            // said by the root alone, and so is
  std::uint32_t removed = 0;              // that there is no file because the program has removed it
  std::uint32_t postponed = 0;            // recovery could not write somewhere, or the storage of a node has refused it and all keep it
  // Ranks of the session, for messages: one of those that have ended fewest steps, and one that has not closed.
  std::uint32_t last_rank = no_rank, open_rank = no_rank;
  // Of bytes: some node knows that handles of the MPI library's were opened on the file, and all do.
  std::uint32_t others_somewhere = 0, others_everywhere = 0;
  std::uint32_t agreed = 0;               // to keep what the storage of a node refuses: all its ranks had closed it
  static constexpr std::uint32_t no_rank = ~std::uint32_t{0};
  friend bool operator==(const Standing&, const Standing&) = default;

  [[nodiscard]] bool is_as_far_as(Standing other) const {
    other.last_rank = last_rank;
    other.open_rank = open_rank;
    other.written_bytes = written_bytes;
    return *this == other;
  }

  // Of both together.
  void join(const Standing& other) {
    const auto all = [](auto& mine, auto theirs) { mine = std::min(mine, theirs); };
    const auto any = [](auto& mine, auto theirs) { mine = std::max(mine, theirs); };
    if (other.steps_ended < steps_ended) last_rank = other.last_rank;
    else if (other.steps_ended == steps_ended) all(last_rank, other.last_rank);
    all(open_rank, other.open_rank);
    all(steps_ended, other.steps_ended);
    all(steps_sent, other.steps_sent);
    all(steps_synchronized, other.steps_synchronized);
    written_bytes += other.written_bytes;
    all(written_epoch, other.written_epoch);
    any(wanted_epoch, other.wanted_epoch);
    any(latest_epoch, other.latest_epoch);
    all(closed, other.closed);
    all(part_durable, other.part_durable);
    any(steps_begun, other.steps_begun);
    any(synchronize_up_to, other.synchronize_up_to);
    any(records, other.records);
    any(highest_end, other.highest_end);
    any(published, other.published);
    any(removed, other.removed);
    any(postponed, other.postponed);
    all(agreed, other.agreed);
    any(others_somewhere, other.others_somewhere);
    all(others_everywhere, other.others_everywhere);
  }
};

// The heads of messages. Nodes of one job are alike, so they go as they lie in memory.
enum class MessageKind : std::uint32_t { parcel = 1, receipt, standing, verdict, failure, sums, question, answer };

struct ParcelHead {
  MessageKind kind = MessageKind::parcel;
  std::uint32_t variable = 0;
  std::uint64_t number = 0;               // of the sender's, for the receipt
  std::uint64_t job_output = 0;
  std::uint64_t step = 0;
  std::uint64_t first_element = 0, elements = 0;
  std::uint64_t body_bytes = 0;
  std::uint16_t dimensions = 0;           // start and count of the box follow
  std::uint8_t memory_type = 0;
  std::uint8_t first = 0;
  std::uint32_t job_rank = 0;             // who has put it
};

// Checksums of what a node has written of an output, to the node that publishes it.
struct SumsHead {
  MessageKind kind = MessageKind::sums;
  std::uint32_t lost = 0;                 // 1: not all that the node has written has one
  std::uint64_t number = 0;               // of the sender's, for the receipt
  std::uint64_t job_output = 0;
  std::uint64_t body_bytes = 0;           // store::StridedSum, one after the other
};

// Of a parcel, or of checksums.
struct ReceiptHead {
  MessageKind kind = MessageKind::receipt;
  std::uint32_t taken = 0;   // 0: nobody needs it there any more, or not now; the sender keeps what it has of it
  std::uint64_t number = 0;
};

struct StandingHead {
  MessageKind kind = MessageKind::standing;   // towards the root; verdict: of all, away from it
  std::uint32_t reserved = 0;
  std::uint64_t job_output = 0;
  Standing standing;
};

struct FailureHead {
  MessageKind kind = MessageKind::failure;
  std::uint32_t error = 0;                    // base::Errc
  std::uint64_t job_output = 0;
  std::uint32_t what_bytes = 0, hint_bytes = 0;   // texts follow
  std::uint32_t may_be_kept = 0, unused = 0;      // 1: the storage refuses it, and nothing of it goes before all nodes have decided
};

// Of a rank, to node 0, about a shared pointer; and back. Both go along the tree.
struct QuestionHead {
  MessageKind kind = MessageKind::question;
  std::uint32_t node = 0, rank = 0, unused = 0;   // who asks
  std::uint64_t number = 0;
  std::uint64_t job_output = 0;
  std::uint64_t times_set = 0, start = 0, by = 0;
};

struct AnswerHead {
  MessageKind kind = MessageKind::answer;
  std::uint32_t node = 0, rank = 0, unused = 0;
  std::uint64_t number = 0;
  std::uint64_t position = 0;
};

template <class Head>
[[nodiscard]] std::span<const std::byte> bytes_of(const Head& head) {
  return std::as_bytes(std::span(&head, 1));
}

// Throws io when there is not so much.
template <class Head>
[[nodiscard]] Head head_of(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(Head)) throw base::Error(base::Errc::io, "a message of another node is cut off");
  Head head;
  std::memcpy(&head, bytes.data(), sizeof head);
  return head;
}

}  // namespace glean::nodes
