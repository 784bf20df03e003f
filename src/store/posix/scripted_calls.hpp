// SPDX-License-Identifier: BSD-3-Clause
//
// System calls that are written down and fail when told to. For tests.
#pragma once

#include <cerrno>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "store/posix/system_calls.hpp"

namespace glean::store {

class ScriptedCalls : public SystemCalls {
 public:
  // Names of the calls in the order they were made: "open", "fsync", "rename", …
  std::vector<std::string> log;
  // What the next calls of that name return instead of being made, first to last.
  std::map<std::string, std::vector<int>> results;
  // Sees the result of write number `k` (from 0) and returns the one to use.
  std::function<ssize_t(std::size_t k, std::size_t size, ssize_t result)> on_write;
  std::size_t writes = 0;

  int open(const char* path, int flags, mode_t mode) override {
    return call("open", [&] { return SystemCalls::open(path, flags, mode); });
  }
  // Not in the log: reading changes nothing.
  ssize_t pread(int descriptor, void* data, std::size_t size, off_t offset) override {
    auto& scripted = results["pread"];
    if (scripted.empty()) return SystemCalls::pread(descriptor, data, size, offset);
    const int result = scripted.front();
    scripted.erase(scripted.begin());
    return result;
  }
  int fsync(int descriptor) override {
    return call("fsync", [&] { return SystemCalls::fsync(descriptor); });
  }
  int ftruncate(int descriptor, off_t size) override {
    return call("ftruncate", [&] { return SystemCalls::ftruncate(descriptor, size); });
  }
  int allocate(int descriptor, off_t offset, off_t size) override {
    return call("allocate", [&] { return SystemCalls::allocate(descriptor, offset, size); });
  }
  int rename(const char* from, const char* to) override {
    return call("rename", [&] { return SystemCalls::rename(from, to); });
  }
  int unlink(const char* path) override {
    return call("unlink", [&] { return SystemCalls::unlink(path); });
  }
  ssize_t result_of_write(int, std::size_t size, off_t, ssize_t result) override {
    log.emplace_back("write");
    const std::size_t k = writes++;
    return on_write ? on_write(k, size, result) : result;
  }

 private:
  template <class Call>
  int call(const std::string& name, const Call& make) {
    log.push_back(name);
    std::vector<int>& scripted = results[name];
    if (scripted.empty()) return make();
    const int result = scripted.front();
    scripted.erase(scripted.begin());
    return result;
  }
};

}  // namespace glean::store
