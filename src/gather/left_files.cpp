// SPDX-License-Identifier: BSD-3-Clause
#include "gather/left_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>

#include "base/units.hpp"
#include "gather/copying.hpp"
#include "gather/directory_names.hpp"
#include "gather/gatherer.hpp"
#include "gather/gathering.hpp"

namespace glean::gather {
namespace {

// As long as it lives the job's directory is this process's.
class Owner {
 public:
  explicit Owner(const std::string& root) : descriptor_(open((root + "/owner").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    is_taken_ = descriptor_ >= 0 && fcntl(descriptor_, F_SETLK, &lock) == 0;
  }
  ~Owner() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  [[nodiscard]] bool is_taken() const { return is_taken_; }

 private:
  int descriptor_;
  bool is_taken_ = false;
};

Bytes bytes_of(const std::string& path) {
  struct stat status {};
  return fstatat(AT_FDCWD, path.c_str(), &status, 0) == 0 ? static_cast<Bytes>(status.st_size) : 0;
}

// Returns an error number, or 0.
int keep_unclosed(const Family& family, const std::string& name, LeftContainer& left) {
  const auto held = family.find(State::open, name);
  if (!held) return 0;
  if (bytes_of(held->data) != 0) {
    const std::filesystem::path path = std::filesystem::path(family.container()).parent_path() / (name + ".unclosed");
    std::error_code ignored;
    std::filesystem::create_directories(path.parent_path(), ignored);
    if (const int error = copy_to(held->data, path.string()); error != 0) return error;
    left.kept_as.push_back(path.string());
  }
  family.remove(*held);
  return 0;
}

// What the thread that gathered had begun to write when it was killed.
void remove_working_files(const std::string& root, const std::string& container) {
  const std::filesystem::path path(container);
  const std::string begin = fmt::format(".{}.glean-{}-", path.filename().string(), NodeFiles::process_of(root));
  for (const std::string& name : entries_of(path.parent_path().string())) {
    if (name.starts_with(begin) && name.ends_with(".part")) unlink((path.parent_path() / name).c_str());
  }
}

LeftContainer look_at(const NodeFiles& files, const Family& family, Ended how) {
  LeftContainer left{.container = family.container(), .files = 0, .bytes = 0, .unclosed = {}, .kept_as = {}, .state = "found",
                     .problem = {}};
  const NodeLock lock(files.root());
  for (const std::string& name : family.names(State::open)) {
    const bool is_closed = how == Ended::normally && family.settle(name, Family::Otherwise::closed);
    if (!is_closed) left.unclosed.push_back(name);
  }
  for (const State state : {State::packing, State::closed}) {
    for (const std::string& name : family.names(state)) {
      if (state == State::packing && (family.is_removed(name) || family.find(State::closed, name))) continue;
      const auto held = family.find(state, name);
      if (held) ++left.files, left.bytes += bytes_of(held->data);
    }
  }
  return left;
}

void gather_left(const NodeFiles& files, const Family& family, LeftContainer& left) {
  try {
    remove_working_files(files.root(), family.container());
    const bool has_removed = !family.removed().empty();
    const Gathered gathered = gather(files, family);   // also without files: it removes the lock that a kill has left
    if (left.files != 0 || has_removed) left.state = gathered.in_container == 0 ? "removed" : "gathered";
    const NodeLock lock(files.root());
    for (const std::string& name : left.unclosed) {
      const int error = keep_unclosed(family, name, left);
      if (error != 0) throw base::system_error(error, fmt::format("cannot keep '{}'", name));
    }
    family.remove_all();   // what was brought out, and what is half so
  } catch (const std::exception& error) {
    left.state = "unfinished";
    left.problem = error.what();
  }
}

}  // namespace

LeftFiles recover_files(const std::string& root, Remaining what, Ended how) {
  LeftFiles left{root, "found", {}};
  if (!NodeFiles::is_begun(root)) {   // killed when the job began or had ended, or just about to begin
    if (is_alive(NodeFiles::process_of(root))) left.state = "in use";
    else if (what != Remaining::look) left.state = NodeFiles::remove_emptied(root) ? "complete" : "unfinished";
    return left;
  }
  try {
    const NodeFiles files(root);
    const Owner owner(root);
    if (!owner.is_taken()) return left.state = "in use", left;
    bool all = true;
    for (const Family& family : files.families()) {
      left.containers.push_back(look_at(files, family, how));
      if (what == Remaining::gather) gather_left(files, family, left.containers.back());
      all &= left.containers.back().state != "unfinished";
    }
    if (what == Remaining::look) return left;
    const NodeLock lock(files.root());
    if (what == Remaining::discard) files.discard();
    const bool is_gone = all && files.remove_if_empty();
    left.state = !is_gone ? "unfinished" : what == Remaining::discard ? "discarded" : "complete";
  } catch (const std::exception& error) {
    left.state = "unfinished";
    left.containers.push_back({.container = root, .files = 0, .bytes = 0, .unclosed = {}, .kept_as = {}, .state = "unfinished",
                               .problem = error.what()});
  }
  return left;
}

std::string describe(const LeftContainer& left) {
  std::string text = fmt::format("{}: {} file{} of ranks, {}", left.container, left.files, left.files == 1 ? "" : "s",
                                 base::readable_bytes(left.bytes));
  if (left.state == "gathered") text += " → gathered";
  if (left.state == "removed") text += " → removed, as the program has removed its files";
  if (left.state == "unfinished") text += " → not gathered: " + left.problem;
  if (!left.unclosed.empty()) text += fmt::format("; not closed: {}", fmt::join(left.unclosed, ", "));
  if (!left.kept_as.empty()) text += fmt::format(", kept as {}", fmt::join(left.kept_as, ", "));
  return text;
}

}  // namespace glean::gather
