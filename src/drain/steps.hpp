// SPDX-License-Identifier: BSD-3-Clause
//
// The write order of an output with variables: by steps. A step is staged when all ranks have ended it: what no rank has put is filled, and
// its windows are written. An element of a fixed variable is put once per file, one of a record variable once per step; so windows, and
// requests of the same window, have no order. When all ranks have closed the output, fixed variables are filled.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "drain/coverage.hpp"
#include "drain/kept_puts.hpp"
#include "drain/output_life.hpp"
#include "drain/part_boxes.hpp"
#include "drain/takeover_log.hpp"
#include "drain/write_order.hpp"

namespace glean::drain {

class Steps final : public WriteOrder {
 public:
  Steps(DrainedOutput& output, OutputWork& work, OutputLife& life, OutputFile& file, TakeoverLog& log, KeptPuts& kept)
      : output_(output), work_(work), life_(life), file_(file), log_(log), kept_(kept) {}

  void take_over() override;
  void look(const pool::RanksOfOutput& ranks) override;
  void judge(const pool::RanksOfOutput& ranks) override;
  void on_put(const TakenRecord& taken) override;
  void progress() override;
  void written(PendingPiece& pending) override;
  void filled(std::uint64_t step) override { --unwritten_[step]; }
  void finish() override;
  void drop() override;
  void send_again(int node) override;
  [[nodiscard]] bool has_promise() const override;
  [[nodiscard]] bool shares_file() const override { return output_.description.ranks_write || output_.nodes != nullptr; }

 private:
  // -- what was put
  [[nodiscard]] std::unique_ptr<PendingPiece> piece_of(const TakenRecord& taken) const;
  Coverage& coverage(std::uint32_t variable, std::uint64_t step);
  void cover(const LoggedPut& put);   // throws overlap
  void reach(const LoggedPut& put, const store::Piece& piece);
  [[nodiscard]] std::uint64_t kept_until(std::uint32_t variable, std::uint64_t step) const;
  // -- staging
  void skip_empty_steps();
  void stage();
  void fill(std::uint32_t variable, std::uint64_t step);
  void count_written();
  // -- what another drain has left, and what is not to be in the file (steps_takeover.cpp)
  void take_inherited();
  void take_kept(const TakenRecord& taken);
  [[nodiscard]] bool is_undone(std::uint64_t step) const { return output_.ranks == Ranks::gone && step >= output_.steps.ended; }
  // Both: whether a drain that comes after this one must still know of the put.
  [[nodiscard]] bool take_put(const LoggedPut& put);
  [[nodiscard]] bool undo(const LoggedPut& put);
  [[nodiscard]] bool restore(const LoggedPut& put);

  DrainedOutput& output_;
  OutputWork& work_;
  OutputLife& life_;
  OutputFile& file_;
  TakeoverLog& log_;
  KeptPuts& kept_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, Coverage> coverage_;
  std::map<std::uint64_t, std::uint64_t> unwritten_;   // pieces and fills of a step
  // What a step that is not staged has put.
  struct Reach {
    Bytes end = 0;
    bool has_records = false;
  };
  std::map<std::uint64_t, Reach> reaches_;
  std::vector<std::unique_ptr<store::VariableLayout>> zeros_;   // for what is undone
  std::optional<PartBoxes> part_boxes_;                         // where the output is one of several files
  bool fixed_filled_ = false;
  std::uint64_t taken_ = 0;   // records
};

}  // namespace glean::drain
