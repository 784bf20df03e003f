// SPDX-License-Identifier: BSD-3-Clause
// What a program does around a file: removes, renames, links and cuts it by its names, makes marker files, opens it again.
//
// A file of a communicator has a few names of its own in the directory of the scenario, which are told by their numbers.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "shape.hpp"

namespace transparent {

// Which scenarios have such steps.
enum class Names { no, some, all };

enum class NameCallKind { remove, remove_by_mpi, move, link, symbolic_link, cut, cut_by_open, make };
enum class Look { none, ask, read, list };   // what a rank looks at afterwards, of all names of the file

// Suffixes of the names. The last one makes a marker (docs/transparent.md).
constexpr std::array<const char*, 7> suffixes = {"", ".bak", ".1", ".2", ".new", ".latest", ".done"};
constexpr int same_name = -1;   // the name under which the file was opened last
constexpr int marker_name = static_cast<int>(suffixes.size()) - 1;

struct NameCall {
  NameCallKind kind = NameCallKind::remove;
  int from = same_name, to = same_name;
  int bytes = 0;      // cut: to so many
  int place = 0;      // of the rank that calls, in the communicator of the file; modulo its size
  Look look = Look::none;
  int looker = 0;     // the place of the rank that looks
};

// The file is closed, unless `while_open`; then come the calls; then it is opened under the name `open_as`.
struct NamesPlan {
  bool while_open = false;
  std::vector<NameCall> calls = {};
  int open_as = same_name;
  bool cut_first = false;   // set_size(0) as soon as it is open, as HDF5 creates files
};

enum class SecondComm { self, all, half };

// The file is opened once more while it is open, and read; the first rank of the second handle writes, too.
struct SecondHandle {
  SecondComm comm = SecondComm::self;
  int name = same_name;
  int place = 0;       // of the rank that opens it by itself
  bool write = false;
  int offset = 0, bytes = 0;
};

[[nodiscard]] NamesPlan draw_names(Random& random, int ranks);
[[nodiscard]] SecondHandle draw_second_handle(Random& random);
[[nodiscard]] std::string text_of(const NameCall& call);
[[nodiscard]] std::string text_of(const NamesPlan& plan);
[[nodiscard]] std::string text_of(const SecondHandle& second);

}  // namespace transparent
