// SPDX-License-Identifier: BSD-3-Clause
//
// What becomes of a raw output after it has been closed, for a rank that waits for that (`close = "durable"`).
#pragma once

#include <cstdint>
#include <string>

#include "pool/pool.hpp"

namespace glean::session {

class Core;

class Publication {
 public:
  // The publication of the output that this rank has open in the slot. Local.
  Publication(Core& core, std::uint32_t slot, std::string path);
  // When all ranks have closed it: until it is published and on the storage. Throws what has failed, and timeout when nothing is written
  // for the deadline of the session. Local, blocks.
  void wait();
  // Another rank has met that it failed, and the call on this rank says so too. Local.
  void told() const;

  // That it is published, or that another output has its slot by now. Throws what has failed. Local, does not wait.
  [[nodiscard]] bool is_over();

 private:
  void throw_failure() const;

  Core& core_;
  pool::OutputKey key_;
  std::string path_, final_path_;
  std::uint64_t inode_ = 0, device_ = 0;   // of the working file, once the drain has opened it
  bool is_known_ = false;                  // how it has ended: the slot was not another output's by then
};

}  // namespace glean::session
