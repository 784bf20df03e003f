// SPDX-License-Identifier: BSD-3-Clause
//
// HDF5's results, identifiers and complaints.
#pragma once

#include <hdf5.h>

#include <string>
#include <utility>

namespace glean::store {

// Throws what the library has to say, behind `what`.
[[noreturn]] void fail_in_hdf5(const std::string& what);

// Its result, if it is not negative.
template <class Result>
Result check(Result result, const std::string& what) {
  if (result < 0) fail_in_hdf5(what);
  return result;
}

// While it lives, the library prints nothing of what fails.
class QuietErrors {
 public:
  QuietErrors();
  ~QuietErrors();
  QuietErrors(const QuietErrors&) = delete;
  QuietErrors& operator=(const QuietErrors&) = delete;

 private:
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

// An identifier, closed at its end.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle(hid_t id, Close how, const std::string& what) : id_(check(id, what)), close_(how) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }

  [[nodiscard]] hid_t id() const { return id_; }
  // Throws what closing says.
  void close(const std::string& what) { check(close_(std::exchange(id_, -1)), what); }

 private:
  hid_t id_;
  Close close_;
};

}  // namespace glean::store
