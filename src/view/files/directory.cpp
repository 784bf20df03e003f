// SPDX-License-Identifier: BSD-3-Clause
//
// Directories are looked at again and again, which works on every file system: notices of the kernel tell of this node's changes only.
#include "view/files/directory.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>

#include "base/natural_order.hpp"
#include "view/series_name.hpp"

namespace glean::view {
namespace {

namespace fs = std::filesystem;
constexpr int depth_max = 3;
constexpr std::size_t files_max = 20'000;
constexpr std::array endings = {".nc", ".nc4", ".cdf", ".h5", ".hdf5", ".hdf", ".vtkhdf", ".he5"};

std::optional<FileState> state_of(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  return FileState{found.st_dev, found.st_ino, static_cast<std::uint64_t>(found.st_size),
                   found.st_mtim.tv_sec * 1'000'000'000 + found.st_mtim.tv_nsec};
}

// FLASH's names have no ending: sedov_hdf5_chk_0001.
bool may_be_data(const std::string& name) {
  for (const char* ending : endings) {
    if (name.ends_with(ending)) return true;
  }
  return name.find("_hdf5_") != name.npos || name.find("_ncmpi_") != name.npos;
}

class Search {
 public:
  void add(const std::string& path, const std::string& shown, bool was_named) {
    const std::string name = fs::path(path).filename();
    const bool is_data = may_be_data(name), is_report = name.ends_with(".json"), is_table = name.ends_with(".statistics.csv");
    if (!is_data && !is_report && !is_table && !was_named) return;
    const auto state = state_of(path);
    if (!state) return;
    if (count_++ >= files_max) return;
    if (is_report) found_.reports.push_back({path, *state});
    else if (is_table) found_.statistics.push_back({path, *state});
    else series_[(fs::path(shown).parent_path() / series_name(name)).string()].push_back({path, *state});
  }

  void search(const fs::path& directory, const std::string& shown, int depth) {
    std::error_code error;
    std::vector<fs::directory_entry> entries;
    for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) entries.push_back(*at);
    for (const fs::directory_entry& entry : entries) {
      const std::string name = entry.path().filename();
      if (name.starts_with('.')) continue;
      const std::string below = shown.empty() ? name : shown + "/" + name;
      std::error_code ignored;
      if (entry.is_directory(ignored) && !entry.is_symlink(ignored)) {
        if (depth < depth_max) search(entry.path(), below, depth + 1);
      } else {
        add(entry.path(), below, false);
      }
    }
  }

  Directory finish() {
    for (auto& [name, files] : series_) {
      std::sort(files.begin(), files.end(), [](const SeenFile& a, const SeenFile& b) { return base::natural_compare(a.path, b.path) < 0; });
      files.erase(std::unique(files.begin(), files.end()), files.end());
      const std::string shown = files.size() == 1 ? (fs::path(name).parent_path() / fs::path(files[0].path).filename()).string() : name;
      found_.series.push_back({shown, std::move(files)});
    }
    const auto by_path = [](const SeenFile& a, const SeenFile& b) { return a.path < b.path; };
    std::sort(found_.reports.begin(), found_.reports.end(), by_path);
    std::sort(found_.statistics.begin(), found_.statistics.end(), by_path);
    if (count_ > files_max) found_.left_out.push_back(std::to_string(count_ - files_max) + " files: there are too many");
    return std::move(found_);
  }

 private:
  std::map<std::string, std::vector<SeenFile>> series_;
  std::size_t count_ = 0;
  Directory found_;
};

}  // namespace

Directory look_at(const std::vector<std::string>& places) {
  Search search;
  for (const std::string& place : places) {
    std::error_code ignored;
    if (fs::is_directory(place, ignored)) search.search(place, places.size() == 1 ? "" : fs::path(place).lexically_normal().string(), 1);
    else search.add(place, fs::path(place).filename(), true);
  }
  return search.finish();
}

}  // namespace glean::view
