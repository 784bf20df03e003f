// SPDX-License-Identifier: BSD-3-Clause
//
// What one rank writes of a container, and the containers of a session.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "glean/glean.hpp"
#include "session/container_files.hpp"
#include "session/core.hpp"
#include "store/container/task_layout.hpp"
#include "store/container/task_writer.hpp"

namespace glean {

class TaskFile::Impl {
 public:
  // All of one container.
  struct Layout {
    std::string path;
    std::vector<store::ContainerHeader> headers;   // of the physical files
    store::TaskPlace place;                        // of this rank
    bool closes_durable = false;                   // setting `close`
  };
  Impl(std::shared_ptr<session::Core> core, std::shared_ptr<session::ContainerFiles> files, Layout layout, const std::string& name);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void begin_file(std::string_view name);
  void write(std::span<const std::byte> bytes);
  void fail(const base::Error& error);
  void ensure_free_space(std::uint64_t bytes);
  [[nodiscard]] std::uint64_t free_in_chunk() const { return writer_.free_in_chunk(); }
  [[nodiscard]] std::uint64_t position() const { return writer_.bytes(); }
  void wait(Level level);
  void close();
  [[nodiscard]] session::Core& core() { return *core_; }

 private:
  void require_open(const char* call) const;
  void write_header();
  void end_file();
  void close_together();
  [[nodiscard]] std::vector<std::byte> encode_used() const;
  void write_ends(const std::vector<std::vector<std::byte>>& of_ranks);
  template <class Action> void poisoning(Action action);

  std::shared_ptr<session::Core> core_;
  std::shared_ptr<session::ContainerFiles> files_;
  Layout layout_;                    // its headers on rank 0 only
  std::uint64_t rank_;
  store::TaskWriter writer_;
  store::TaskWriter::Write write_;
  std::vector<store::LogicalFile> names_;
  std::set<std::string, std::less<>> known_names_;
  bool has_file_ = false;            // of a name, which is not ended
  bool closed_ = false;
  std::optional<base::Error> failure_;   // of this rank
};

namespace session {

// The containers of one session that are not known to be published, as one rank has made them.
class Containers {
 public:
  // As Session::create_container. Collective.
  [[nodiscard]] std::unique_ptr<TaskFile::Impl> create(const std::shared_ptr<Core>& core, const std::string& path,
                                                       const ContainerOptions& options);
  // Waits for those that are closed, and returns what has failed, which is told by that. Collective, blocks.
  [[nodiscard]] std::optional<base::Error> wait(Core& core, Level level);
  // Those that are open are given up, with a warning of rank 0. Local.
  void abandon_open(Core& core) noexcept;
  // For a rank that reads: waits until a container of that name is published. Throws why it is not; invalid_state where this rank has not
  // closed it. Local, blocks.
  void wait_to_read(const std::string& final_path, const std::string& path);

 private:
  struct Made {
    std::string path, final_path;
    std::shared_ptr<ContainerFiles> files;
  };
  void forget_published();
  std::vector<Made> made_;
  std::uint64_t unwaited_ = 0;   // 0: all that were made were waited for; the same on all ranks
};

}  // namespace session

}  // namespace glean
