// SPDX-License-Identifier: BSD-3-Clause
//
// System calls that go wrong as a plan says. For tests:
//
//   FaultyCalls calls({on("fsync").number(2).fails(EIO), on("write").falls_short()});
//
// The calls are open, pwrite, pread, fsync, ftruncate, allocate, punch_hole, rename, rename_new and unlink; "write" is the result of every
// write, synchronous or not.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/posix/system_calls.hpp"

namespace glean::store {

// What one kind of call does instead of, before or after what it is for.
class Fault {
 public:
  // Which calls of the kind: all, if nothing more is said. They are numbered from 0, by those that the rest applies to.
  [[nodiscard]] Fault number(std::size_t k) && { return first_ = k, end_ = k + 1, std::move(*this); }
  [[nodiscard]] Fault once() && { return std::move(*this).number(0); }
  [[nodiscard]] Fault before_number(std::size_t k) && { return end_ = k, std::move(*this); }
  [[nodiscard]] Fault from(std::size_t k) && { return first_ = k, std::move(*this); }
  [[nodiscard]] Fault of(std::string path) && { return path_ = std::move(path), std::move(*this); }
  // Only what begins at this offset of a file, or behind it.
  [[nodiscard]] Fault behind(off_t offset) && { return offset_ = offset, std::move(*this); }

  // What they do. They are not made …
  [[nodiscard]] Fault fails(int error) && { return std::move(*this).returns(-error); }
  [[nodiscard]] Fault returns(int result) && {
    return instead_ = [result](std::size_t, std::size_t, ssize_t) { return result; }, std::move(*this);
  }
  // … or they are made with half of the bytes, or of the rest in whole blocks, …
  [[nodiscard]] Fault falls_short(std::size_t block = 1) && { return short_block_ = block, std::move(*this); }
  // … or with another call before or after them; …
  [[nodiscard]] Fault before(std::function<void()> call) && { return before_ = std::move(call), std::move(*this); }
  [[nodiscard]] Fault after(std::function<void()> call) && { return after_ = std::move(call), std::move(*this); }
  // … or a bit of what they have read is wrong; or a function of the number, the size and the result, of writes, says what they return.
  [[nodiscard]] Fault flips_a_bit() && { return flips_ = true, std::move(*this); }
  [[nodiscard]] Fault gives(std::function<ssize_t(std::size_t k, std::size_t size, ssize_t result)> result) && {
    return instead_ = std::move(result), std::move(*this);
  }

 private:
  friend class FaultyCalls;
  friend Fault on(std::string_view call);

  static constexpr std::size_t all = std::numeric_limits<std::size_t>::max();

  std::string call_, path_;
  std::size_t first_ = 0, end_ = all, seen_ = 0;
  off_t offset_ = 0;
  std::size_t short_block_ = 0;
  bool flips_ = false;
  std::function<void()> before_, after_;
  std::function<ssize_t(std::size_t, std::size_t, ssize_t)> instead_;
};

inline Fault on(std::string_view call) {
  static constexpr std::array<std::string_view, 11> known{"open", "pwrite", "pread", "fsync", "ftruncate", "allocate",
                                                          "punch_hole", "rename", "rename_new", "unlink", "write"};
  if (std::find(known.begin(), known.end(), call) == known.end()) throw std::logic_error("no call '" + std::string(call) + "'");
  Fault fault;
  fault.call_ = call;
  return fault;
}

// Of faults that apply to one call the first counts.
using FaultPlan = std::vector<Fault>;

// Nothing more fits on the disk.
inline FaultPlan full_disk() { return {on("allocate").fails(ENOSPC), on("write").fails(ENOSPC)}; }

// Makes the calls, by a plan that may change meanwhile. Threads may share it.
class FaultyCalls : public SystemCalls {
 public:
  FaultyCalls() = default;
  explicit FaultyCalls(FaultPlan plan) : plan_(std::move(plan)) {}

  // From now on; calls are counted anew.
  void follow(FaultPlan plan) {
    const std::lock_guard lock(mutex_);
    plan_ = std::move(plan);
    made_.clear();
  }
  // How many of the name were made, whatever came of them.
  [[nodiscard]] std::size_t count(const std::string& call) const {
    const std::lock_guard lock(mutex_);
    const auto found = made_.find(call);
    return found == made_.end() ? 0 : found->second;
  }

  // Names of the calls that change something, in the order they were made: "open", "write", "fsync", …
  std::vector<std::string> log;

