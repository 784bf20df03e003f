// SPDX-License-Identifier: BSD-3-Clause
//
// What a stager says and does about files below its directories, for clients that have proved its key and may not see these themselves.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "service/allowed_paths.hpp"
#include "staging/control_messages.hpp"
#include "staging/file_requests.hpp"

namespace glean::cli {

// Any thread. Handlers block for the file system.
class StagerFiles {
 public:
  struct Options {
    std::vector<std::string> directories;         // absolute, without symbolic links
    std::vector<std::string> also_called;         // what clients may call them: absolute, as the user has given them
    std::size_t open_files_of_client = 16;        // that a client reads; the one that was read longest ago is closed for another
    std::size_t open_files = 512;                 // of all clients
    std::size_t answers_bytes_max = 256u << 20;   // while clients have not taken so much, they are asked to come again
    std::size_t listed_max = 1000;                // of one answer
    std::size_t searched_max = 1'000'000;         // names that are looked through for one answer
    // Of a path without symbolic links: an output of some job that is closed and not published yet.
    std::function<bool(const std::string& final_path)> is_draining = [](const std::string&) { return false; };
    std::function<std::vector<std::string>()> draining_paths = [] { return std::vector<std::string>(); };   // all of these
    std::function<std::size_t()> answers_bytes = [] { return std::size_t{0}; };   // that clients have not taken
  };
  explicit StagerFiles(Options options);

  // Whether that is a request about files.
  [[nodiscard]] static bool knows(const std::string& ask);
  // Throws base::Error: permission when a path does not lead below the directories, invalid_argument, not_found, out_of_range for a
  // pattern that takes too long, what the system says.
  // A request that has to wait is answered at once: {"busy": true}, or {"draining": true} where a file is not published yet.
  [[nodiscard]] staging::Answer answer(const std::string& ask, const nlohmann::json& request, std::uint64_t client);
  // That one will not read any more.
  void forget(std::uint64_t client);
  struct Counts {
    std::size_t open = 0;           // files, now
    std::uint64_t read_bytes = 0;   // so far
  };
  [[nodiscard]] Counts counts();

 private:
  class OpenFile;
  [[nodiscard]] staging::FileStatus status_of(const staging::StatusRequest& request) const;
  [[nodiscard]] staging::ListAnswer list(const staging::ListRequest& request) const;
  [[nodiscard]] staging::Answer read(const staging::ReadRequest& request, std::uint64_t client);
  [[nodiscard]] nlohmann::json remove(const staging::RemoveRequest& request) const;
  [[nodiscard]] nlohmann::json rename(const staging::RenameRequest& request) const;
  [[nodiscard]] bool is_draining(const std::string& path) const;
  void add_draining(const std::string& pattern, const std::string& directory, const std::string& final_directory,
                    std::vector<std::string>& paths) const;
  [[nodiscard]] std::shared_ptr<const OpenFile> file_of(const staging::ReadRequest& request, std::uint64_t client);

  const Options options_;
  const service::AllowedPaths allowed_;
  std::atomic<std::uint64_t> read_bytes_{0};
  std::mutex mutex_;   // of what follows
  std::list<std::shared_ptr<const OpenFile>> open_;   // the one that was read last comes first
};

}  // namespace glean::cli
