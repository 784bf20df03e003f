// SPDX-License-Identifier: BSD-3-Clause
#include "store/container/container_writer.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace glean::store {

ContainerWriter::ContainerWriter(File& file, ContainerHeader header)
    : file_(file), header_(std::move(header)),
      write_([this](std::span<const std::byte> bytes, Bytes offset) { file_.write(bytes, offset); }) {
  header_.chunks_most = 0;
  header_.index_begin = 0;
  file_.write(encode_container_header(header_), 0);
  const std::vector<TaskChunks> chunks = header_.chunks();
  tasks_.reserve(chunks.size());
  for (std::size_t task = 0; task < chunks.size(); ++task) tasks_.emplace_back(chunks[task], *header_.id, header_.global_ranks[task]);
}

void ContainerWriter::append(std::size_t task, std::span<const std::byte> bytes) { tasks_[task].append(bytes, write_); }

void ContainerWriter::append_zeros(std::size_t task, Bytes hole) {
  static constexpr std::array<std::byte, 64 * base::KiB> zeros{};
  const TaskWriter::Write write_trailers = [this](std::span<const std::byte> bytes, Bytes offset) {
    if (bytes.data() < zeros.data() || bytes.data() >= zeros.data() + zeros.size()) file_.write(bytes, offset);
  };
  for (Bytes done = 0; done < hole;) {
    const auto part = std::span(zeros).first(static_cast<std::size_t>(std::min<Bytes>(zeros.size(), hole - done)));
    tasks_[task].append(part, write_trailers);
    done += part.size();
  }
}

void ContainerWriter::close_task(std::size_t task) { tasks_[task].close(write_); }

Bytes ContainerWriter::finish(const std::vector<LogicalFile>& names, std::vector<TaskPlace> mapping) {
  std::vector<std::vector<Bytes>> used;
  used.reserve(tasks_.size());
  for (TaskWriter& task : tasks_) {
    task.close(write_);
    used.push_back(task.used());
  }
  check_index_length(used);
  ContainerIndex index = make_container_index(used);
  index.mapping = std::move(mapping);
  const ContainerEnds ends = close_container(header_, index, names);
  file_.write(ends.end, ends.end_offset);
  file_.write(ends.begin, 0);
  return ends.end_offset + ends.end.size();
}

}  // namespace glean::store
