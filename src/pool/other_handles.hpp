// SPDX-License-Identifier: BSD-3-Clause
//
// Files that are not GLEAN's alone: handles of the MPI library's that were opened on a captured file, and handles of the MPI library's
// that write a file which is not captured.
#pragma once

#include <cstdint>
#include <string>

#include "pool/pool.hpp"

namespace glean::pool {

// --- on a captured file: OutputSlot::other_handles, flags that are only ever added

inline constexpr std::uint32_t others_have_it = 1u << 0;     // what ranks capture is in the file when their call returns
inline constexpr std::uint32_t all_nodes_know = 1u << 1;     // of several nodes: each has others_have_it
inline constexpr std::uint32_t written_past_it = 1u << 2;    // a rank has written it through the MPI library: the journals do not have all
inline constexpr std::uint32_t looked_at = 1u << 3;          // the program has read it

// One load, of a word that hardly ever changes: each write asks.
[[nodiscard]] inline bool have_others(const OutputSlot& slot) { return (slot.other_handles.load() & others_have_it) != 0; }
// From now on. A process that takes over the drain then finds the file under its final name, too. Local.
void tell_of_others(OutputSlot& slot);
// The path leads to the file that the drain of this output has open. Local, one system call.
[[nodiscard]] bool leads_to_file_of(const OutputSlot& slot, const std::string& path);

// --- on others: PoolHeader::passed_files. All of it local, any process of the node

struct FileId {
  std::uint64_t device = 0, inode = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};
// What the path leads to; false: nothing.
[[nodiscard]] bool find_file(const std::string& path, FileId& file);

// A handle of the MPI library's writes it, until leave_passed. False: there are as many files as there is room for.
[[nodiscard]] bool enter_passed(PoolHeader& pool, const FileId& file);
void leave_passed(PoolHeader& pool, const FileId& file);
// Whether a handle of the MPI library's may write the file that the path leads to. A few loads when there are none.
[[nodiscard]] bool is_passed(const PoolHeader& pool, const std::string& path);

// A file that was published is new and has not been written since, until it is looked at. Forgotten when there is no room.
void remember_untouched(PoolHeader& pool, const FileId& file);
// Whether the path leads to one; it is one no more. A few loads when there are none.
bool forget_untouched(PoolHeader& pool, const std::string& path);

}  // namespace glean::pool
