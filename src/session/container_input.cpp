// SPDX-License-Identifier: BSD-3-Clause
//
// The public classes of containers that are read.
#include "session/container_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "session/translated.hpp"
#include "store/container/defects.hpp"

namespace glean {

namespace {

template <class Impl, class Call>
auto reading_call(Impl* impl, Call call) {
  if (impl == nullptr) throw Error(Errc::invalid_state, "this container, or task of it, was moved from");
  return session::translated([&] { return call(*impl); });
}

}  // namespace

// --- a task, or a logical file

TaskInput::Impl::Impl(std::shared_ptr<ContainerInput::Impl> container, const store::Container::Task& task, store::Bytes begin,
                      store::Bytes bytes)
    : container_(std::move(container)), reader_(container_->container().reader(task)), begin_(begin), bytes_(bytes) {}

std::size_t TaskInput::Impl::read(std::span<std::byte> into) {
  const auto part = into.first(static_cast<std::size_t>(std::min<store::Bytes>(into.size(), bytes_ - position_)));
  const std::size_t done = reader_.read(part, begin_ + position_);
  position_ += done;
  return done;
}

void TaskInput::Impl::seek(std::uint64_t position) {
  if (position > bytes_) {
    throw base::Error(base::Errc::out_of_range, fmt::format("there is no byte {} of {}: there are {}", position, what(), bytes_));
  }
  position_ = position;
}

// Of a logical file the bytes before it are not there.
void TaskInput::Impl::seek(std::uint64_t chunk, std::uint64_t position) {
  for (const store::ChunkOfTask& each : reader_.chunks()) {
    if (each.chunk != chunk || position >= each.used) continue;
    const store::Bytes at = each.position + position;
    if (at >= begin_ && at - begin_ < bytes_) return seek(at - begin_);
  }
  throw base::Error(base::Errc::out_of_range, fmt::format("there is no byte {} in chunk {} of {}", position, chunk, what()));
}

std::uint64_t TaskInput::Impl::left_in_chunk() const {
  return std::min(reader_.left_in_chunk(begin_ + position_), bytes_ - position_);
}

TaskInput::TaskInput(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TaskInput::TaskInput(TaskInput&&) noexcept = default;
TaskInput& TaskInput::operator=(TaskInput&&) noexcept = default;
TaskInput::~TaskInput() = default;

std::size_t TaskInput::read_bytes(void* into, std::size_t bytes) {
  return reading_call(impl_.get(), [&](Impl& impl) { return impl.read({static_cast<std::byte*>(into), bytes}); });
}

void TaskInput::seek(std::uint64_t position) {
  reading_call(impl_.get(), [&](Impl& impl) { impl.seek(position); });
}

void TaskInput::seek(std::uint64_t chunk, std::uint64_t position) {
  reading_call(impl_.get(), [&](Impl& impl) { impl.seek(chunk, position); });
}

std::uint64_t TaskInput::position() const {
  return reading_call(impl_.get(), [](Impl& impl) { return impl.position(); });
}

std::uint64_t TaskInput::bytes() const {
  return reading_call(impl_.get(), [](Impl& impl) { return impl.bytes(); });
}

bool TaskInput::eof() const {
  return reading_call(impl_.get(), [](Impl& impl) { return impl.position() == impl.bytes(); });
}

std::uint64_t TaskInput::bytes_avail_in_block() const {
  return reading_call(impl_.get(), [](Impl& impl) { return impl.left_in_chunk(); });
}

// --- the container

ContainerInput::ContainerInput(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
ContainerInput::ContainerInput(ContainerInput&&) noexcept = default;
ContainerInput& ContainerInput::operator=(ContainerInput&&) noexcept = default;
ContainerInput::~ContainerInput() = default;

std::string ContainerInput::path() const {
  return reading_call(impl_.get(), [](Impl& impl) { return impl.container().path(); });
}

std::vector<ContainerTask> ContainerInput::tasks() const {
  return reading_call(impl_.get(), [](Impl& impl) {
    std::vector<ContainerTask> all;
    for (const store::Container::Task& task : impl.container().tasks()) all.push_back({task.rank, task.chunks, task.bytes});
    return all;
  });
}

std::vector<ContainerFile> ContainerInput::files() const {
  return reading_call(impl_.get(), [](Impl& impl) {
    std::vector<ContainerFile> all;
    for (const store::LogicalFile& file : impl.container().files()) all.push_back({file.name, file.rank, file.begin, file.bytes});
    return all;
  });
}

bool ContainerInput::is_complete() const {
  return reading_call(impl_.get(), [](Impl& impl) { return impl.container().is_complete(); });
}

TaskInput ContainerInput::open(std::uint64_t task) const {
  return reading_call(impl_.get(), [&](Impl& impl) {
    const store::Container::Task& found = impl.container().task(task);
    return TaskInput(std::make_unique<TaskInput::Impl>(impl_, found, 0, found.bytes));
  });
}

TaskInput ContainerInput::open(std::string_view name) const {
  return reading_call(impl_.get(), [&](Impl& impl) {
    const auto& files = impl.container().files();
    const auto found = std::find_if(files.begin(), files.end(), [&](const store::LogicalFile& file) { return file.name == name; });
    if (found == files.end()) {
      throw base::Error(base::Errc::not_found, fmt::format("'{}' has no file {}", impl.container().path(),
                                                           store::shown_name(std::string(name))),
                        fmt::format("`glean container ls {}` lists all", impl.container().path()));
    }
    return TaskInput(std::make_unique<TaskInput::Impl>(impl_, impl.container().task(found->rank), found->begin, found->bytes));
  });
}

ContainerInput v0::open_container(std::string_view path) {
  return session::translated([&] {
    if (path.find('\0') != path.npos) throw base::Error(base::Errc::invalid_argument, "the path of a container has a zero byte");
    return ContainerInput(std::make_shared<ContainerInput::Impl>(std::string(path)));
  });
}

}  // namespace glean
