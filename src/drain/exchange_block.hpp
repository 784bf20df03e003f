// SPDX-License-Identifier: BSD-3-Clause
//
// What this node has captured of file domains that another node writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "mesh/box.hpp"
#include "mesh/type.hpp"
#include "pool/pool.hpp"

namespace glean::drain {

// A run of elements of one put, in row-major order of its box, as they were captured: their bytes lie in the file in the
// same order, so every run of windows is a run of elements. An element across the border of two domains goes to both nodes,
// and each writes its bytes of it.
struct ExchangeBlock {
  pool::OutputKey output;
  const pool::Record* record = nullptr;   // of the put; only to be compared
  std::uint64_t step = 0;
  std::uint32_t variable = 0;
  int job_rank = 0;                       // the rank that has put it
  mesh::Type memory = mesh::Type::int8;
  mesh::Box box;
  std::uint64_t first_element = 0;        // in the box
  std::uint64_t elements = 0;
  bool first = false;                     // of its put to that node
  int node = 0;                           // that writes it
  std::span<const std::byte> payload;     // of what is spilled: when it has been read
  std::optional<int> spilled_by;          // in the spill file of that rank of the node
  std::vector<std::byte> buffer;          // what was read from there
  base::Bytes file_bytes = 0;             // that this saves this node from writing

  [[nodiscard]] bool is_read() const { return spilled_by && !payload.empty(); }
};

// The elements of a block, where those of its record begin at `of_record`.
[[nodiscard]] inline std::span<const std::byte> payload_of(const ExchangeBlock& block, const std::byte* of_record) {
  const std::size_t size = mesh::size_of(block.memory);
  return {of_record + (block.first_element - block.record->first_element) * size, block.elements * size};
}

// In the order in which they were put: a node that undoes an unfinished step knows by the first of a put what else may have come.
struct ExchangeBlocks {
  std::list<ExchangeBlock> queue;
  std::deque<std::list<ExchangeBlock>::iterator> to_read;   // of them: spilled
  std::size_t read = 0;                                      // of them

  void forget(pool::OutputKey output) {
    std::erase_if(to_read, [&](const auto& block) { return block->output == output; });
    std::erase_if(queue, [&](const ExchangeBlock& block) {
      const bool leaves = block.output == output;
      if (leaves && block.is_read()) --read;
      return leaves;
    });
  }
};

}  // namespace glean::drain
