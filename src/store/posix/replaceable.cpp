// SPDX-License-Identifier: BSD-3-Clause
#include "store/posix/replaceable.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "store/posix/file.hpp"

namespace glean::store {
namespace {

constexpr std::string_view access_list = "system.posix_acl_access";
constexpr std::string_view access_list_of_nfs = "system.nfs4_acl";
constexpr std::array<std::string_view, 2> layouts = {"lustre.lov", "trusted.lov"};
// Lustre keeps these with every file, and IMA and EVM sums of its content and attributes. They are never the same for two files.
constexpr std::array<std::string_view, 12> of_each_file = {"trusted.lma", "trusted.link", "trusted.fid", "trusted.som", "trusted.version",
                                                           "trusted.dmv", "trusted.lmv", "lustre.lma", "lustre.link", "lustre.lmv",
                                                           "security.ima", "security.evm"};

template <std::size_t n>
bool is_one_of(std::string_view name, const std::array<std::string_view, n>& names) {
  for (const std::string_view each : names) {
    if (each == name) return true;
  }
  return false;
}

// --- Lustre's layouts, as lustre_user.h has them

constexpr std::uint32_t one_layout = 0x0BD10BD0, layout_in_pool = 0x0BD30BD0, listed_objects = 0x0BD50BD0, composite = 0x0BD60BD0;
constexpr std::size_t pool_at = 32, pool_bytes = 16;
constexpr std::size_t entry_count_at = 14, entries_at = 32, entry_bytes = 48;

template <class Number>
Number number_at(std::string_view bytes, std::size_t at) {
  Number number = 0;
  if (at + sizeof number <= bytes.size()) std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

// `with_count`: a component that nothing has been written to yet may have another number than one that has.
std::string one_stripe_layout(std::string_view bytes, bool with_count) {
  const auto magic = number_at<std::uint32_t>(bytes, 0);
  const bool has_pool = magic == layout_in_pool || magic == listed_objects;
  const std::string_view pool = has_pool && bytes.size() >= pool_at + pool_bytes ? bytes.substr(pool_at, pool_bytes) : std::string_view{};
  return fmt::format("pattern {:x}, stripes of {}{}, pool '{}'; ", number_at<std::uint32_t>(bytes, 4), number_at<std::uint32_t>(bytes, 24),
                     with_count ? fmt::format(", {} of them", number_at<std::uint16_t>(bytes, 28)) : "",
                     pool.substr(0, pool.find('\0')));
}

// --- looking

std::string value_of(int descriptor, const std::string& name) {
  const ssize_t size = fgetxattr(descriptor, name.c_str(), nullptr, 0);
  if (size <= 0) return {};
  std::string value(static_cast<std::size_t>(size), '\0');
  const ssize_t read = fgetxattr(descriptor, name.c_str(), value.data(), value.size());
  value.resize(read < 0 ? 0 : static_cast<std::size_t>(read));
  return value;
}

// Where the file system has none, or lets this user not see them, there are none.
Attributes attributes_of(int descriptor) {
  std::string names;
  for (ssize_t size = flistxattr(descriptor, nullptr, 0); size > 0;) {
    names.resize(static_cast<std::size_t>(size));
    const ssize_t listed = flistxattr(descriptor, names.data(), names.size());
    if (listed < 0 && errno == ERANGE) {   // another one has come
      size = flistxattr(descriptor, nullptr, 0);
      continue;
    }
    names.resize(listed < 0 ? 0 : static_cast<std::size_t>(listed));
    break;
  }
  Attributes attributes;
  for (std::size_t at = 0; at < names.size(); at += std::strlen(names.c_str() + at) + 1) {
    const std::string name = names.c_str() + at;
    if (!is_one_of(name, of_each_file)) attributes[name] = value_of(descriptor, name);
  }
  return attributes;
}

struct Descriptor {
  explicit Descriptor(int opened) : number(opened) {}
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number;
};

// The attributes of a new file with these permission bits. Not every file system makes files without a name: there it has one for this
// moment.
Attributes attributes_of_new_file(const std::string& directory, mode_t mode) {
  std::string name;
  Descriptor file(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666));
  if (file.number < 0) {
    name = fmt::format("{}/.glean-{}-{}.part", directory, getpid(), base::now_ns());
    file.number = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.number < 0) return {};
  }
  const bool has_mode = fchmod(file.number, mode) == 0;
  Attributes attributes = has_mode ? attributes_of(file.number) : Attributes{};
  if (!name.empty()) ::unlink(name.c_str());
  return attributes;
}

bool hands_group_on(const struct stat& directory) { return (directory.st_mode & S_ISGID) != 0; }

std::optional<std::string> difference(const Attributes& attributes, const Attributes& of_new_file) {
  for (const auto& [name, value] : attributes) {
    const auto other = of_new_file.find(name);
    const bool is_layout = is_one_of(name, layouts);
    const bool is_same = other != of_new_file.end() &&
                         (is_layout ? stripe_layout(value) == stripe_layout(other->second) : value == other->second);
    if (is_same) continue;
    if (is_layout) return "it is striped otherwise than new files of its directory";
    if (name == access_list || name == access_list_of_nfs) return "it has an access control list of its own";
    return "it has the extended attribute '" + name + "'";
  }
  // That of new files, which its owner has taken away from this one.
  if (of_new_file.contains(std::string(access_list)) && !attributes.contains(std::string(access_list))) {
    return "it does not have the access control list of new files in its directory";
  }
  return std::nullopt;
}

}  // namespace

