// SPDX-License-Identifier: BSD-3-Clause
#include "gather/known_containers.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "store/container/pack.hpp"

namespace glean::gather {
namespace {

constexpr std::size_t known_most = 4;

}  // namespace

KnownContainer::KnownContainer(const std::string& path, const struct stat& status)
    : status_(status), container_(std::make_unique<store::Container>(calls_, path)) {
  for (const store::LogicalFile& file : container_->files()) {
    const bool is_new = files_.emplace(file.name, &file).second;
    longest_ = std::max(longest_, file.bytes);
    can_be_made_again_ &= is_new && store::is_safe_name(file.name);
  }
}

const store::LogicalFile* KnownContainer::find(const std::string& name) const {
  const auto found = files_.find(name);
  return found == files_.end() ? nullptr : found->second;
}

bool is_same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino && one.st_size == other.st_size &&
         one.st_mtim.tv_sec == other.st_mtim.tv_sec && one.st_mtim.tv_nsec == other.st_mtim.tv_nsec;
}

KnownContainers::Found KnownContainers::find(const std::string& path) {
  struct stat status {};
  // What cannot be looked at is not to be replaced either.
  if (fstatat(AT_FDCWD, path.c_str(), &status, 0) != 0) return {errno == ENOENT ? Is::nothing : Is::something_else, nullptr};
  const std::unique_lock lock(lock_);
  const auto known = std::find_if(known_.begin(), known_.end(), [&](const auto& one) { return one.first == path; });
  if (known != known_.end() && known->second->is(status)) {
    known_.splice(known_.begin(), known_, known);
    return {Is::container, known_.front().second};
  }
  if (known != known_.end()) known_.erase(known);
  if (!S_ISREG(status.st_mode)) return {Is::something_else, nullptr};
  try {
    known_.emplace_front(path, std::make_shared<const KnownContainer>(path, status));
  } catch (const base::Error&) {
    return {Is::something_else, nullptr};
  }
  if (known_.size() > known_most) known_.pop_back();
  return {Is::container, known_.front().second};
}

}  // namespace glean::gather
