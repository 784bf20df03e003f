// SPDX-License-Identifier: BSD-3-Clause
//
// Storage in memory, for a drain that may have been lied to: only the files of the outputs exist, it is small, it can fail,
// and it stops the program when anything else is touched.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "store/description.hpp"

namespace glean::fuzz {

using base::Bytes;

// What may go wrong: from call number `after` on, of all that write, all of them fail with `error`; or only that one.
struct StorageFault {
  int error = 0;   // 0: nothing fails
  int after = 0;
  bool lasting = false;
};

class MemoryStorage : public store::SystemCalls {
 public:
  // The working files of `outputs` are there, as long as their headers and `file_bytes` at least.
  explicit MemoryStorage(const std::vector<store::OutputDescription>& outputs, Bytes file_bytes = 0, StorageFault fault = {});
  ~MemoryStorage() override;
  MemoryStorage(const MemoryStorage&) = delete;
  MemoryStorage& operator=(const MemoryStorage&) = delete;

  [[nodiscard]] bool has_published(const std::string& final_path) const;

  int open(const char* path, int flags, mode_t mode) override;
  ssize_t pwrite(int descriptor, const void* data, std::size_t size, off_t offset) override;
  ssize_t pwritev(int descriptor, std::span<const iovec> segments, off_t offset) override;
  int fsync(int descriptor) override;
  int ftruncate(int descriptor, off_t size) override;
  int allocate(int descriptor, off_t offset, off_t size) override;
  int rename(const char* from, const char* to) override;
  int unlink(const char* path) override;
  ssize_t result_of_write(int descriptor, std::size_t size, off_t offset, ssize_t result) override;

 private:
  void expect_known(const std::string& path) const;
  [[nodiscard]] int failure();   // -errno, or 0

  StorageFault fault_;
  std::set<std::string> directories_;
  std::set<std::string> known_;
  std::map<std::string, std::string> final_of_;   // by working path
  mutable std::mutex mutex_;
  std::map<std::string, int> files_;
  std::set<std::string> published_;
  int calls_ = 0;
};

}  // namespace glean::fuzz
