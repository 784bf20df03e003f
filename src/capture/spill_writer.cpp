// SPDX-License-Identifier: BSD-3-Clause
#include "capture/spill_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/log.hpp"

namespace glean::capture {

SpillWriter::~SpillWriter() {
  if (descriptor_ >= 0) calls_.close(descriptor_);
}

void SpillWriter::give_up(int error) {
  given_up_ = true;
  const std::string why = base::system_error(error, "cannot write").what();
  if (pool_.is_stager()) base::log(base::LogLevel::warning, "the stager spills no more, its clients wait instead: '{}': {}", path_, why);
  else base::log(base::LogLevel::warning, "rank {} spills no more, its puts wait instead: '{}': {}", rank_, path_, why);
}

// 0 or errno. A process before this one, with the same pool, may have made it: a stager is started again.
int SpillWriter::open_existing() {
  descriptor_ = calls_.open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
  if (descriptor_ < 0) return -descriptor_;
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) return errno;
  if (!S_ISREG(status.st_mode) || status.st_uid != geteuid()) return EEXIST;   // what that process has written is not there
  end_ = base::align_up(static_cast<Bytes>(status.st_size), pool::spill_alignment);
  return 0;
}

bool SpillWriter::open() {
  path_ = pool::spill_path(pool_, rank_);
  if (path_.empty() || !pool::take_spill_budget(pool_.header(), pool::spill_alignment)) return false;
  const Bytes room = pool::spill_bytes(pool_.header().chunk_bytes);
  buffer_.reset(static_cast<std::byte*>(std::aligned_alloc(pool::spill_alignment, room)));
  if (!buffer_) return give_up(ENOMEM), false;
  constexpr int flags = O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  descriptor_ = calls_.open(path_.c_str(), flags | O_EXCL | O_DIRECT, 0600);
  direct_ = descriptor_ >= 0;
  if (descriptor_ == -EINVAL) descriptor_ = calls_.open(path_.c_str(), flags, 0600);   // it may have been made all the same
  if (descriptor_ == -EEXIST) {
    pool::return_spill_budget(pool_.header(), pool::spill_alignment);   // that process has taken it
    if (const int error = open_existing(); error != 0) return give_up(error), false;
    if (end_ != 0) return true;
  }
  if (descriptor_ < 0) return give_up(-descriptor_), false;

  pool::SpillFileHeader header{};
  header.magic = pool::spill_magic;
  header.version = 1;
  header.rank = static_cast<std::uint32_t>(rank_);
  pool_.name().copy(header.pool.data(), header.pool.size() - 1);
  header.checksum = pool::checksum_of(header);
  std::memset(buffer_.get(), 0, pool::spill_alignment);
  std::memcpy(buffer_.get(), &header, sizeof header);
  if (const int error = store(pool::spill_alignment, 0); error != 0) return give_up(error), false;
  end_ = pool::spill_alignment;
  return true;
}

int SpillWriter::store(Bytes bytes, Bytes offset) {
  for (Bytes done = 0; done < bytes;) {
    const ssize_t result = calls_.pwrite(descriptor_, buffer_.get() + done, bytes - done, static_cast<off_t>(offset + done));
    if (result > 0) {
      done += static_cast<Bytes>(result);
    } else if (result == -EINVAL && direct_) {
      // The file system does not want it so, or not from the middle of a block.
      direct_ = false;
      calls_.close(descriptor_);
      descriptor_ = calls_.open(path_.c_str(), O_RDWR | O_CLOEXEC, 0);
      if (descriptor_ < 0) return -descriptor_;
    } else if (result != -EINTR) {
      return result == 0 ? ENOSPC : static_cast<int>(-result);
    }
  }
  return 0;
}

bool SpillWriter::reserve(Bytes payload_bytes) {
  if (given_up_ || (descriptor_ < 0 && !open())) return false;
  return pool::take_spill_budget(pool_.header(), pool::spill_bytes(payload_bytes));
}

std::optional<Bytes> SpillWriter::write(const pool::Recorder::Put& put, Bytes payload_bytes, const CopyOut& copy_out) {
  pool::SpillBlock block{};
  block.payload_bytes = payload_bytes;
  const Bytes bytes = pool::spill_bytes(payload_bytes);
  std::byte* payload = buffer_.get() + sizeof block;
  copy_out(put.first_element, put.elements, payload);
  std::memset(payload + block.payload_bytes, 0, bytes - sizeof block - block.payload_bytes);
  block.magic = pool::spill_block_magic;
  block.sequence = sequence_;
  block.payload_checksum = XXH3_64bits(payload, block.payload_bytes);
  block.slot = put.output.slot;
  block.generation = put.output.generation;
  block.step = put.step;
  block.first_element = put.first_element;
  block.variable = put.variable;
  block.rank = static_cast<std::uint32_t>(rank_);
  block.checksum = pool::checksum_of(block);
  std::memcpy(buffer_.get(), &block, sizeof block);
  if (const int error = store(bytes, end_); error != 0) {
    pool::return_spill_budget(pool_.header(), bytes);
    give_up(error);
    return std::nullopt;
  }
  ++sequence_;
  const Bytes offset = end_;
  end_ += bytes;
  return offset;
}

}  // namespace glean::capture
