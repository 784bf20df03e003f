// SPDX-License-Identifier: BSD-3-Clause
//
// Where a stager may touch files: below the directories that it was given, wherever symbolic links lead to.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace glean::service {

class AllowedPaths {
 public:
  // Absolute and without symbolic links. `does`: for messages, what is allowed there only.
  explicit AllowedPaths(std::vector<std::string> directories, std::string does = "writes")
      : directories_(std::move(directories)), does_(std::move(does)) {}

  [[nodiscard]] const std::vector<std::string>& directories() const { return directories_; }
  // Of a path without symbolic links. Throws permission when it is not below one of the directories. Local.
  void require(const std::string& final_path) const;
  // Where `path` leads, when all links are followed. Throws permission, and not_found when its directory is not there. Asks the file
  // system.
  [[nodiscard]] std::string resolve(const std::string& path) const;
  // The name itself, which may be one of a link: only its directory is followed. Throws as resolve(), and invalid_argument for what is no
  // name of a file.
  [[nodiscard]] std::string resolve_name(const std::string& path) const;

 private:
  // One that is not there tells nothing of what is elsewhere.
  void require_lexically(const std::string& path) const;

  std::vector<std::string> directories_;
  std::string does_;
};

}  // namespace glean::service
