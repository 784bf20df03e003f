// SPDX-License-Identifier: BSD-3-Clause
//
// Which task of a container that is about to be made is in which physical file, and how large its chunks are: docs/formats/container.md
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "store/container/container_index.hpp"

namespace glean::store {

// More physical files than that are refused: each is an output of its own until it is published.
inline constexpr std::uint32_t physical_files_most = 32;
inline constexpr Bytes largest_chunk_bytes = 1024 * base::GiB, largest_block_bytes = base::GiB;

struct ContainerWishes {
  std::uint32_t files = 1;             // physical ones; 0: one of each node, at most physical_files_most
  Bytes block_bytes = 4096;            // to which chunks are aligned
  std::uint32_t tasks_per_group = 1;   // the chunks of so many tasks in a row share blocks; groups are aligned to them
};

struct TaskWish {
  Bytes chunk_bytes = 0;    // of its data, without the trailer
  std::uint32_t node = 0;   // nodes are numbered from 0 on, by their lowest ranks
};

// What cannot be, a sentence each; of tasks the first few. Pure.
[[nodiscard]] std::vector<std::string> wrong_with(const ContainerWishes& wishes, std::span<const TaskWish> tasks);

// The headers of all physical files, of tasks by their global ranks, of a container that is not closed. Throws invalid_argument, also where
// a chunk of each task is longer than any file. Pure, O(tasks).
[[nodiscard]] std::vector<ContainerHeader> lay_out_container(const ContainerWishes& wishes, std::span<const TaskWish> tasks,
                                                             const std::string& path, std::uint64_t id);

// Where each rank is, as SIONlib has it: in file 0 of several; nothing for one file. Pure.
[[nodiscard]] std::vector<TaskPlace> mapping_of(const std::vector<ContainerHeader>& headers);

}  // namespace glean::store
