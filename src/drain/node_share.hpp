// SPDX-License-Identifier: BSD-3-Clause
//
// This node's part of an output that several nodes write: each writes the file domains that are its own, and gets what other nodes have
// captured of them (design.md, section 4, "Alignment"). What all nodes know of the output together stands in its slot (`job_…`).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "drain/exchange_block.hpp"
#include "drain/output.hpp"
#include "plan/file_share.hpp"
#include "pool/ranks_of_output.hpp"

namespace glean::drain {

class NodeShare {
 public:
  NodeShare(DrainedOutput& output, ExchangeBlocks& blocks) : output_(output), blocks_(blocks) {}

  // From now on each node writes its file domains; before, and of a raw output without stagers, each writes what its own ranks have put.
  void divide(plan::FileWriters writers) { writers_ = std::move(writers); }
  [[nodiscard]] bool is_mine(std::uint64_t window);
  // Sends what another node writes there. `bytes`: of the piece, in the window.
  void hand_over(PendingPiece& pending, std::uint64_t window, Extent bytes);
  [[nodiscard]] bool is_of(std::uint64_t window, int node) { return writers_ && writers_->node_of(window) == node; }
  // All that is that node's will be handed over again: what waits to be sent there need not wait any more.
  void begin_again(int node, const std::function<PendingPiece*(const pool::Record*)>& piece_of);
  void end_again() { told_ = std::move(told_before_); }
  // It is where it is written.
  void arrived(const ExchangeBlock& block);
  // A node that was killed before it knew that something had arrived sends it again.
  [[nodiscard]] bool has_come_before(const pool::Record& record, const mesh::Box& box);

  // How far all nodes are. What the ranks of this one have done since the last look is told to the others.
  void look(const pool::RanksOfOutput& ranks);
  // How far this node is: the records of the steps that its ranks have ended have been read, of a raw output if it `has_taken_all`.
  void tell_sent(bool has_taken_all);
  [[nodiscard]] bool have_all_closed() const { return output_.slot.nodes.job_closed.load(std::memory_order_acquire) != 0; }
  [[nodiscard]] std::uint64_t steps_ended() const;   // by all ranks of all nodes
  [[nodiscard]] std::uint64_t steps_begun() const { return output_.slot.nodes.job_steps_begun.load(std::memory_order_acquire); }   // by any
  [[nodiscard]] std::uint64_t records() const { return output_.slot.nodes.job_records.load(std::memory_order_acquire); }
  [[nodiscard]] Bytes highest_end() const { return output_.slot.nodes.job_highest_end.load(std::memory_order_acquire); }

 private:
  [[nodiscard]] bool is_first_to(const ExchangeBlock& block);
  [[nodiscard]] std::uint64_t step_of(std::uint64_t step) const { return output_.description.is_bytes ? 0 : step; }

  DrainedOutput& output_;
  ExchangeBlocks& blocks_;
  std::optional<plan::FileWriters> writers_;
  std::map<std::uint64_t, std::uint64_t> unsent_;   // blocks of a step that have not arrived
  // The put that a rank's records speak of, and the nodes that have been sent some of it.
  struct Told {
    std::uint32_t variable = 0;
    std::uint64_t step = no_step;
    mesh::Box box;
    std::set<int> nodes;
  };
  std::map<int, Told> told_, told_before_;   // before: what was put last, while earlier puts are sent again
  std::uint64_t seen_ended_ = 0;   // steps, by the ranks of this node
  bool seen_closed_ = false;
  // What other nodes have sent, while a job is recovered: variable, step, box, first element, elements.
  std::set<std::tuple<std::uint32_t, std::uint64_t, std::vector<std::uint64_t>, std::uint64_t, std::uint64_t>> came_before_;
};

}  // namespace glean::drain
