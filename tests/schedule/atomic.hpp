// SPDX-License-Identifier: BSD-3-Clause
//
// The pool's words for a program in which the scheduler decides, before each operation, who goes on. Every operation is
// sequentially consistent: weaker orders are ThreadSanitizer's business.
#pragma once

#include <atomic>
#include <concepts>
#include <utility>

namespace glean::schedule {

// The running process is about to do `operation` on `word`. Others may run before it returns; it may never return.
// Outside of a schedule nothing happens.
void point(const char* operation, const void* word);

}  // namespace glean::schedule

namespace glean::pool {

template <class T>
class Atomic {
 public:
  static constexpr bool is_always_lock_free = std::atomic<T>::is_always_lock_free;

  Atomic() = default;
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  [[nodiscard]] T load(std::memory_order = std::memory_order_seq_cst) const {
    schedule::point("load", this);
    return value_;
  }
  void store(T value, std::memory_order = std::memory_order_seq_cst) {
    schedule::point("store", this);
    value_ = value;
  }
  T exchange(T value, std::memory_order = std::memory_order_seq_cst) {
    schedule::point("exchange", this);
    return std::exchange(value_, value);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order = std::memory_order_seq_cst,
                               std::memory_order = std::memory_order_seq_cst) {
    schedule::point("compare_exchange", this);
    const bool equal = value_ == expected;
    (equal ? value_ : expected) = equal ? desired : value_;
    return equal;
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order = std::memory_order_seq_cst,
                             std::memory_order = std::memory_order_seq_cst) {
    return compare_exchange_strong(expected, desired);
  }
  T fetch_add(T value, std::memory_order = std::memory_order_seq_cst) requires std::integral<T> {
    schedule::point("fetch_add", this);
    return std::exchange(value_, static_cast<T>(value_ + value));
  }
  T fetch_sub(T value, std::memory_order = std::memory_order_seq_cst) requires std::integral<T> {
    schedule::point("fetch_sub", this);
    return std::exchange(value_, static_cast<T>(value_ - value));
  }
  T fetch_or(T value, std::memory_order = std::memory_order_seq_cst) requires std::integral<T> {
    schedule::point("fetch_or", this);
    return std::exchange(value_, static_cast<T>(value_ | value));
  }
  T operator=(T value) { return store(value), value; }
  operator T() const { return load(); }

 private:
  T value_{};
  static_assert(sizeof(T) == sizeof(std::atomic<T>) && alignof(T) == alignof(std::atomic<T>));
};

}  // namespace glean::pool
