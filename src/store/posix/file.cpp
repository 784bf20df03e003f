// SPDX-License-Identifier: BSD-3-Clause
#include "store/posix/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/error.hpp"
#include "store/posix/write_part.hpp"

namespace glean::store {

namespace {

using base::Errc;
using base::Error;

std::string message(const char* action, const FileNames& names) {
  return std::string("cannot ") + action + " '" + names.final_path + "'";
}

// Alignment that direct I/O on `descriptor` needs; 0: the file system does not do it.
Bytes direct_alignment(int descriptor) {
  const auto page = static_cast<Bytes>(sysconf(_SC_PAGESIZE));
#ifdef STATX_DIOALIGN
  struct statx status {};
  if (statx(descriptor, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) == 0 && (status.stx_mask & STATX_DIOALIGN) != 0) {
    if (status.stx_dio_offset_align == 0) return 0;
    return std::max<Bytes>({page, status.stx_dio_offset_align, status.stx_dio_mem_align});
  }
#else
  (void)descriptor;
#endif
  // A page is enough for every block device, and partial pages would collide in the page cache.
  return page;
}

constexpr mode_t permission_bits = 07777;

// The mode of the file that is replaced; none if there is none, or the output is written in place.
std::optional<mode_t> mode_of_replaced(const FileNames& names) {
  struct stat replaced {};
  if (names.working_path == names.final_path || stat(names.final_path.c_str(), &replaced) != 0) return std::nullopt;
  return replaced.st_mode & permission_bits;
}

}  // namespace

void hand_on_permissions(const FileNames& names) {
  const auto mode = mode_of_replaced(names);
  if (mode && chmod(names.working_path.c_str(), *mode) != 0) throw base::system_error(errno, message("set the permissions of", names));
}

File::File(SystemCalls& calls, FileNames names, base::DirectIo direct_io) : calls_(calls), names_(std::move(names)) {
  buffered_ = calls_.open(names_.working_path.c_str(), O_WRONLY | O_CLOEXEC, 0);
  if (buffered_ < 0) throw base::system_error(-buffered_, message("open", names_));
  replaced_mode_ = mode_of_replaced(names_);
  if (direct_io == base::DirectIo::off) return;

  const Bytes alignment = direct_alignment(buffered_);
  int refusal = EOPNOTSUPP;
  if (alignment != 0) {
    direct_ = calls_.open(names_.working_path.c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC, 0);
    if (direct_ < 0) refusal = -std::exchange(direct_, -1);
    else block_bytes_ = std::max(block_bytes_, alignment);
  }
  if (direct_ < 0 && direct_io == base::DirectIo::on) {
    calls_.close(buffered_);
    throw Error(Errc::unsupported, base::system_error(refusal, message("use direct I/O for", names_)).what(),
                "let the library decide about direct I/O, or write to another file system");
  }
}

File::~File() {
  if (direct_ >= 0) calls_.close(direct_);
  calls_.close(buffered_);
}

void File::check_usable() const {
  if (failed_) throw Error(Errc::io, message("use", names_) + ": the storage has failed to keep what was written");
}

struct stat File::status(int descriptor) const {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) throw base::system_error(errno, message("inspect", names_));
  return status;
}

Bytes File::current_size() const {
  if (!shared_) return static_cast<Bytes>(status(buffered_).st_size);
  // NFS tells what other nodes have written only to a process that opens the file after that.
  struct Opened {
    ~Opened() {
      if (descriptor >= 0) calls.close(descriptor);
    }
    SystemCalls& calls;
    int descriptor;
  } const opened{calls_, calls_.open(names_.working_path.c_str(), O_WRONLY | O_CLOEXEC, 0)};
  if (opened.descriptor < 0) throw base::system_error(-opened.descriptor, message("inspect", names_));
  return static_cast<Bytes>(status(opened.descriptor).st_size);
}

void File::reserve(Bytes size_bytes, Bytes data_bytes) {
  check_usable();
  const auto current = static_cast<Bytes>(status(buffered_).st_size);   // to allocate what another has written does no harm
  if (size_bytes <= current) return;
  const Bytes added = size_bytes - current;
  if (data_bytes < added / 2) return extend(size_bytes);

  int result = 0;
  do {
    result = calls_.allocate(buffered_, static_cast<off_t>(current), static_cast<off_t>(added));
  } while (result == -EINTR);
  if (result == 0) return;
  // File systems that cannot allocate can still be long.
  if (result == -EOPNOTSUPP || result == -ENOSYS || result == -EINVAL) return extend(size_bytes);
  if (result == -ENOSPC && data_bytes < added) {
    // The holes need no room: what was allocated goes back, and the writes will tell.
    if (!shared_) calls_.ftruncate(buffered_, static_cast<off_t>(current));
    return extend(size_bytes);
  }
  throw base::system_error(-result, message("reserve room for", names_));
}

