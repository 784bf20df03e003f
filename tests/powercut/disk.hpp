// SPDX-License-Identifier: BSD-3-Clause
//
// A disk with a volatile write cache, in memory. What was written and not flushed is kept apart; when the power is
// cut, every sector of it ends up, at random, as one of the versions it has had since the last flush. A sector is
// never torn, and sectors are independent of each other and of the order in which they were written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <vector>

namespace glean::powercut {

// What has happened since the power came on.
struct DiskStatus {
  bool power = true;
  std::uint64_t writes = 0;
  std::uint64_t flushes = 0;
  std::uint64_t unflushed_sectors = 0;   // at the cut, once the power is off
  std::uint64_t lost_sectors = 0;        // of them: those that do not hold what was written last
};

// Safe to use from several threads. Calls that need power return false without it.
class Disk {
 public:
  static constexpr std::size_t sector_bytes = 4096;

  explicit Disk(std::size_t bytes);   // a multiple of a sector; all zeros

  [[nodiscard]] std::size_t size() const { return current_.size(); }
  [[nodiscard]] bool read(std::size_t offset, std::span<std::byte> data);
  [[nodiscard]] bool write(std::size_t offset, std::span<const std::byte> data);
  // Everything written before is safe when this returns true.
  [[nodiscard]] bool flush();

  void cut(std::uint64_t seed);
  // Cuts instead of doing the n-th next write or flush.
  void cut_at(std::uint64_t n, std::uint64_t seed);
  // The disk holds what has survived.
  void power_on();
  [[nodiscard]] DiskStatus status();

 private:
  using Sector = std::vector<std::byte>;
  [[nodiscard]] bool serve();   // counts down to the cut
  void forget(std::uint64_t seed);

  std::mutex mutex_;
  std::vector<std::byte> current_;   // what is read
  std::vector<std::byte> media_;     // what is safe
  std::map<std::size_t, std::vector<Sector>> unflushed_;   // every version since the last flush, oldest first
  std::optional<std::uint64_t> countdown_;
  std::uint64_t armed_seed_ = 0;
  DiskStatus status_;
};

}  // namespace glean::powercut