  int open(const char* path, int flags, mode_t mode) override {
    return call("open", path, [&] { return SystemCalls::open(path, flags, mode); });
  }
  int fsync(int descriptor) override {
    return call("fsync", "", [&] { return SystemCalls::fsync(descriptor); });
  }
  int ftruncate(int descriptor, off_t size) override {
    return call("ftruncate", "", [&] { return SystemCalls::ftruncate(descriptor, size); });
  }
  int allocate(int descriptor, off_t offset, off_t size) override {
    return call("allocate", "", [&] { return SystemCalls::allocate(descriptor, offset, size); });
  }
  int punch_hole(int descriptor, off_t offset, off_t size) override {
    return call("punch_hole", "", [&] { return SystemCalls::punch_hole(descriptor, offset, size); });
  }
  int rename(const char* from, const char* to) override {
    return call("rename", from, [&] { return SystemCalls::rename(from, to); });
  }
  int rename_new(const char* from, const char* to) override {
    return call("rename_new", from, [&] { return SystemCalls::rename_new(from, to); });
  }
  int unlink(const char* path) override {
    return call("unlink", path, [&] { return SystemCalls::unlink(path); });
  }
  ssize_t pwrite(int descriptor, const void* data, std::size_t size, off_t offset) override {
    return transfer("pwrite", size, offset, [&](std::size_t part) { return SystemCalls::pwrite(descriptor, data, part, offset); });
  }
  ssize_t pwritev(int descriptor, std::span<const iovec> segments, off_t offset) override {
    return transfer("pwrite", bytes_of(segments), offset, [&](std::size_t part) {
      std::vector<iovec> whole;
      for (const iovec& segment : segments) {
        if (part == 0) break;
        whole.push_back({segment.iov_base, std::min(part, segment.iov_len)});
        part -= whole.back().iov_len;
      }
      return SystemCalls::pwritev(descriptor, whole, offset);
    });
  }
  ssize_t pread(int descriptor, void* data, std::size_t size, off_t offset) override {
    bool flips = false;
    const ssize_t result = transfer("pread", size, offset,
                                    [&](std::size_t part) { return SystemCalls::pread(descriptor, data, part, offset); }, &flips);
    if (flips) static_cast<std::byte*>(data)[size / 2] ^= std::byte{1};
    return result;
  }
  ssize_t result_of_write(int, std::size_t size, off_t offset, ssize_t result) override {
    return transfer("write", size, offset, [&](std::size_t part) { return part == size ? result : static_cast<ssize_t>(part); });
  }

 private:
  // The fault of this call, with its number; without a name if there is none.
  std::pair<Fault, std::size_t> fault_of(const char* name, const char* path, off_t offset) {
    const std::lock_guard lock(mutex_);
    const std::string call = name;
    ++made_[call];
    if (call != "pwrite" && call != "pread" && call != "punch_hole") log.push_back(call);
    std::pair<Fault, std::size_t> found;
    for (Fault& fault : plan_) {
      if (fault.call_ != call || offset < fault.offset_ || (!fault.path_.empty() && fault.path_ != path)) continue;
      const std::size_t k = fault.seen_++;
      if (k >= fault.first_ && k < fault.end_ && found.first.call_.empty()) found = {fault, k};
    }
    return found;
  }

  template <class Make>
  int call(const char* name, const char* path, const Make& make) {
    const auto [fault, k] = fault_of(name, path, 0);
    if (fault.before_) fault.before_();
    const int result = fault.instead_ ? static_cast<int>(fault.instead_(k, 0, 0)) : make();
    if (fault.after_) fault.after_();
    return result;
  }
  template <class Make>
  ssize_t transfer(const char* name, std::size_t size, off_t offset, const Make& make, bool* flips = nullptr) {
    const auto [fault, k] = fault_of(name, "", offset);
    if (fault.before_) fault.before_();
    const bool is_of_a_result = std::string_view(name) == "write";
    if (fault.instead_) return fault.instead_(k, size, is_of_a_result ? make(size) : 0);
    const std::size_t part = fault.short_block_ == 0 ? size : size / 2 / fault.short_block_ * fault.short_block_;
    const ssize_t result = make(part);
    if (flips != nullptr) *flips = fault.flips_;
    if (fault.after_) fault.after_();
    return result;
  }

  mutable std::mutex mutex_;
  FaultPlan plan_;
  std::map<std::string, std::size_t> made_;
};

}  // namespace glean::store
