// SPDX-License-Identifier: BSD-3-Clause
#include "disk.hpp"

#include <algorithm>
#include <cstring>

namespace glean::powercut {

Disk::Disk(std::size_t bytes) : current_(bytes / sector_bytes * sector_bytes), media_(current_.size()) {}

bool Disk::serve() {
  if (status_.power && countdown_ && (*countdown_)-- <= 1) forget(armed_seed_);
  return status_.power;
}

bool Disk::read(std::size_t offset, std::span<std::byte> data) {
  const std::lock_guard lock(mutex_);
  if (!status_.power || offset + data.size() > size()) return false;
  std::memcpy(data.data(), current_.data() + offset, data.size());
  return true;
}

bool Disk::write(std::size_t offset, std::span<const std::byte> data) {
  const std::lock_guard lock(mutex_);
  if (offset + data.size() > size() || !serve()) return false;
  if (data.empty()) return true;
  ++status_.writes;
  std::memcpy(current_.data() + offset, data.data(), data.size());
  for (std::size_t index = offset / sector_bytes; index * sector_bytes < offset + data.size(); ++index) {
    const auto first = current_.begin() + static_cast<std::ptrdiff_t>(index * sector_bytes);
    unflushed_[index].emplace_back(first, first + sector_bytes);
  }
  return true;
}

bool Disk::flush() {
  const std::lock_guard lock(mutex_);
  if (!serve()) return false;
  ++status_.flushes;
  for (const auto& [index, versions] : unflushed_) {
    std::memcpy(media_.data() + index * sector_bytes, versions.back().data(), sector_bytes);
  }
  unflushed_.clear();
  return true;
}

void Disk::forget(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  // From "nothing had left the cache" to "nearly everything had".
  std::bernoulli_distribution leaves_cache(std::uniform_real_distribution<>(0, 1)(random));
  status_.power = false;
  countdown_.reset();
  status_.unflushed_sectors = unflushed_.size();
  status_.lost_sectors = 0;
  for (const auto& [index, versions] : unflushed_) {
    std::byte* safe = media_.data() + index * sector_bytes;
    if (leaves_cache(random)) {
      std::uniform_int_distribution<std::size_t> which(0, versions.size() - 1);
      std::memcpy(safe, versions[which(random)].data(), sector_bytes);
    }
    if (std::memcmp(safe, versions.back().data(), sector_bytes) != 0) ++status_.lost_sectors;
  }
  unflushed_.clear();
}

void Disk::cut(std::uint64_t seed) {
  const std::lock_guard lock(mutex_);
  if (status_.power) forget(seed);
}

void Disk::cut_at(std::uint64_t n, std::uint64_t seed) {
  const std::lock_guard lock(mutex_);
  countdown_ = n;
  armed_seed_ = seed;
}

void Disk::power_on() {
  const std::lock_guard lock(mutex_);
  if (status_.power) return;
  current_ = media_;
  status_ = {};
}

DiskStatus Disk::status() {
  const std::lock_guard lock(mutex_);
  if (status_.power) status_.unflushed_sectors = unflushed_.size();
  return status_;
}

}  // namespace glean::powercut
