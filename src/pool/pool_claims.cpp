// SPDX-License-Identifier: BSD-3-Clause
//
// Which processes use a pool: byte 0 of its claims is the drain's, byte 1 + r rank r's.
#include <fcntl.h>
#include <unistd.h>

#include "pool/pool.hpp"

namespace glean::pool {
namespace {

struct flock range(Bytes first, Bytes count) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(first);
  lock.l_len = static_cast<off_t>(count);
  return lock;
}

}  // namespace

bool Pool::claim(Bytes first, Bytes count) {
  const struct flock lock = range(first, count);
  return fcntl(descriptor_, F_SETLK, &lock) == 0;
}

int Pool::claimed_by(Bytes first, Bytes count) const {
  struct flock lock = range(first, count);
  if (fcntl(descriptor_, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return 0;
  return lock.l_pid > 0 ? static_cast<int>(lock.l_pid) : -1;   // a process of another container has no number here
}

bool Pool::claim_drain() { return is_drainer_ = claim(0, 1); }

void Pool::leave_drain() {
  struct flock lock = range(0, 1);
  lock.l_type = F_UNLCK;
  fcntl(descriptor_, F_SETLK, &lock);
  is_drainer_ = false;
}

bool Pool::claim_rank(int rank) {
  if (!claim(1 + static_cast<Bytes>(rank), 1)) return false;
  own_rank_ = rank;
  return true;
}

bool Pool::claim_all() { return is_drainer_ = claim(0, 1 + Bytes{header().ranks}); }

int Pool::drainer() const { return is_drainer_ ? getpid() : claimed_by(0, 1); }

int Pool::process_of_rank(int rank) const {
  return rank == own_rank_ ? getpid() : claimed_by(1 + static_cast<Bytes>(rank), 1);
}

}  // namespace glean::pool
