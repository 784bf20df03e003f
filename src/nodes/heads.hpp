// SPDX-License-Identifier: BSD-3-Clause
//
// What nodes tell each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "nodes/node_progress.hpp"

namespace glean::nodes {

// The heads of messages. Nodes of one job are alike, so they go as they lie in memory.
// progress: of a node and those below it, towards the root of the tree; job_progress: of all nodes, away from it.
// opening, opened, leaves, end, again, place, heard, ended: between stagers and the nodes that they write for.
enum class MessageKind : std::uint32_t {
  block = 1, receipt, progress, job_progress, failure, sums, question, answer, opening, opened, leaves, end, again,
  place, heard, ended, lost
};

struct BlockHead {
  MessageKind kind = MessageKind::block;
  std::uint32_t variable = 0;
  std::uint64_t number = 0;               // of the sender's, for the receipt
  std::uint64_t job_output = 0;
  std::uint64_t step = 0;
  std::uint64_t first_element = 0, elements = 0;
  std::uint64_t body_bytes = 0;
  std::uint16_t dimensions = 0;           // start and count of the box follow
  std::uint8_t memory_type = 0;
  std::uint8_t first = 0;
  std::uint32_t job_rank = 0;             // the rank that has put it
};

// Checksums of what a node has written of an output, to the node that publishes it, and what it has found out of its steps.
struct SumsHead {
  enum class Body : std::uint16_t { sums, results };   // store::StridedSum, one after the other; analysis::OutputResults
  MessageKind kind = MessageKind::sums;
  std::uint16_t lost = 0;                 // 1: not all that the node has written has one
  Body body = Body::sums;
  std::uint64_t number = 0;               // of the sender's, for the receipt
  std::uint64_t job_output = 0;
  std::uint64_t body_bytes = 0;
};

// The receipt of an exchange block, or of checksums.
struct ReceiptHead {
  MessageKind kind = MessageKind::receipt;
  std::uint32_t taken = 0;   // 0: the node does not need it any more, or not now; the sender keeps what it has of it
  std::uint64_t number = 0;
};

struct ProgressHead {
  MessageKind kind = MessageKind::progress;
  std::uint32_t reserved = 0;
  std::uint64_t job_output = 0;
  NodeProgress progress;
};

// How what is said of an output as a whole begins.
struct OutputHead {
  MessageKind kind{};
  std::uint32_t other = 0;
  std::uint64_t job_output = 0;
};
static_assert(offsetof(ProgressHead, job_output) == offsetof(OutputHead, job_output));

struct FailureHead {
  MessageKind kind = MessageKind::failure;
  std::uint32_t error = 0;                    // base::Errc
  std::uint64_t job_output = 0;
  std::uint32_t what_bytes = 0, hint_bytes = 0;   // texts follow
  std::uint32_t may_be_kept = 0;                  // 1: the storage refuses it, and nothing of it goes before all nodes have decided
  std::uint32_t is_nowhere = 0;                   // 1: no stager has opened it
};
static_assert(offsetof(FailureHead, job_output) == offsetof(OutputHead, job_output));

// A rank's question to node 0 about a shared pointer, and the answer. Both go along the tree.
struct QuestionHead {
  MessageKind kind = MessageKind::question;
  std::uint32_t node = 0, rank = 0, unused = 0;   // the rank that asks
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

// An output that a client opens: to the root, which makes the file, and from there to all stagers, with the names that it has got.
struct OpeningHead {
  MessageKind kind = MessageKind::opening;
  std::uint32_t refuses_existing = 0;             // 1: a file of that name is an error
  std::uint64_t job_output = 0;
  std::uint64_t body_bytes = 0;                   // store::OutputDescription; 0: it follows the head
  std::uint32_t client = 0;                       // the node that asks
  std::uint16_t is_again = 0;                     // 1: another process may have had it open in the stager's place
  std::uint16_t is_done = 0;                      // 1: and what this stager writes of it is durable
  std::uint64_t inode = 0;                        // of the file, where another process had it open in the stager's place; 0: none had
};

// This stager has it open, and so have those below it; from the root to the client: all have.
struct OpenedHead {
  MessageKind kind = MessageKind::opened;
  std::uint32_t client = 0;
  std::uint64_t job_output = 0;
  std::uint64_t inode = 0;                        // of the file that the root has made
};

// leaves: a client needs nothing more, and is about to end; a stager: all clients below it have left. end: to a client, its stager has
// noted that; from the root, all have.
// again: a stager above has been replaced, and what was asked of it is to be asked again.
struct FarewellHead {
  MessageKind kind = MessageKind::leaves;
  std::uint32_t unused = 0;
};

// Of a job whose nodes keep what is not durable, from neighbour to neighbour: the process of a stager is gone. Until another one has the
// place nothing goes there, and nothing that is kept is given back.
struct LostHead {
  MessageKind kind = MessageKind::lost;
  std::uint32_t node = 0;
};
// In the same way, after that, and once more to a neighbour that is replaced: another process has the place of a stager. With
// `begun_anew` it has nothing of what the one before had, and hears of each client that it sends that again.
struct PlaceHead {
  MessageKind kind = MessageKind::place;
  std::uint32_t node = 0;
  std::uint64_t begun_anew = 0;                   // when; 0: it has the pool
};
struct HeardHead {
  MessageKind kind = MessageKind::heard;
  std::uint32_t node = 0;                         // to it, along the tree
  std::uint64_t begun_anew = 0;
  std::uint32_t client = 0, unused = 0;           // from it, after the progress that it has by that
};

// To a stager that has begun anew, from above: how an output has ended.
struct EndedHead {
  MessageKind kind = MessageKind::ended;
  std::uint32_t end = 0;                          // pool::OutputEnd
  std::uint64_t job_output = 0;
};

template <class Head>
[[nodiscard]] std::span<const std::byte> bytes_of(const Head& head) {
  return std::as_bytes(std::span(&head, 1));
}

// To a head, what follows it.
inline void append(std::vector<std::byte>& bytes, std::span<const std::byte> more) {
  const std::size_t before = bytes.size();
  bytes.resize(before + more.size());
  if (!more.empty()) std::memcpy(bytes.data() + before, more.data(), more.size());
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
