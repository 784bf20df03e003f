// SPDX-License-Identifier: BSD-3-Clause
//
// Recovers a pool that something has happened to. It must come to an end, touch nothing but the files of the outputs, and
// publish no output that a look at the pool has found to be damaged.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "base/log.hpp"
#include "damage.hpp"
#include "service/recovery.hpp"

namespace glean::fuzz {
namespace {

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::abort();
}

class SharedImage {
 public:
  explicit SharedImage(const std::vector<std::byte>& bytes) : name_("/glean-fuzz." + std::to_string(getpid())) {
    shm_unlink(name_.c_str());
    const int descriptor = shm_open(name_.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
    if (descriptor < 0 || write(descriptor, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
      stop("no shared memory");
    }
    close(descriptor);
  }
  ~SharedImage() { shm_unlink(name_.c_str()); }
  SharedImage(const SharedImage&) = delete;
  SharedImage& operator=(const SharedImage&) = delete;
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
};

void recover(const Damaged& damaged) {
  const SharedImage pool(damaged.image);
  const service::Remains remains = service::look_at(pool.name());
  MemoryStorage storage(damaged.scene->descriptions(), damaged.scene->file_bytes, damaged.fault);
  int seconds = 0;
  try {
    static_cast<void>(service::recover(pool.name(), storage, [&] {
      if (++seconds == 10) stop("recovery does not end");
    }));
  } catch (const base::Error&) {
    if (remains.problem.empty()) stop("what can be looked at cannot be recovered");
  }
  if (!remains.problem.empty() && remains.outputs.empty()) {
    for (const auto& output : damaged.scene->outputs) {
      if (storage.has_published(output.description.names.final_path)) stop("published from a pool that cannot be read");
    }
  }
  for (const auto& output : remains.outputs) {
    const bool expected = damaged.is_sound && output.problem.empty();
    if (expected && !storage.has_published(output.final_path)) stop("not published, though nothing has happened to it");
    if (!output.problem.empty() && storage.has_published(output.final_path)) stop("published in spite of: " + output.problem);
  }
}

}  // namespace
}  // namespace glean::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  glean::base::set_log_level(glean::base::LogLevel::error);   // warnings of what was done to it are to be expected
  glean::fuzz::recover(glean::fuzz::damaged({data, size}));
  return 0;
}
