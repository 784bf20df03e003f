// SPDX-License-Identifier: BSD-3-Clause
//
// All ranks read their boxes of a variable together. Where each node would fetch much that others need, because rows are short and those of
// several nodes lie between each other, the aggregators of the nodes read aligned windows of the file, each once, and hand every rank its
// rows: two-phase reading. Elsewhere each rank reads its own box, and the page cache of the node has what ranks of it share.
#pragma once

#include <optional>
#include <string>

#include "session/core.hpp"
#include "session/formats.hpp"

namespace glean::session {

struct BoxToRead {
  int variable = -1;
  std::uint64_t step = 0;
  mesh::Box box;
  mesh::Type memory = mesh::Type::float64;
  std::byte* values = nullptr;   // has room for the box
};

// `wrong`: what is wrong with this rank's arguments, which all ranks throw. Throws what Reader::read() throws, on all ranks. Collective,
// blocks.
void read_together(Core& core, const std::string& path, const Reader& file, const BoxToRead& mine, const std::optional<base::Error>& wrong);

}  // namespace glean::session
