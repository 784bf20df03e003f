// SPDX-License-Identifier: BSD-3-Clause
#include "pool/name_log.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

namespace glean::pool {
namespace {

constexpr std::string_view prefix = "/glean", log_prefix = "/dev/shm/glean-names";
constexpr std::string_view tag = ".glean-", ending = ".removed";

// Stands before the changes.
struct LogHeader {
  std::uint64_t next_number;
};

thread_local bool has_it = false;   // this thread has a log open

// The system calls themselves: what the names in the C library lead to may be the program's, or wait for the drain.
int open_log(const std::string& pool, int flags) noexcept {
  std::array<char, 128> path;
  if (!pool.starts_with(prefix) || log_prefix.size() + pool.size() - prefix.size() >= path.size()) return -1;
  char* end = std::copy(log_prefix.begin(), log_prefix.end(), path.begin());
  end = std::copy(pool.begin() + prefix.size(), pool.end(), end);
  *end = '\0';
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path.data(), flags | O_CLOEXEC | O_NOFOLLOW, 0600));
}

off_t place(std::uint64_t number) { return static_cast<off_t>(sizeof(LogHeader) + number * sizeof(NameChange)); }

// Appends text to a buffer; false: it does not fit.
class Text {
 public:
  explicit Text(std::array<char, 4096>& buffer) : buffer_(buffer) {}
  Text& add(std::string_view text) {
    fits_ = fits_ && used_ + text.size() < buffer_.size();
    if (!fits_) return *this;
    std::memcpy(buffer_.data() + used_, text.data(), text.size());
    used_ += text.size();
    buffer_[used_] = '\0';
    return *this;
  }
  Text& add(std::uint64_t number) {
    if (number >= 10) add(number / 10);
    const char digit = static_cast<char>('0' + number % 10);
    return add(std::string_view(&digit, 1));
  }
  [[nodiscard]] bool fits() const { return fits_; }
  [[nodiscard]] std::size_t size() const { return used_; }

 private:
  std::array<char, 4096>& buffer_;
  std::size_t used_ = 0;
  bool fits_ = true;
};

}  // namespace

bool is_empty(const Fence& fence) noexcept {
  return std::all_of(fence.begin(), fence.end(), [](std::uint32_t generation) { return generation == 0; });
}

bool hidden_path(std::string_view path, std::string_view job, std::uint64_t number, std::array<char, 4096>& hidden) noexcept {
  const std::size_t name = path.rfind('/') + 1;
  Text text(hidden);
  text.add(path.substr(0, name)).add(".").add(path.substr(name)).add(tag).add(job).add("-").add(number).add(ending);
  return text.fits() && text.size() - name <= NAME_MAX;
}

std::optional<HiddenName> parse_hidden(std::string_view hidden) noexcept {
  if (!hidden.starts_with('.') || !hidden.ends_with(ending)) return std::nullopt;
  const std::size_t at = hidden.rfind(tag);
  if (at == hidden.npos || at < 2) return std::nullopt;
  std::string_view job = hidden.substr(at + tag.size(), hidden.size() - ending.size() - at - tag.size());
  const std::size_t dash = job.rfind('-');
  if (dash == job.npos) return std::nullopt;
  return HiddenName{hidden.substr(1, at - 1), job.substr(0, dash)};
}

std::string hidden_job(const std::string& pool) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return pool.substr(std::min(pool.size(), prefix.size() + 1)) + "." + host.data();
}

NameLog::NameLog(const std::string& pool, Make make) noexcept {
  if (has_it) return;
  const int descriptor = open_log(pool, make == Make::yes ? O_RDWR | O_CREAT : O_RDWR);
  if (descriptor < 0) return;
  has_it = true;
  while (flock(descriptor, LOCK_EX) != 0 && errno == EINTR) {}
  struct stat status {};
  const long found = syscall(SYS_fstat, descriptor, &status);
  if (found == 0 && status.st_size >= place(1)) count_ = static_cast<std::uint64_t>(status.st_size - place(0)) / sizeof(NameChange);
  descriptor_ = descriptor;
}

NameLog::~NameLog() {
  if (descriptor_ < 0) return;
  syscall(SYS_close, descriptor_);   // and with it goes the lock
  has_it = false;
}

bool NameLog::read(std::uint64_t number, NameChange& change) const noexcept {
  return descriptor_ >= 0 && pread(descriptor_, &change, sizeof change, place(number)) == static_cast<ssize_t>(sizeof change);
}

bool NameLog::write(std::uint64_t number, const NameChange& change) noexcept {
  const bool is_written =
      descriptor_ >= 0 && pwrite(descriptor_, &change, sizeof change, place(number)) == static_cast<ssize_t>(sizeof change);
  if (is_written) count_ = std::max(count_, number + 1);
  return is_written;
}

std::uint64_t NameLog::next_number() noexcept {
  LogHeader header{};
  if (pread(descriptor_, &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header)) header = {};
  ++header.next_number;
  static_cast<void>(!pwrite(descriptor_, &header, sizeof header, 0));
  return header.next_number;
}

void NameLog::clear() noexcept {
  if (ftruncate(descriptor_, place(0)) == 0) count_ = 0;
}

void NameLog::remove(const std::string& pool) noexcept {
  if (!pool.starts_with(prefix)) return;
  const std::string path = std::string(log_prefix) + pool.substr(prefix.size());
  syscall(SYS_unlinkat, AT_FDCWD, path.c_str(), 0);
}

std::optional<NewName> new_name_of(const Pool& pool, OutputKey output) {
  if (pool.slot(output.slot).is_renamed.load(std::memory_order_acquire) == 0) return std::nullopt;
  return new_name_in(NameLog(pool.name(), NameLog::Make::no), output);
}

std::optional<NewName> new_name_in(const NameLog& log, OutputKey output) {
  NameChange change;
  for (std::uint64_t number = log.count(); number-- > 0;) {
    if (!log.read(number, change) || change.state == NameChange::State::free) continue;
    if (change.kind == NameChange::Kind::renamed && change.output == output) {
      return NewName{change.path[0] == '\0', change.path.data(), change.hidden.data()};
    }
  }
  return std::nullopt;
}

}  // namespace glean::pool
