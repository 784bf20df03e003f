// SPDX-License-Identifier: BSD-3-Clause
//
// How much memory the files of a job take, without a look at each whenever one is begun: the files are counted now and then, and the
// tally adds up what has changed since. It is in a file of the job's directory, for all processes of the node. With the lock.
//
// The sum may be too large until the next count, never too small once the files that have grown are closed.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.hpp"

namespace glean::gather {

using base::Bytes;

class Tally {
 public:
  explicit Tally(const std::string& root);
  ~Tally();
  Tally(const Tally&) = delete;
  Tally& operator=(const Tally&) = delete;

  [[nodiscard]] Bytes used() const { return state_.used; }
  // Nothing has been counted yet, or a count now looks at no more than `times` as many files as have changed since the last one.
  [[nodiscard]] bool is_to_be_counted(std::uint64_t times) const;
  struct Count {
    Bytes used = 0;
    std::uint64_t entries = 0, open_files = 0;
  };
  void set(const Count& count);
  // A file may be written now that may take so many bytes, or one is brought out of its container.
  void opened(Bytes expected);
  void brought_out(Bytes bytes);
  // An open file is a closed one. `beyond`: how much longer it is than the longest one of its rule was, as the other open files may be.
  // `is_here`: it lies in this memory.
  void closed(Bytes beyond, bool is_here);
  void removed(Bytes bytes);
  void forget_count();
  // By all counts so far.
  [[nodiscard]] std::uint64_t entries_looked_at() const { return state_.looked_at; }

 private:
  struct State {
    std::uint64_t is_counted = 0, used = 0, entries = 0, open_files = 0;
    std::uint64_t changes = 0;     // since the last count
    std::uint64_t looked_at = 0;
  };
  void change();

  int descriptor_ = -1;
  bool has_changed_ = false;
  State state_;
};

}  // namespace glean::gather
