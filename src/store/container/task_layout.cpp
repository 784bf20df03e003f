// SPDX-License-Identifier: BSD-3-Clause
#include "store/container/task_layout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/units.hpp"

namespace glean::store {
namespace {

// A chunk that is not aligned to blocks still begins where a number may.
constexpr Bytes chunk_alignment = 8;

std::uint64_t nodes_of(std::span<const TaskWish> tasks) {
  std::uint64_t nodes = 1;
  for (const TaskWish& task : tasks) nodes = std::max<std::uint64_t>(nodes, task.node + 1U);
  return nodes;
}

// The last chunk of a group fills its block.
void align_groups(ContainerHeader& header, std::uint32_t tasks_per_group) {
  Bytes sum = 0;
  for (std::size_t task = 0; task < header.tasks(); ++task) {
    Bytes& mine = header.chunk_bytes[task];
    const bool is_last = (task + 1) % tasks_per_group == 0 || task + 1 == header.tasks();
    sum += mine;
    if (!is_last) continue;
    const Bytes aligned = base::align_up(sum, header.block_bytes);
    mine += aligned - sum;
    sum = 0;
  }
}

}  // namespace

std::vector<std::string> wrong_with(const ContainerWishes& wishes, std::span<const TaskWish> tasks) {
  constexpr std::size_t shown = 8;
  std::vector<std::string> wrong;
  if (wishes.block_bytes == 0 || wishes.block_bytes > largest_block_bytes) wrong.emplace_back("a block has from 1 byte to 1 GiB");
  if (wishes.tasks_per_group == 0) wrong.emplace_back("a writer has at least one task");
  if (wishes.files > tasks.size()) wrong.push_back(fmt::format("{} tasks cannot be in {} files", tasks.size(), wishes.files));
  else if (wishes.files > physical_files_most) wrong.push_back(fmt::format("it can be at most {} files", physical_files_most));
  std::size_t more = 0;
  for (std::size_t rank = 0; rank < tasks.size(); ++rank) {
    const Bytes bytes = tasks[rank].chunk_bytes;
    if (bytes != 0 && bytes <= largest_chunk_bytes) continue;
    if (wrong.size() >= shown) ++more;
    else wrong.push_back(fmt::format("rank {} asks for chunks of {} bytes: a chunk has from 1 byte to 1 TiB", rank, bytes));
  }
  if (more != 0) wrong.push_back(fmt::format("{} more ranks do", more));
  return wrong;
}

std::vector<ContainerHeader> lay_out_container(const ContainerWishes& wishes, std::span<const TaskWish> tasks, const std::string& path,
                                               std::uint64_t id) {
  const std::uint64_t nodes = nodes_of(tasks);
  const auto files = wishes.files != 0 ? wishes.files : static_cast<std::uint32_t>(std::min<std::uint64_t>(nodes, physical_files_most));
  std::vector<ContainerHeader> headers(files);
  for (std::uint32_t file = 0; file < files; ++file) {
    headers[file].block_bytes = wishes.block_bytes;
    headers[file].files = files;
    headers[file].file = file;
    headers[file].prefix = path.substr(0, container_prefix_most);
    headers[file].id = id;
  }
  const bool grouped = wishes.tasks_per_group > 1;
  for (std::size_t rank = 0; rank < tasks.size(); ++rank) {
    ContainerHeader& header = headers[wishes.files != 0 ? rank * files / tasks.size() : tasks[rank].node * files / nodes];
    header.global_ranks.push_back(rank);
    header.chunk_bytes.push_back(chunk_bytes_for(tasks[rank].chunk_bytes, grouped ? chunk_alignment : wishes.block_bytes));
  }
  for (ContainerHeader& header : headers) {
    if (grouped) align_groups(header, wishes.tasks_per_group);
    ContainerHeader with_a_chunk = header;
    with_a_chunk.chunks_most = 1;
    check_container_header(with_a_chunk);
  }
  return headers;
}

std::vector<TaskPlace> mapping_of(const std::vector<ContainerHeader>& headers) {
  if (headers.size() == 1) return {};
  std::size_t tasks = 0;
  for (const ContainerHeader& header : headers) tasks += header.tasks();
  std::vector<TaskPlace> places(tasks);
  for (const ContainerHeader& header : headers) {
    for (std::size_t local = 0; local < header.tasks(); ++local) {
      places[header.global_ranks[local]] = {header.file, static_cast<std::uint32_t>(local)};
    }
  }
  return places;
}

}  // namespace glean::store