void File::extend(Bytes size_bytes) {
  // Another may have written behind that by now: writes will have to make the file longer.
  if (shared_) return;
  const int result = calls_.ftruncate(buffered_, static_cast<off_t>(size_bytes));
  if (result < 0) throw base::system_error(-result, message("extend", names_));
}

void File::resize(Bytes size_bytes) {
  check_usable();
  const Bytes now = current_size();
  if (now == size_bytes) return;
  const int result = calls_.ftruncate(buffered_, static_cast<off_t>(size_bytes));
  if (result < 0) throw base::system_error(-result, message(now > size_bytes ? "cut" : "extend", names_));
}

void File::write(std::span<const std::byte> data, Bytes offset) {
  check_usable();
  if (data.empty()) return;
  WritePart part(*this, WritePart::Kind::buffered, {&data, 1}, offset);
  WriteCounters not_counted;
  for (;;) {
    const ssize_t result =
        calls_.pwritev(part.descriptor(), part.segments(), static_cast<off_t>(part.offset()));
    const WritePart::Next next = part.advance(result, not_counted);
    if (next == WritePart::Next::done) return;
    if (next == WritePart::Next::failed) throw base::system_error(part.error(), message("write", names_));
  }
}

void File::synchronize() {
  check_usable();
  const int result = calls_.fsync(buffered_);
  if (result == 0) return;
  // The kernel reports a lost page once and then drops it: a second fsync would succeed without the data.
  failed_ = true;
  throw base::system_error(-result, message("store", names_));
}

void File::publish() {
  prepare_to_publish();
  take_name();
  keep_name();
}

void File::prepare_to_publish() {
  synchronize();
  if (names_.working_path == names_.final_path) return;
  const auto mode = mode_of_replaced(names_);
  if (mode && mode != replaced_mode_ && fchmod(buffered_, *mode) != 0) {
    throw base::system_error(errno, message("set the permissions of", names_));
  }
}

void File::take_name() {
  if (names_.working_path == names_.final_path) return;
  const int result = calls_.rename(names_.working_path.c_str(), names_.final_path.c_str());
  if (result < 0) throw base::system_error(-result, message("publish", names_));
}

void File::keep_name() {
  published_ = true;
  synchronize_directory();
}

void File::synchronize_directory() {
  const std::string directory = std::filesystem::path(names_.final_path).parent_path().string();
  const int descriptor = calls_.open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  const bool is_out_of_reach = descriptor == -EACCES || descriptor == -ENOENT;   // ENOENT: the program has removed or renamed it
  if (is_out_of_reach && names_.working_path == names_.final_path) return;       // the name was there before
  if (descriptor < 0) throw base::system_error(-descriptor, message("publish", names_));
  const int result = calls_.fsync(descriptor);
  calls_.close(descriptor);
  // Some network file systems have no fsync of directories; their renames are durable or cannot be made so.
  if (result == 0 || result == -EINVAL || result == -EOPNOTSUPP) return;
  failed_ = true;
  throw base::system_error(-result, message("publish", names_));
}

std::uint64_t File::inode() const { return status(buffered_).st_ino; }

std::uint64_t File::device() const { return status(buffered_).st_dev; }

bool File::is_removed() const { return status(buffered_).st_nlink == 0; }

bool File::has_its_name() const {
  struct stat named {};
  return stat(names_.working_path.c_str(), &named) == 0 && named.st_ino == inode() && named.st_dev == device();
}

void File::follow_final_name() {
  struct stat named {};
  if (has_its_name() || stat(names_.final_path.c_str(), &named) != 0) return;
  if (named.st_ino == inode() && named.st_dev == device()) names_.working_path = names_.final_path;
}

void File::follow_directory() {
  if (has_its_name()) return;
  std::error_code none;   // where there is no /proc
  const auto now = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(buffered_), none);
  if (now.filename() != std::filesystem::path(names_.working_path).filename()) return;
  names_ = {now.string(), (now.parent_path() / std::filesystem::path(names_.final_path).filename()).string()};
}

void File::discard() noexcept {
  if (published_ || names_.working_path == names_.final_path) return;
  calls_.unlink(names_.working_path.c_str());
}

}  // namespace glean::store
