// SPDX-License-Identifier: BSD-3-Clause
//
// What an output gives the engine's threads to do.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "drain/exchange_block.hpp"
#include "store/windows/window.hpp"

namespace glean::drain {

class OutputDrain;

struct Job {
  enum class Kind { window, read, synchronize, publish, discard };
  Kind kind = Kind::window;
  OutputDrain* output = nullptr;
  std::shared_ptr<store::Window> window;
  std::uint64_t steps = 0, tick = 0;   // synchronize: how many it has made durable; of a raw output, what was written before this tick
  bool has_copies = false;   // publish: those that were to be made of it are made, or cannot be
  // read: a block as long as its output has not failed, and what is read of it
  ExchangeBlock* block = nullptr;
  std::shared_ptr<ExchangeBlock> read{};
};
using Jobs = std::deque<Job>;

}  // namespace glean::drain
