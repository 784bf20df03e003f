// SPDX-License-Identifier: BSD-3-Clause
//
// A container that one rank, or a serial program, reads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "glean/glean.hpp"
#include "store/container/container.hpp"
#include "store/posix/system_calls.hpp"

namespace glean {

class ContainerInput::Impl {
 public:
  // Throws as glean::open_container().
  explicit Impl(const std::string& path) : container_(calls_, path) {}
  [[nodiscard]] const store::Container& container() const { return container_; }

 private:
  store::SystemCalls calls_;
  store::Container container_;
};

class TaskInput::Impl {
 public:
  // `bytes` bytes of the task from `begin` on.
  Impl(std::shared_ptr<ContainerInput::Impl> container, const store::Container::Task& task, store::Bytes begin, store::Bytes bytes);

  [[nodiscard]] std::size_t read(std::span<std::byte> into);
  void seek(std::uint64_t position);
  void seek(std::uint64_t chunk, std::uint64_t position);
  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t left_in_chunk() const;

 private:
  [[nodiscard]] std::string what() const { return "a task of '" + container_->container().path() + "'"; }

  std::shared_ptr<ContainerInput::Impl> container_;
  store::TaskReader reader_;
  store::Bytes begin_ = 0, bytes_ = 0, position_ = 0;
};

}  // namespace glean