std::string stripe_layout(const std::string& attribute) {
  const std::string_view bytes = attribute;
  const auto magic = number_at<std::uint32_t>(bytes, 0);
  if (magic == one_layout || magic == layout_in_pool || magic == listed_objects) return one_stripe_layout(bytes, true);
  if (magic != composite) return attribute;
  std::string all;
  for (std::size_t entry = 0; entry < number_at<std::uint16_t>(bytes, entry_count_at); ++entry) {
    const std::size_t at = entries_at + entry * entry_bytes;
    const auto offset = number_at<std::uint32_t>(bytes, at + 24);
    all += fmt::format("from {} to {}: {}", number_at<std::uint64_t>(bytes, at + 8), number_at<std::uint64_t>(bytes, at + 16),
                       one_stripe_layout(offset < bytes.size() ? bytes.substr(offset) : std::string_view{}, false));
  }
  return all;
}

std::optional<std::string> trace_of_replacing(const FileInPlace& place) {
  const struct stat& file = place.file;
  if (file.st_nlink > 1) return "it has other hard links";
  if (file.st_uid != place.user) {
    const bool is_sticky = (place.directory.st_mode & S_ISVTX) != 0;
    return fmt::format("it belongs to user {}{}", file.st_uid, is_sticky ? ", in a directory where only owners may replace files" : "");
  }
  const gid_t group = hands_group_on(place.directory) ? place.directory.st_gid : place.group;
  if (file.st_gid != group) return fmt::format("its group is {}, and that of new files {}", file.st_gid, group);
  if (!place.can_write_directory) return "its directory cannot be written";
  if (file.st_dev != place.directory.st_dev) return "it is mounted in its directory";
  return difference(place.attributes, place.of_new_file);
}

std::optional<std::string> why_written_in_place(const std::string& path) {
  const std::string real = resolved_path(path);
  const std::string directory = real.substr(0, real.rfind('/') + 1);
  FileInPlace place{.user = geteuid(), .group = getegid()};
  if (stat(real.c_str(), &place.file) != 0 || stat(directory.c_str(), &place.directory) != 0) return std::nullopt;
  if (!S_ISREG(place.file.st_mode)) return std::nullopt;   // which the caller refuses
  place.can_write_directory = faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) == 0;
  if (auto trace = trace_of_replacing(place)) return trace;
  // A user that may only write it does not see values, and then they differ.
  Descriptor file(::open(real.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (file.number < 0) file.number = ::open(real.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (file.number < 0) return std::nullopt;   // it cannot be written at all, which the caller finds out
  place.attributes = attributes_of(file.number);
  const bool new_files_inherit = getxattr(directory.c_str(), "system.posix_acl_default", nullptr, 0) >= 0;
  if (place.attributes.empty() && !new_files_inherit) return std::nullopt;
  place.of_new_file = attributes_of_new_file(directory, place.file.st_mode & 07777);
  return trace_of_replacing(place);
}

}  // namespace glean::store
