// SPDX-License-Identifier: BSD-3-Clause
//
// A pointer that ranks of several nodes share is a word in the pool of node 0: ranks ask there, along the tree.
#include <algorithm>

#include "nodes/exchange.hpp"
#include "pool/futex.hpp"
#include "transport/tree.hpp"

namespace glean::nodes {

bool Exchange::ask() {
  asked_.resize(pool_.header().ranks);
  bool moved = false;
  for (std::uint32_t rank = 0; rank < pool_.header().ranks; ++rank) {
    const pool::SharedQuestion& question = pool_.journal(static_cast<int>(rank)).question;
    const std::uint64_t number = question.asked.load(std::memory_order_acquire);
    if (number == std::exchange(asked_[rank], number)) continue;
    moved = true;
    on_question({.node = pool_.header().node, .rank = rank, .number = number, .job_output = question.job_output,
                 .times_set = question.move.times_set, .start = question.move.start, .by = question.move.by});
  }
  return moved;
}

void Exchange::on_question(const QuestionHead& question) {
  if (parent_) return all_.messages.send(*parent_, bytes_of(question));
  if (is_to_come(question.job_output)) take_up_outputs();   // it was just opened here
  const SharedOutput* output = find(question.job_output);   // none: it has failed
  const pool::SharedMove move{question.times_set, question.start, question.by};
  const std::uint64_t position =
      output == nullptr ? pool::no_position : pool::move_shared(pool_.slot(output->key.slot).writes.shared_position, move);
  on_answer({.node = question.node, .rank = question.rank, .number = question.number, .position = position});
}

void Exchange::on_answer(const AnswerHead& answer) {
  if (answer.node == pool_.header().node) {
    if (answer.rank >= pool_.header().ranks) throw base::Error(base::Errc::io, "a message of another node cannot be understood");
    pool::SharedQuestion& question = pool_.journal(static_cast<int>(answer.rank)).question;
    question.position.store(answer.position, std::memory_order_relaxed);
    question.answered.store(answer.number, std::memory_order_release);
    pool::futex_signal(pool_.header().progress);
    return;
  }
  const int next = tree_.way_to(static_cast<int>(answer.node), self_);
  if (std::find(children_.begin(), children_.end(), next) == children_.end()) {
    throw base::Error(base::Errc::io, "a message of another node cannot be understood");
  }
  all_.messages.send(next, bytes_of(answer));
}

}  // namespace glean::nodes
