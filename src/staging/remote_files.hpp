// SPDX-License-Identifier: BSD-3-Clause
//
// Files below the directories of stagers, as a process has them that may not see these directories.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "staging/control_client.hpp"
#include "staging/file_requests.hpp"
#include "wire/key.hpp"

namespace glean::staging {

// Connects when it is first asked for something, and again when a connection is lost. Any thread; blocks; no MPI. After a fork both
// processes may use it. All throw base::Error: permission for paths that do not lead below a directory of the stagers, timeout, io, and
// what the stager says.
class RemoteFiles {
 public:
  struct Directory {
    std::string path;          // as clients may call it
    std::uint64_t inode = 0;   // where one of that inode is the same one, seen from here; 0: no host of the job is known to see it
  };
  using Addresses = std::vector<std::vector<std::string>>;   // of each stager, as in the address file
  struct Options {
    Addresses stagers;
    wire::Key key{};
    double deadline_seconds = 30;   // of an answer
    double restart_seconds = 0;     // for which a stager that was killed is looked for
    std::optional<std::vector<Directory>> directories;   // of the stagers, if they are known
    std::size_t reads_from = 0;     // the stager (modulo their number) that is asked for data; the first is asked for everything else
    // Where the stagers are by now; nothing: that cannot be known.
    std::function<std::optional<Addresses>()> find_again = [] { return std::optional<Addresses>(); };
  };
  explicit RemoteFiles(Options options)
      : options_(std::move(options)), clients_(options_.stagers.size()), directories_(options_.directories) {}
  RemoteFiles(const RemoteFiles&) = delete;
  RemoteFiles& operator=(const RemoteFiles&) = delete;

  // Absolute, without "." and "..", from this process's directory.
  [[nodiscard]] static std::string absolute(const std::string& path);
  // Whether a path lies in a directory of the stagers that this host does not see, or is one, by its characters. Asks for these where they
  // are not known.
  [[nodiscard]] bool may_have(const std::string& path);
  // What is there. An output of this name that a job of the service has closed is waited for, until it is published: at most so long, then
  // it throws timeout.
  [[nodiscard]] FileStatus status(const std::string& path, double seconds);
  // What matches a shell pattern. Of an output that is closed and not published yet `is_draining` is set: status() waits for it.
  [[nodiscard]] std::vector<FileStatus> list(const std::string& pattern);
  // Bytes of the file that a status was of, though its name may be another file's by now. Returns how many there are: fewer than wanted
  // only at the end of the file. Throws not_found when that file is gone and the stager does not have it open any more.
  [[nodiscard]] std::size_t read(const FileStatus& file, std::span<std::byte> into, std::uint64_t offset);
  // As unlink(2) and rename(2), of files, after outputs of the same name that are closed and not published yet.
  void remove(const std::string& path, double seconds);
  void rename(const std::string& from, const std::string& to, double seconds);

 private:
  struct Client {
    std::shared_ptr<ControlClient> connection;
    pid_t process = 0;   // that has made it
  };
  [[nodiscard]] std::shared_ptr<ControlClient> client(std::size_t stager);
  [[nodiscard]] std::shared_ptr<ControlClient> connect(std::size_t stager);
  void forget(std::size_t stager, const std::shared_ptr<ControlClient>& lost);
  // What may be done twice is, when the connection was lost.
  [[nodiscard]] std::vector<Answer> ask(std::size_t stager, const std::vector<nlohmann::json>& requests);
  [[nodiscard]] std::size_t read_from(std::size_t stager, const FileStatus& file, std::span<std::byte> into, std::uint64_t offset);
  void change(const nlohmann::json& request, const std::string& path, double seconds);

  Options options_;
  std::mutex mutex_;   // of what follows, and of where the stagers are
  std::vector<Client> clients_;
  std::optional<std::vector<Directory>> directories_;
};

}  // namespace glean::staging
