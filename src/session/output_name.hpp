// SPDX-License-Identifier: BSD-3-Clause
//
// What an output is called, on any rank.
#pragma once

#include <optional>
#include <string>

#include "base/settings.hpp"
#include "store/posix/file.hpp"

namespace glean::session {

// Rank 0 knows where the name leads. The others look only when they want to read: a file system need not be asked by
// every rank for every output.
class OutputName {
 public:
  OutputName() = default;
  // `unique`: as given to store::choose_names, whose result rank 0 brings along.
  OutputName(std::string path, base::Publish publish, std::string unique, std::optional<store::FileNames> files);

  [[nodiscard]] const std::string& path() const { return path_; }   // as the application calls it
  // Asks the file system the first time. Throws not_found when the directory is gone. Local.
  [[nodiscard]] const store::FileNames& files() const;
  // False also when the directory is gone. Local.
  [[nodiscard]] bool leads_to(const std::string& final_path) const;

 private:
  std::string path_;
  std::string absolute_;   // the program may change its directory
  base::Publish publish_ = base::Publish::rename;
  std::string unique_;
  mutable std::optional<store::FileNames> files_;
};

// By the characters of the path: of an output that stagers write, whose directory need not be here. Local.
[[nodiscard]] store::FileNames names_at_stagers(const std::string& path, base::Publish publish, const std::string& unique);

}  // namespace glean::session
