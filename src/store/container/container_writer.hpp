// SPDX-License-Identifier: BSD-3-Clause
//
// Writes one physical file of a container, in one process.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "store/container/container_index.hpp"
#include "store/container/task_writer.hpp"
#include "store/posix/file.hpp"

namespace glean::store {

class ContainerWriter {
 public:
  // `file` is new and lives longer; `header` has an id. Writes the header as that of a container that is not closed, so that what a kill
  // leaves can be read by its trailers. Throws. Blocks.
  ContainerWriter(File& file, ContainerHeader header);

  // Each task's bytes come in order; tasks come in any.
  void append(std::size_t task, std::span<const std::byte> bytes);
  // `hole` zeros, of which the file gets no storage.
  void append_zeros(std::size_t task, Bytes hole);
  void close_task(std::size_t task);
  // Closes all tasks, and writes index, names and the final header. Returns how long the file is. Not durable yet. Throws. Blocks.
  Bytes finish(const std::vector<LogicalFile>& names, std::vector<TaskPlace> mapping);

 private:
  File& file_;
  ContainerHeader header_;
  std::vector<TaskWriter> tasks_;
  TaskWriter::Write write_;
};

}  // namespace glean::store
