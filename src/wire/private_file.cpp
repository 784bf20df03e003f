// SPDX-License-Identifier: BSD-3-Clause
#include "wire/private_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/error.hpp"
#include "wire/key.hpp"

namespace glean::wire {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { ::close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

std::string temporary_name(const std::string& path) {
  std::array<std::byte, 8> name{};
  fill_randomly(name);
  const auto slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  return fmt::format("{}.glean-{}.new", directory, to_hex(name));
}

void write_all(const std::string& path, const std::string& text) {
  const int number = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (number < 0) throw base::system_error(errno, fmt::format("cannot make '{}'", path));
  const Descriptor file(number);
  // The process's umask may have taken bits away.
  if (::fchmod(number, 0600) != 0) throw base::system_error(errno, fmt::format("cannot set the mode of '{}'", path));
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t result = ::write(number, text.data() + written, text.size() - written);
    if (result < 0 && errno == EINTR) continue;
    if (result < 0) throw base::system_error(errno, fmt::format("cannot write '{}'", path));
    written += static_cast<std::size_t>(result);
  }
  if (::fsync(number) != 0) throw base::system_error(errno, fmt::format("cannot write '{}'", path));
}

}  // namespace

void write_private_file(const std::string& path, const std::string& text, IfItExists existing) {
  const std::string temporary = temporary_name(path);
  try {
    write_all(temporary, text);
    // A link, unlike a rename, does not replace what is there.
    const bool is_new = existing == IfItExists::fails;
    const int result = is_new ? ::link(temporary.c_str(), path.c_str()) : ::rename(temporary.c_str(), path.c_str());
    if (result != 0) throw base::system_error(errno, fmt::format("cannot make '{}'", path));
    if (is_new) ::unlink(temporary.c_str());
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

std::string read_private_file(const std::string& path, const std::string& what, std::size_t bytes_max,
                              const std::string& hint_if_missing) {
  const int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);   // a pipe of that name does not block
  if (number < 0 && errno == ENOENT) {
    throw base::Error(base::Errc::not_found, fmt::format("{} '{}' does not exist", what, path), hint_if_missing);
  }
  if (number < 0) throw base::system_error(errno, fmt::format("cannot open {} '{}'", what, path));
  const Descriptor file(number);
  struct stat status {};
  if (::fstat(number, &status) != 0) throw base::system_error(errno, fmt::format("cannot look at {} '{}'", what, path));
  if (!S_ISREG(status.st_mode)) throw base::Error(base::Errc::invalid_argument, fmt::format("{} '{}' is no file", what, path));
  if (status.st_uid != ::geteuid()) {
    throw base::Error(base::Errc::permission,
                      fmt::format("{} '{}' belongs to the user {}, and this process runs as {}", what, path, status.st_uid, ::geteuid()),
                      "use a file of your own");
  }
  if ((status.st_mode & 077) != 0) {
    throw base::Error(base::Errc::permission,
                      fmt::format("{} '{}' has mode {:04o}: others may use it", what, path, status.st_mode & 07777),
                      fmt::format("make a new one if others can have read it, otherwise: chmod 600 '{}'", path));
  }
  std::string text(bytes_max + 1, '\0');
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const ssize_t result = ::read(number, text.data() + bytes, text.size() - bytes);
    if (result < 0 && errno == EINTR) continue;
    if (result < 0) throw base::system_error(errno, fmt::format("cannot read {} '{}'", what, path));
    if (result == 0) break;
    bytes += static_cast<std::size_t>(result);
  }
  if (bytes > bytes_max) {
    throw base::Error(base::Errc::invalid_argument, fmt::format("{} '{}' has more than {} bytes", what, path, bytes_max));
  }
  text.resize(bytes);
  return text;
}

}  // namespace glean::wire
