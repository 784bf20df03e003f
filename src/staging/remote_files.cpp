// SPDX-License-Identifier: BSD-3-Clause
#include "staging/remote_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/clock.hpp"

namespace glean::staging {
namespace {

constexpr std::size_t reads_at_once = 10;   // of one call: the next ones are on their way while one is taken; a service has 16
constexpr std::chrono::milliseconds before_asking_again{50}, before_connecting_again{200};

double seconds_since(std::uint64_t begin_ns) { return base::seconds(base::now_ns() - begin_ns); }

bool says(const nlohmann::json& answer, const char* what) {
  return answer.is_object() && answer.contains(what) && answer[what].is_boolean() && answer[what].get<bool>();
}

base::Error still_draining(const std::string& path, double seconds) {
  return {base::Errc::timeout, fmt::format("'{}' is closed, and the stagers have not published it in {:.3g} s", path, seconds),
          "`glean stage status` shows what they do"};
}

bool is_here(const RemoteFiles::Directory& directory) {
  struct stat status {};
  return directory.inode != 0 && ::stat(directory.path.c_str(), &status) == 0 && status.st_ino == directory.inode;
}

bool is_below(const std::string& path, const std::string& directory) {
  return directory == "/" || path == directory || (path.starts_with(directory) && path[directory.size()] == '/');
}

}  // namespace

std::string RemoteFiles::absolute(const std::string& path) {
  std::string made = std::filesystem::absolute(path).lexically_normal().string();
  if (made.size() > 1 && made.ends_with('/')) made.pop_back();
  return made;
}

std::shared_ptr<ControlClient> RemoteFiles::connect(std::size_t stager) {
  for (const std::uint64_t begin_ns = base::now_ns();;) {
    try {
      return std::make_shared<ControlClient>(options_.stagers[stager], options_.key, options_.deadline_seconds);
    } catch (const base::Error& error) {
      const bool may_come = error.code() == base::Errc::io || error.code() == base::Errc::not_found;
      if (!may_come || seconds_since(begin_ns) >= options_.restart_seconds) throw;
    }
    std::this_thread::sleep_for(before_connecting_again);
    const auto found = options_.find_again();
    if (found && found->size() == options_.stagers.size()) options_.stagers = *found;
  }
}

std::shared_ptr<ControlClient> RemoteFiles::client(std::size_t stager) {
  const std::scoped_lock lock(mutex_);
  Client& known = clients_.at(stager);
  if (known.process != getpid()) known.connection.reset();   // after a fork: the other process goes on with it
  if (!known.connection) known = {connect(stager), getpid()};
  return known.connection;
}

void RemoteFiles::forget(std::size_t stager, const std::shared_ptr<ControlClient>& lost) {
  const std::scoped_lock lock(mutex_);
  if (clients_[stager].connection == lost) clients_[stager].connection.reset();
}

std::vector<Answer> RemoteFiles::ask(std::size_t stager, const std::vector<nlohmann::json>& requests) {
  for (bool is_first = true;; is_first = false) {
    const auto asked = client(stager);
    try {
      return asked->ask_all(requests, options_.deadline_seconds);
    } catch (const base::Error& error) {
      if (error.code() != base::Errc::io || asked->is_connected()) throw;
      forget(stager, asked);
      if (!is_first) throw;
    }
  }
}

bool RemoteFiles::may_have(const std::string& path) {
  const auto known = [&] {
    const std::scoped_lock lock(mutex_);
    return directories_;
  };
  auto directories = known();
  if (!directories) {
    directories.emplace();
    for (std::string& each : directories_from(ask(0, {directories_request()}).front().text)) directories->push_back({std::move(each), 0});
    const std::scoped_lock lock(mutex_);
    directories_ = directories;
  }
  const std::string name = absolute(path);
  return std::any_of(directories->begin(), directories->end(), [&](const Directory& each) {
    return is_below(name, each.path) && !is_here(each);
  });
}

FileStatus RemoteFiles::status(const std::string& path, double seconds) {
  const std::string name = absolute(path);
  for (const std::uint64_t begin_ns = base::now_ns();;) {
    FileStatus found = file_status_from(ask(0, {to_json(StatusRequest{name})}).front().text);
    if (!found.is_draining) return found;
    if (seconds_since(begin_ns) >= seconds) throw still_draining(path, seconds);
    std::this_thread::sleep_for(before_asking_again);
  }
}

std::vector<FileStatus> RemoteFiles::list(const std::string& pattern) {
  std::vector<FileStatus> all;
  for (bool has_more = true; has_more;) {
    const ListRequest request{pattern, all.empty() ? "" : all.back().path};
    ListAnswer some = list_answer_from(ask(0, {to_json(request)}).front().text);
    has_more = some.has_more && !some.files.empty();
    std::move(some.files.begin(), some.files.end(), std::back_inserter(all));
  }
  return all;
}

std::size_t RemoteFiles::read_from(std::size_t stager, const FileStatus& file, std::span<std::byte> into, std::uint64_t offset) {
  std::size_t done = 0;
  for (const std::uint64_t begin_ns = base::now_ns(); done < into.size();) {
    std::vector<nlohmann::json> requests;
    std::vector<std::size_t> wanted;
    std::size_t asked = done;
    while (asked < into.size() && requests.size() < reads_at_once) {
      wanted.push_back(std::min(read_bytes_max, into.size() - asked));
      requests.push_back(to_json(ReadRequest{file.path, file.inode, offset + asked, wanted.back()}));
      asked += wanted.back();
    }
    const auto answers = ask(stager, requests);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const auto& bytes = answers[i].bytes;
      if (says(answers[i].text, "busy")) {
        if (seconds_since(begin_ns) >= options_.deadline_seconds) {
          throw base::Error(base::Errc::timeout, fmt::format("cannot read '{}': too many read from the stager", file.path));
        }
        std::this_thread::sleep_for(before_asking_again);
        break;
      }
      if (bytes.size() > wanted[i]) throw base::Error(base::Errc::io, "a stager answers with more than it was asked for");
      std::memcpy(into.data() + done, bytes.data(), bytes.size());
      done += bytes.size();
      if (bytes.size() < wanted[i]) return done;
    }
  }
  return done;
}

std::size_t RemoteFiles::read(const FileStatus& file, std::span<std::byte> into, std::uint64_t offset) {
  const std::size_t stager = options_.reads_from % clients_.size();
  if (stager == 0) return read_from(0, file, into, offset);
  try {
    return read_from(stager, file, into, offset);
  } catch (const base::Error& error) {   // its host may not see the file yet, or have other directories
    if (error.code() == base::Errc::timeout) throw;
  }
  return read_from(0, file, into, offset);
}

void RemoteFiles::change(const nlohmann::json& request, const std::string& path, double seconds) {
  for (const std::uint64_t begin_ns = base::now_ns();;) {
    // A connection that was lost meanwhile shows here, where nothing is done twice.
    static_cast<void>(ask(0, {directories_request()}));
    const auto answer = client(0)->ask(request, options_.deadline_seconds);
    if (!says(answer, "draining")) return;
    if (seconds_since(begin_ns) >= seconds) throw still_draining(path, seconds);
    std::this_thread::sleep_for(before_asking_again);
  }
}

void RemoteFiles::remove(const std::string& path, double seconds) {
  change(to_json(RemoveRequest{absolute(path)}), path, seconds);
}

void RemoteFiles::rename(const std::string& from, const std::string& to, double seconds) {
  change(to_json(RenameRequest{absolute(from), absolute(to)}), from, seconds);
}

}  // namespace glean::staging
