// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "base/error.hpp"
#include "topology/discover/discover.hpp"
#include "topology/discover/mounts.hpp"
#include "topology/discover/striping.hpp"

namespace glean::topology {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }

 private:
  int number_;
};

// A file in `directory` that has no name, or has lost it already; not open where nothing can be written there.
Descriptor nameless_file(const std::string& directory) {
  const int without_name = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (without_name >= 0) return Descriptor(without_name);
  std::string path = directory + "/.glean-doctor-XXXXXX";
  const int named = mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) unlink(path.c_str());
  return Descriptor(named);
}

// Some file systems take the flag and refuse the write.
bool writes_directly(const Descriptor& file, Bytes block_bytes) {
  const int flags = fcntl(file.number(), F_GETFL);
  if (flags < 0 || fcntl(file.number(), F_SETFL, flags | O_DIRECT) != 0) return false;
  const auto release = [](void* memory) { std::free(memory); };
  const std::unique_ptr<void, decltype(release)> block(std::aligned_alloc(block_bytes, block_bytes), release);
  if (!block) return false;
  std::fill_n(static_cast<char*>(block.get()), block_bytes, '\0');
  return pwrite(file.number(), block.get(), block_bytes, 0) == static_cast<ssize_t>(block_bytes);
}

// The targets of the one file system of Lustre that is mounted; where several are, it cannot be told which is meant.
int lustre_targets(const std::string& sys) {
  std::error_code ignored;
  int targets = 0, file_systems = 0;
  for (const auto& entry : std::filesystem::directory_iterator(sys + "/fs/lustre/lov", ignored)) {
    std::ifstream file(entry.path() / "numobd");
    if (file >> targets) ++file_systems;
  }
  return file_systems == 1 && targets > 0 ? targets : 1;
}

}  // namespace

Storage discover_storage(const std::string& directory, const Places& places) {
  std::error_code error;
  const std::string path = std::filesystem::canonical(directory, error).string();
  if (error) throw base::system_error(error.value(), "cannot look at '" + directory + "'");
  if (!std::filesystem::is_directory(path)) throw base::system_error(ENOTDIR, "cannot look at '" + directory + "'");

  Storage storage;
  storage.directory = path;
  std::ifstream mountinfo(places.proc + "/self/mountinfo");
  storage.file_system = file_system_of(mountinfo, path);
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) storage.block_bytes = static_cast<Bytes>(status.st_blksize);
  struct statvfs space {};
  if (statvfs(path.c_str(), &space) == 0) storage.available_bytes = Bytes{space.f_bavail} * space.f_frsize;

  if (storage.file_system == "lustre") {
    const Striping striping = discover_striping(path).value_or(Striping{});
    storage.stripe_count = striping.count;
    storage.stripe_bytes = striping.bytes;
    storage.targets = lustre_targets(places.sys);
  }

  const Descriptor file = nameless_file(path);
  storage.writable = file.is_open();
  // st_blksize is a preference and no power of two on some file systems; 4 KiB is aligned everywhere.
  storage.direct_io = file.is_open() && writes_directly(file, 4 * base::KiB);
  return storage;
}

}  // namespace glean::topology
