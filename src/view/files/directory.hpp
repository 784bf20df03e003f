// SPDX-License-Identifier: BSD-3-Clause
//
// The files to show: those of directories as they come, and those that were named. Files whose names differ in their last number only are
// one series, in the order of the numbers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace glean::view {

// A file as it was when it was looked at: another one of the same name, or more of it, is another state.
struct FileState {
  std::uint64_t device = 0, inode = 0, bytes = 0;
  std::int64_t changed_ns = 0;
  friend bool operator==(const FileState&, const FileState&) = default;
};

struct SeenFile {
  std::string path;
  FileState state;
  friend bool operator==(const SeenFile&, const SeenFile&) = default;
};

struct Series {
  std::string name;              // "run/plt_#.nc", relative to the directory; of a single file its own
  std::vector<SeenFile> files;   // ascending
  friend bool operator==(const Series&, const Series&) = default;
};

struct Directory {
  std::vector<Series> series;           // by name
  std::vector<SeenFile> reports;        // JSON files
  std::vector<SeenFile> statistics;     // FILE.statistics.csv
  std::vector<std::string> left_out;    // sentences: what there is too much of
  friend bool operator==(const Directory&, const Directory&) = default;
};

// `places`: directories and files. Directories are searched three levels deep, without hidden ones and links. What cannot be looked at is
// left out. Blocks.
[[nodiscard]] Directory look_at(const std::vector<std::string>& places);

}  // namespace glean::view
