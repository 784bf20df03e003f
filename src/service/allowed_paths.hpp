// SPDX-License-Identifier: BSD-3-Clause
//
// Where a stager may touch files: below the directories that it was given, wherever symbolic links lead to.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace glean::service {

// A name in a directory that is held open: it stays in that one, whatever becomes of the way that led there.
class AllowedName {
 public:
  AllowedName(int directory, std::string last) : directory_(directory), last_(std::move(last)) {}
  ~AllowedName();
  AllowedName(AllowedName&& other) noexcept : directory_(std::exchange(other.directory_, -1)), last_(std::move(other.last_)) {}
  AllowedName& operator=(AllowedName&&) = delete;

  [[nodiscard]] int directory() const { return directory_; }            // a descriptor, for unlinkat(2) and the like
  [[nodiscard]] const char* last() const { return last_.c_str(); }      // the name in it
  // Without symbolic links in front of the name. Throws io.
  [[nodiscard]] std::string path() const;

 private:
  int directory_;
  std::string last_;
};

class AllowedPaths {
 public:
  // Absolute and without symbolic links. `does`: for messages, what is allowed there only.
  explicit AllowedPaths(std::vector<std::string> directories, std::string does = "writes")
      : directories_(std::move(directories)), does_(std::move(does)) {}

  [[nodiscard]] const std::vector<std::string>& directories() const { return directories_; }
  // Of a path without symbolic links. Throws permission when it is not below one of the directories. Local.
  void require(const std::string& final_path) const;
  // Of what is open, wherever its name has led meanwhile. Throws as require(), and io where the system does not say where that is.
  void require_open(int descriptor) const;
  // Of an open directory: what is in it. One of the list itself is allowed, too.
  void require_names_in(int directory) const;
  // Where `path` leads, when all links are followed. Throws permission, and not_found when its directory is not there. Asks the file
  // system.
  [[nodiscard]] std::string resolve(const std::string& path) const;
  // The name itself, which may be one of a link: only its directory is followed. Throws as resolve(), and invalid_argument for what is no
  // name of a file.
  [[nodiscard]] AllowedName resolve_name(const std::string& path) const;

 private:
  // One that is not there tells nothing of what is elsewhere.
  void require_lexically(const std::string& path) const;

  std::vector<std::string> directories_;
  std::string does_;
};

}  // namespace glean::service
