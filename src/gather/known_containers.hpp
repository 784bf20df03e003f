// SPDX-License-Identifier: BSD-3-Clause
//
// Containers that this process has looked into, as long as they are the same.
#pragma once

#include <sys/stat.h>

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "store/container/container.hpp"

namespace glean::gather {

// A file is the same one, with the same contents, as far as the file system says.
[[nodiscard]] bool is_same_file(const struct stat& one, const struct stat& other);

class KnownContainer {
 public:
  // Throws as store::Container.
  KnownContainer(const std::string& path, const struct stat& status);
  [[nodiscard]] const store::Container& container() const { return *container_; }
  [[nodiscard]] const store::LogicalFile* find(const std::string& name) const;
  // Its files have names that a container of GLEAN may have, each once.
  [[nodiscard]] bool can_be_made_again() const { return can_be_made_again_; }
  [[nodiscard]] base::Bytes longest() const { return longest_; }   // of its files
  [[nodiscard]] bool is(const struct stat& status) const { return is_same_file(status, status_); }
  [[nodiscard]] const struct stat& status() const { return status_; }

 private:
  store::SystemCalls calls_;   // lives as long as what it has opened
  struct stat status_;
  std::unique_ptr<store::Container> container_;
  std::unordered_map<std::string, const store::LogicalFile*> files_;
  base::Bytes longest_ = 0;
  bool can_be_made_again_ = true;
};

class KnownContainers {
 public:
  enum class Is { nothing, container, something_else };
  struct Found {
    Is is = Is::nothing;
    std::shared_ptr<const KnownContainer> container;
  };
  // What is at the path now. Any thread; blocks.
  [[nodiscard]] Found find(const std::string& path);

 private:
  std::mutex lock_;
  std::list<std::pair<std::string, std::shared_ptr<const KnownContainer>>> known_;   // the last one that was used first
};

}  // namespace glean::gather
