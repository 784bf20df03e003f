// SPDX-License-Identifier: BSD-3-Clause
//
// What an output has to write: pieces that wait in the pool, gathered in the windows that they touch, and the jobs that come of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>

#include "drain/job.hpp"
#include "drain/output.hpp"

namespace glean::drain {

// Which windows become jobs.
enum class Relief { full_windows, everything };

class OutputWork {
 public:
  OutputWork(DrainedOutput& output, OutputDrain& owner, Bytes request_bytes, Jobs& jobs, ExchangeBlocks& blocks)
      : output_(output), owner_(owner), request_bytes_(request_bytes), jobs_(jobs), blocks_(blocks) {}
  // As the output's description says which node writes what, in requests of which length. Throws io when that is damaged.
  void divide();
  [[nodiscard]] Bytes request_bytes() const { return request_bytes_; }
  // Pieces may lie over each other, and the latest wins: at most one request of a window is on its way.
  void let_overlap() { may_overlap_ = true; }

  // -- what is to be written
  void keep(std::unique_ptr<PendingPiece> pending);
  // Puts the piece into the windows that this node writes, and hands the rest over to other nodes.
  void gather(PendingPiece& pending);
  // Hands over what that node writes of it once more.
  void gather_again(PendingPiece& pending, int node);
  template <class Each>
  void for_each_piece(Each each) {
    for (auto& [record, pending] : pieces_) each(*pending);
  }
  // Gathers what is filled. Returns how many windows that are.
  std::uint64_t gather_fill(const store::VariableLayout& variable, Extent extent, std::uint64_t step);
  [[nodiscard]] Bytes waiting_bytes() const { return waiting_bytes_; }   // of the file: put or to be filled, not written
  // How far the file reaches, by all that was put; and how much was put since it was last made longer.
  void reach(Bytes end) { end_ = std::max(end_, end); }
  void reach_no_further_than(Bytes end) { end_ = end; }
  [[nodiscard]] Bytes end() const { return end_; }
  void need(Bytes bytes) { unreserved_bytes_ += bytes; }
  [[nodiscard]] Bytes take_unreserved() { return std::exchange(unreserved_bytes_, 0); }

  // -- jobs
  [[nodiscard]] bool has(Relief relief) const { return relief == Relief::everything ? !gathered_.empty() : !full_.empty(); }
  void queue(Relief relief);
  void queue(Job::Kind kind, std::shared_ptr<store::Window> window = nullptr);
  void job_began() { ++in_flight_; }   // that was not in the queue
  void job_ended() { --in_flight_; }
  [[nodiscard]] int in_flight() const { return in_flight_; }
  void written(const store::Window& window);
  [[nodiscard]] PendingPiece* find(const pool::Record* record) const;
  void forget(const PendingPiece& pending) { pieces_.erase(pending.record); }   // all of it is in the file
  // Nothing of it will be written: no job begins any more. What pieces hold stays until they are retired.
  void drop();
  void retire_all();

 private:
  store::Window& add(std::uint64_t index, Bytes bytes);   // to the window

  DrainedOutput& output_;
  OutputDrain& owner_;
  Bytes request_bytes_;
  Jobs& jobs_;
  ExchangeBlocks& blocks_;
  bool may_overlap_ = false;
  std::unordered_map<const pool::Record*, std::unique_ptr<PendingPiece>> pieces_;
  std::map<std::uint64_t, store::Window> gathered_;   // by index
  std::set<std::uint64_t> full_, on_their_way_;       // windows; on their way: where they may overlap
  Bytes waiting_bytes_ = 0, end_ = 0, unreserved_bytes_ = 0;
  int in_flight_ = 0;
};

}  // namespace glean::drain
