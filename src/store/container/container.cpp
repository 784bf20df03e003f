// SPDX-License-Identifier: BSD-3-Clause
#include "store/container/container.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/units.hpp"
#include "store/container/defects.hpp"

namespace glean::store {
namespace {

PhysicalFile open_named(SystemCalls& calls, const std::string& path) {
  // What the system says has the name already. Its hint for a file that is missing is one for those who write it.
  try {
    return open_physical_file(calls, path);
  } catch (const base::Error& error) {
    const std::string what = error.what();
    if (error.code() == base::Errc::not_found) throw base::Error(error.code(), what, {});
    if (what.find('\'' + path + '\'') != std::string::npos) throw;
    throw base::Error(error.code(), fmt::format("cannot read '{}': {}", path, what), error.hint());
  }
}

std::string other_container(const PhysicalFile& first, const PhysicalFile& other, std::uint32_t number) {
  const ContainerHeader &a = first.header, &b = other.header;
  if (b.file != number) return fmt::format("'{}' says that it is file {}", other.path, b.file);
  if (b.files != a.files) return fmt::format("'{}' is one of {} files, '{}' one of {}", other.path, b.files, first.path, a.files);
  if (b.id != a.id) return fmt::format("'{}' is of another container than '{}'", other.path, first.path);
  return {};
}

}  // namespace

TaskReader::TaskReader(const PhysicalFile& file, std::size_t local) : file_(file) {
  const std::vector<Bytes> used = file.index.used_by(local);
  for (std::uint64_t chunk = 0; chunk < used.size(); ++chunk) {
    if (used[chunk] == 0) continue;
    chunks_.push_back({chunk, file.chunks[local].begin_of(chunk), bytes_, used[chunk]});
    bytes_ += used[chunk];
  }
}

std::vector<ChunkOfTask>::const_iterator TaskReader::find(Bytes position) const {
  return std::partition_point(chunks_.begin(), chunks_.end(),
                              [&](const ChunkOfTask& chunk) { return chunk.position + chunk.used <= position; });
}

std::size_t TaskReader::read(std::span<std::byte> into, Bytes position) const {
  std::size_t done = 0;
  for (auto chunk = find(position); chunk != chunks_.end() && done < into.size(); ++chunk) {
    const Bytes within = position + done - chunk->position;
    const auto part = into.subspan(done, static_cast<std::size_t>(std::min<Bytes>(into.size() - done, chunk->used - within)));
    if (file_.input->read(part, chunk->offset + within) < part.size()) {
      throw base::Error(base::Errc::io, fmt::format("cannot read '{}': it ends inside of a chunk", file_.path));
    }
    done += part.size();
  }
  return done;
}

bool TaskReader::is_hole(Bytes position, Bytes bytes) const {
  for (auto chunk = find(position); chunk != chunks_.end() && chunk->position < position + bytes; ++chunk) {
    const Bytes from = std::max(position, chunk->position) - chunk->position;
    const Bytes to = std::min(position + bytes, chunk->position + chunk->used) - chunk->position;
    if (chunk->offset + to > file_.bytes || !file_.input->is_hole({chunk->offset + from, chunk->offset + to})) return false;
  }
  return true;
}

Bytes TaskReader::left_in_chunk(Bytes position) const {
  const auto chunk = find(position);
  return chunk == chunks_.end() ? 0 : chunk->position + chunk->used - position;
}

Container::Container(SystemCalls& calls, std::string path) : path_(std::move(path)) {
  physical_.push_back(open_named(calls, path_));
  const ContainerHeader& first = physical_.front().header;
  if (first.file != 0) {
    throw base::Error(base::Errc::invalid_argument,
                      fmt::format("'{}' is file {} of {} of a container", path_, first.file, first.files),
                      "name the first one: without the number at its end");
  }
  open_others(calls);
  list_tasks();
  list_files();
}

void Container::open_others(SystemCalls& calls) {
  const std::uint32_t files = physical_.front().header.files;
  std::string wrong, hint;
  for (std::uint32_t number = 1; number < files; ++number) {
    std::string problem;
    try {
      physical_.push_back(open_named(calls, physical_path(path_, number)));
      problem = other_container(physical_.front(), physical_.back(), number);
    } catch (const base::Error& error) {
      problem = error.what();
      hint = error.hint();
    }
    if (problem.empty()) continue;
    wrong += (wrong.empty() ? "" : "; ") + problem;
    // A count that cannot be would be looked for without end.
    if (wrong.size() > 2000) break;
  }
  if (!wrong.empty()) throw base::Error(base::Errc::io, wrong, hint);
}

void Container::list_tasks() {
  for (const PhysicalFile& file : physical_) {
    for (std::size_t local = 0; local < file.header.tasks(); ++local) {
      Bytes bytes = 0;
      std::uint64_t chunks = file.index.chunks[local];
      for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) bytes += file.index.used[chunk * file.header.tasks() + local];
      tasks_.push_back({file.header.global_ranks[local], file.header.file, static_cast<std::uint32_t>(local), chunks, bytes});
    }
  }
  std::stable_sort(tasks_.begin(), tasks_.end(), [](const Task& a, const Task& b) { return a.rank < b.rank; });
  Defects defects(fmt::format("the container '{}'", path_));
  for (std::size_t i = 1; i < tasks_.size(); ++i) {
    if (tasks_[i].rank == tasks_[i - 1].rank) {
      defects.add(fmt::format("rank {} is in files {} and {}", tasks_[i].rank, tasks_[i - 1].file, tasks_[i].file));
    }
  }
  const std::vector<TaskPlace>& mapping = physical_.front().index.mapping;
  for (const Task& task : tasks_) {
    if (mapping.empty()) break;
    if (task.rank < mapping.size() && mapping[task.rank] == TaskPlace{task.file, task.local}) continue;
    defects.add(fmt::format("its mapping does not lead to rank {}, which is task {} of file {}", task.rank, task.local, task.file));
  }
  defects.raise();
}

