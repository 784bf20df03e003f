// SPDX-License-Identifier: BSD-3-Clause
//
// The pool's words for a program in which the scheduler decides which process goes on: before each operation, and after each but a
// relaxed load, since what is not atomic can be too late for the one before it or too early for the one behind it. Every
// operation is sequentially consistent: weaker orders are ThreadSanitizer's business.
#pragma once

#include <atomic>
#include <concepts>
#include <utility>

namespace glean::schedule {

// The running process is about to do `operation` on `word`, or has done it. Others may run before this returns; it may
// never return. Outside of a schedule nothing happens.
void point(const char* operation, const void* word);
void point_after(const char* operation, const void* word);

}  // namespace glean::schedule

namespace glean::pool {

template <class T>
class Atomic {
 public:
  static constexpr bool is_always_lock_free = std::atomic<T>::is_always_lock_free;

  Atomic() = default;
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  [[nodiscard]] T load(std::memory_order order = std::memory_order_seq_cst) const {
    schedule::point("load", this);
    const T value = value_;
    if (order != std::memory_order_relaxed) schedule::point_after("load", this);   // what it leads to may change
    return value;
  }
  void store(T value, std::memory_order = std::memory_order_seq_cst) {
    change("store", [&] { return value; });
  }
  T exchange(T value, std::memory_order = std::memory_order_seq_cst) {
    return change("exchange", [&] { return value; });
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order = std::memory_order_seq_cst,
                               std::memory_order = std::memory_order_seq_cst) {
    const T before = change("compare_exchange", [&] { return value_ == expected ? desired : value_; });
    return before == std::exchange(expected, before);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order = std::memory_order_seq_cst,
                             std::memory_order = std::memory_order_seq_cst) {
    return compare_exchange_strong(expected, desired);
  }
  T fetch_add(T value, std::memory_order = std::memory_order_seq_cst) requires std::integral<T> {
    return change("fetch_add", [&] { return static_cast<T>(value_ + value); });
  }
  T fetch_sub(T value, std::memory_order = std::memory_order_seq_cst) requires std::integral<T> {
    return change("fetch_sub", [&] { return static_cast<T>(value_ - value); });
  }
  T fetch_or(T value, std::memory_order = std::memory_order_seq_cst) requires std::integral<T> {
    return change("fetch_or", [&] { return static_cast<T>(value_ | value); });
  }
  T operator=(T value) { return store(value), value; }
  operator T() const { return load(); }

 private:
  // Returns what was there.
  template <class Next>
  T change(const char* operation, Next next) {
    schedule::point(operation, this);
    const T before = std::exchange(value_, next());
    schedule::point_after(operation, this);
    return before;
  }

  T value_{};
  static_assert(sizeof(T) == sizeof(std::atomic<T>) && alignof(T) == alignof(std::atomic<T>));
};

}  // namespace glean::pool
