// SPDX-License-Identifier: BSD-3-Clause
//
// In which order what ranks have put goes into a file, and what of it is there when the file is complete. An output has one of two:
// `Steps` of variables (drain/steps.hpp), or a `Stream` of writes (drain/stream.hpp).
#pragma once

#include <cstdint>

#include "drain/output.hpp"
#include "pool/ranks_of_output.hpp"

namespace glean::drain {

class WriteOrder {
 public:
  WriteOrder() = default;
  virtual ~WriteOrder() = default;
  WriteOrder(const WriteOrder&) = delete;
  WriteOrder& operator=(const WriteOrder&) = delete;

  // Goes on where another drain has stopped. Throws when that cannot be.
  virtual void take_over() = 0;

  // -- what the ranks have done
  // How far they are, before the journals are read.
  virtual void look(const pool::RanksOfOutput& ranks) = 0;
  // Called once, when the ranks are gone: what the file will be.
  virtual void judge(const pool::RanksOfOutput& ranks) = 0;
  // Whether the record can be taken now.
  [[nodiscard]] virtual bool takes(const pool::Record&) { return true; }
  // Takes it. If it throws the output fails, and the record is still to be retired.
  virtual void on_put(const TakenRecord& taken) = 0;
  // Ranks have put something that was not taken.
  [[nodiscard]] virtual bool lacks_writes() const { return false; }

  // -- writing
  // Hands out what is to be written now, and counts what is written.
  virtual void progress() = 0;
  virtual void written(PendingPiece& pending) = 0;   // all of it
  virtual void filled(std::uint64_t /*step*/) {}     // a window of it
  // All ranks have closed the output, and all steps are written: writes what is left. The output may fail.
  virtual void finish() {}
  // The file may get its name now.
  [[nodiscard]] virtual bool may_publish() { return true; }
  // The output has failed: what was taken is given back.
  virtual void drop() = 0;
  virtual void tell_nodes() {}
  // That node has lost what was sent there: what is kept of it goes there again.
  virtual void send_again(int /*node*/) {}

  // -- what is promised
  // Some of the file was said to be durable.
  [[nodiscard]] virtual bool has_promise() const = 0;
  // All of its ranks are gone, and not all have closed it: it is published as it is.
  [[nodiscard]] virtual bool is_left_unclosed() const { return false; }
  // Ranks may cut the file, or write into it.
  [[nodiscard]] virtual bool shares_file() const = 0;
};

}  // namespace glean::drain