void Container::list_files() {
  Defects defects(fmt::format("the container '{}'", path_));
  std::set<std::uint64_t> named;
  for (const PhysicalFile& physical : physical_) {
    const std::set<std::uint64_t> here(physical.header.global_ranks.begin(), physical.header.global_ranks.end());
    for (const LogicalFile& file : physical.files) {
      if (!here.contains(file.rank)) {
        defects.add(fmt::format("'{}' has a name for rank {}, which is not in it", physical.path, file.rank));
      } else if (file.begin + file.bytes > task(file.rank).bytes) {
        defects.add(fmt::format("task {} is shorter than its file {}", file.rank, shown_name(file.name)));
      }
      named.insert(file.rank);
      files_.push_back(file);
    }
  }
  defects.raise();
  for (const Task& each : tasks_) {
    if (!named.contains(each.rank)) files_.push_back({fmt::format("task.{:05}", each.rank), each.rank, 0, each.bytes});
  }
  std::stable_sort(files_.begin(), files_.end(), [](const LogicalFile& a, const LogicalFile& b) {
    return std::pair(a.rank, a.begin) < std::pair(b.rank, b.begin);
  });
}

const Container::Task& Container::task(std::uint64_t rank) const {
  const auto found = std::partition_point(tasks_.begin(), tasks_.end(), [&](const Task& task) { return task.rank < rank; });
  if (found != tasks_.end() && found->rank == rank) return *found;
  throw base::Error(base::Errc::not_found, fmt::format("'{}' has no task {}", path_, rank),
                    fmt::format("`glean container ls {}` lists all", path_));
}

bool Container::has_checksums() const {
  return std::all_of(physical_.begin(), physical_.end(), [](const PhysicalFile& file) { return file.header.id.has_value(); });
}

bool Container::is_complete() const {
  return std::all_of(physical_.begin(), physical_.end(), [](const PhysicalFile& file) { return file.why_by_trailers.empty(); });
}

}  // namespace glean::store
