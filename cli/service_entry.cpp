// SPDX-License-Identifier: BSD-3-Clause
#include "cli/service_entry.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "service/process_life.hpp"
#include "staging/control_client.hpp"
#include "staging/endpoint.hpp"

namespace glean::cli {
namespace {

using staging::Stager;

constexpr double probe_seconds = 3;    // within which a service that lives lets a client in
constexpr std::int64_t start_seconds = 60;   // processes of one service start within

// Other processes wait meanwhile, on all nodes that share the file system. The file goes with the last entry.
class LockFile {
 public:
  explicit LockFile(std::string path) : path_(std::move(path)) {
    for (;;) {
      file_ = staging::OwnedSocket(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
      if (file_.descriptor() < 0) throw base::system_error(errno, fmt::format("cannot make the lock '{}'", path_));
      struct flock whole{};
      whole.l_type = F_WRLCK;
      int result = 0;
      while ((result = ::fcntl(file_.descriptor(), F_SETLKW, &whole)) != 0 && errno == EINTR) continue;
      if (result != 0) throw base::system_error(errno, fmt::format("cannot lock '{}'", path_));
      struct stat opened{}, there{};
      if (::fstat(file_.descriptor(), &opened) == 0 && ::stat(path_.c_str(), &there) == 0 && opened.st_ino == there.st_ino) return;
    }
  }
  void remove() const { ::unlink(path_.c_str()); }

 private:
  std::string path_;
  staging::OwnedSocket file_;
};

std::vector<Stager> stagers_in(const std::string& path) {
  try {
    return staging::read_address_file(path);
  } catch (const base::Error& error) {
    if (error.code() == base::Errc::not_found) return {};
    throw;
  }
}

// One that was killed may need a while, in which the kernel still takes connections for it. One that does not answer in time for another
// reason may be too busy, or on a node that is gone: it counts as there.
bool is_there(const Stager& stager, const std::string& own_host, const wire::Key& key) {
  const bool is_of_this_host = stager.host == own_host;
  if (is_of_this_host && service::life_of(static_cast<int>(stager.pid)) == service::ProcessLife::ending) return false;
  try {
    const staging::ControlClient client(stager.addresses, key, probe_seconds);
    return true;
  } catch (const base::Error& error) {
    return error.code() == base::Errc::timeout || error.code() == base::Errc::permission;
  }
}

}  // namespace

ServiceEntry::ServiceEntry(std::string path, Stager stager, const wire::Key& key, Others others)
    : path_(std::move(path)), identity_(stager.identity) {
  const LockFile lock(path_ + ".lock");
  std::vector<Stager> stagers = stagers_in(path_);
  const auto is_gone = [&](const Stager& each) {
    const bool just_started = others == Others::of_this_service && stager.started - each.started < start_seconds;
    return !just_started && !is_there(each, stager.host, key);
  };
  stagers.erase(std::remove_if(stagers.begin(), stagers.end(), is_gone), stagers.end());
  if (others == Others::of_another && !stagers.empty()) {
    const Stager& other = stagers.front();
    throw base::Error(base::Errc::exists,
                      fmt::format("'{}' is the address file of a staging service that is there: process {} on {}", path_, other.pid,
                                  other.host),
                      "end that service, or name another file with --address-file; remove the file if that host is gone");
  }
  stagers.push_back(std::move(stager));
  staging::write_address_file(path_, stagers);
  is_there_ = true;
}

ServiceEntry::~ServiceEntry() { remove(); }

void ServiceEntry::remove() noexcept {
  if (!std::exchange(is_there_, false)) return;
  try {
    const LockFile lock(path_ + ".lock");
    std::vector<Stager> stagers = stagers_in(path_);
    const auto mine = std::remove_if(stagers.begin(), stagers.end(), [&](const Stager& each) { return each.identity == identity_; });
    if (mine == stagers.end()) return;   // another service has replaced it
    stagers.erase(mine, stagers.end());
    if (!stagers.empty()) return staging::write_address_file(path_, stagers);
    staging::remove_address_file(path_, identity_);
    lock.remove();
  } catch (const std::exception& error) {
    base::log(base::LogLevel::warning, "the address file '{}' still names this process, which ends: {}", path_, error.what());
  }
}

}  // namespace glean::cli
