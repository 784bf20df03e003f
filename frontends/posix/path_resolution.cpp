// SPDX-License-Identifier: BSD-3-Clause
#include "path_resolution.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

namespace glean::posix {
namespace {

constexpr int links_followed = 40;     // as many as the kernel does

// The system calls themselves: what the names in the C library lead to may be this library's.
int open_directory(int directory, const char* path) {
  return static_cast<int>(syscall(SYS_openat, directory, path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0));
}
long read_link(int directory, const char* path, char* target) { return syscall(SYS_readlinkat, directory, path, target, PATH_MAX - 1); }

// Where an open directory is. Its length; 0: nowhere.
std::size_t path_of(int descriptor, Path& path) {
  std::array<char, 32> link{"/proc/self/fd/"};
  std::size_t end = std::strlen(link.data()), digits = 1;
  for (int rest = descriptor / 10; rest > 0; rest /= 10) ++digits;
  for (std::size_t i = digits; i-- > 0; descriptor /= 10) link[end + i] = static_cast<char>('0' + descriptor % 10);
  const long length = read_link(AT_FDCWD, link.data(), path.data());
  return length > 0 && path[0] == '/' ? static_cast<std::size_t>(length) : 0;
}

}  // namespace

std::size_t resolve_directory(int directory, const char* path, Path& resolved) {
  const int descriptor = open_directory(directory, path);
  if (descriptor < 0) return 0;
  const std::size_t length = path_of(descriptor, resolved);
  syscall(SYS_close, descriptor);
  return length;
}

std::size_t resolve(int directory, const char* path, LastLink last_link, Path& resolved) {
  const bool follows_last = last_link == LastLink::followed;
  Path name;
  const std::size_t given = strnlen(path, name.size());
  if (given == 0 || given == name.size()) return 0;
  std::memcpy(name.data(), path, given + 1);
  int here = directory, opened = -1;
  std::size_t length = 0;
  for (int links = 0; links < links_followed; ++links) {
    char* const slash = std::strrchr(name.data(), '/');
    const std::string_view last = slash == nullptr ? name.data() : slash + 1;
    if (last.empty() || last == "." || last == "..") {
      length = resolve_directory(here, name.data(), resolved);
      break;
    }
    const char* parent = slash == nullptr ? "." : slash == name.data() ? "/" : name.data();
    if (slash != nullptr && slash != name.data()) *slash = '\0';
    const int found = open_directory(here, parent);
    if (opened >= 0) syscall(SYS_close, opened);
    here = opened = found;
    if (found < 0) break;
    Path target;
    if (const long linked = follows_last ? read_link(found, last.data(), target.data()) : 0; linked > 0) {
      std::memcpy(name.data(), target.data(), static_cast<std::size_t>(linked));
      name[static_cast<std::size_t>(linked)] = '\0';
      continue;
    }
    length = path_of(found, resolved);
    if (length == 0 || length + last.size() + 1 > resolved.size()) {
      length = 0;
      break;
    }
    if (length > 1) resolved[length++] = '/';
    std::memcpy(resolved.data() + length, last.data(), last.size());
    length += last.size();
    break;
  }
  if (opened >= 0) syscall(SYS_close, opened);
  return length;
}

}  // namespace glean::posix
