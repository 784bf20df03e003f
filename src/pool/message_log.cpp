// SPDX-License-Identifier: BSD-3-Clause
#include "pool/message_log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <span>
#include <string_view>

#include "base/bytes.hpp"
#include "base/encoding.hpp"

namespace glean::pool {
namespace {

constexpr std::string_view prefix = "/glean", log_prefix = "/dev/shm/glean-messages";
constexpr std::size_t log_max = base::MiB, message_max = 64 * base::KiB;

std::string path_of(const std::string& pool) {
  return pool.starts_with(prefix) ? std::string(log_prefix) + pool.substr(prefix.size()) : std::string();
}

// The system calls themselves: what the names in the C library lead to may be the program's.
int open_log(const std::string& pool, int flags) {
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path_of(pool).c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600));
}

}  // namespace

bool tell(const std::string& pool, const Message& message) noexcept {
  try {
    base::Encoder body;
    body.text(message.text);
    body.text(message.output);
    body.number(message.step);
    base::Encoder whole;
    whole.bytes(body.take());
    const auto bytes = whole.take();
    if (bytes.size() > message_max) return false;
    const int file = open_log(pool, O_WRONLY | O_CREAT | O_APPEND);
    if (file < 0) return false;
    struct stat status {};
    const bool has_room = syscall(SYS_fstat, file, &status) == 0 && static_cast<std::size_t>(status.st_size) + bytes.size() <= log_max;
    // In one piece: others append too.
    const bool is_told = has_room && syscall(SYS_write, file, bytes.data(), bytes.size()) == static_cast<long>(bytes.size());
    syscall(SYS_close, file);
    return is_told;
  } catch (...) {
    return false;
  }
}

void remove_messages(const std::string& pool) noexcept {
  try {
    if (const std::string path = path_of(pool); !path.empty()) syscall(SYS_unlinkat, AT_FDCWD, path.c_str(), 0);
  } catch (...) {   // then it stays
  }
}

std::vector<Message> MessageReader::poll() {
  std::vector<Message> messages;
  const int file = open_log(pool_, O_RDONLY);
  if (file < 0) return messages;
  std::vector<std::byte> bytes(log_max);
  const long length = syscall(SYS_pread64, file, bytes.data(), bytes.size(), read_);
  syscall(SYS_close, file);
  std::span<const std::byte> rest(bytes.data(), length < 0 ? 0 : static_cast<std::size_t>(length));
  try {
    while (!rest.empty()) {
      base::Decoder in(rest, "a message to the program");
      base::Decoder body(in.bytes(), "a message to the program");
      Message message;
      message.text = body.text();
      message.output = body.text();
      message.step = body.number();
      messages.push_back(std::move(message));
      read_ += rest.size() - in.rest().size();
      rest = in.rest();
    }
  } catch (const base::Error&) {   // the rest of it is not there yet
  }
  return messages;
}

}  // namespace glean::pool
