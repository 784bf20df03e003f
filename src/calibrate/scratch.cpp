// SPDX-License-Identifier: BSD-3-Clause
#include "calibrate/scratch.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/error.hpp"

namespace glean::calibrate {
namespace {

constexpr std::size_t names_bytes_max = 1 << 16;

// Reads names until the other end is closed, by whatever way the process ends. It allocates nothing: it was forked from a process that has
// threads. A launcher kills the group of its process, in which this is not, and waits for its output, which this does not hold.
[[noreturn]] void remove_when_closed(int names, const char* directory) {
  static std::array<char, names_bytes_max> text;
  setsid();
  const int in = open(directory, O_RDONLY | O_DIRECTORY);
  for (int descriptor = 0; descriptor < 1024; ++descriptor) {
    if (descriptor != names && descriptor != in) close(descriptor);
  }
  std::size_t length = 0;
  for (;;) {
    const ssize_t came = read(names, text.data() + length, text.size() - length);
    if (came < 0 && errno == EINTR) continue;
    if (came <= 0) break;
    length += static_cast<std::size_t>(came);
  }
  for (char *name = text.data(), *end = name + length; name < end; name += std::strlen(name) + 1) unlinkat(in, name, 0);
  rmdir(directory);   // not empty: that of another process removes it
  _exit(0);
}

}  // namespace

Scratch::Scratch(const std::string& directory) : directory_(directory) {
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) throw base::system_error(errno, "cannot make '" + directory + "'");
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw base::system_error(errno, "cannot make a pipe");
  remover_ = fork();
  if (remover_ < 0) throw base::system_error(errno, "cannot start a process");
  if (remover_ == 0) {
    for (const int each : {SIGINT, SIGTERM, SIGHUP}) std::signal(each, SIG_IGN);
    close(ends[1]);
    remove_when_closed(ends[0], directory_.c_str());
  }
  close(ends[0]);
  to_remover_ = ends[1];
}

Scratch::~Scratch() {
  close(to_remover_);
  while (waitpid(remover_, nullptr, 0) < 0 && errno == EINTR) {}
}

std::string Scratch::file(const std::string& name) {
  const std::scoped_lock lock(naming_);
  if (std::find(names_.begin(), names_.end(), name) == names_.end()) {
    names_.push_back(name);
    const auto bytes = static_cast<ssize_t>(name.size() + 1);
    if (write(to_remover_, name.c_str(), static_cast<std::size_t>(bytes)) != bytes) {
      throw base::system_error(errno, "cannot tell what is to be removed");
    }
  }
  return directory_ + '/' + name;
}

}  // namespace glean::calibrate
