// SPDX-License-Identifier: BSD-3-Clause
//
// The physical files of a container that ranks write: raw outputs, or, where nothing is captured, files that each rank writes itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/settings.hpp"
#include "glean/glean.hpp"

namespace glean::session {

class Core;

// Without close() they are abandoned: nothing is published.
class ContainerFiles {
 public:
  explicit ContainerFiles(std::uint32_t file) : file_(file) {}
  virtual ~ContainerFiles() = default;
  ContainerFiles(const ContainerFiles&) = delete;
  ContainerFiles& operator=(const ContainerFiles&) = delete;

  // Bytes of this rank for its own file: short ones that follow each other are collected. Local.
  void append(std::span<const std::byte> bytes, base::Bytes offset);
  void write_collected();
  // Bytes for any of the files, on rank 0 for the others' too: what it writes last to a place is there in the end. Local.
  virtual void write(std::uint32_t file, std::span<const std::byte> bytes, base::Bytes offset) = 0;
  // What this rank has written and appended is at that level. Throws what has failed. Local, blocks.
  virtual void wait(Level level) = 0;
  // Throws what has failed in the background so far. Local.
  virtual void check() = 0;
  // All ranks have written all. Those that are captured are published in the background. Collective, throws on all ranks or none.
  virtual void close() = 0;
  // Until they are published. Throws why they are not. Local, blocks.
  virtual void wait_until_published() = 0;
  // They are published, and nothing is to be told any more; false where they have failed. Local.
  [[nodiscard]] virtual bool are_published() = 0;
  virtual void abandon() noexcept = 0;

  enum class State { open, closed, given_up };
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool are_open() const { return state_ == State::open; }

 protected:
  State state_ = State::open;

 private:
  std::uint32_t file_;                   // of this rank
  std::vector<std::byte> collected_;
  base::Bytes collected_offset_ = 0;
};

struct NewContainer {
  std::string path;
  std::uint32_t files = 1;
  std::uint32_t file = 0;          // of this rank
  base::OutputSettings settings;   // rank 0's
};

// Collective, throws on all ranks or none. capture: `core` has a pool.
[[nodiscard]] std::shared_ptr<ContainerFiles> capture_container_files(const std::shared_ptr<Core>& core, const NewContainer& container);
[[nodiscard]] std::shared_ptr<ContainerFiles> make_container_files(const std::shared_ptr<Core>& core, const NewContainer& container);

}  // namespace glean::session
