// SPDX-License-Identifier: BSD-3-Clause
#include "pool/huge_pages.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace glean::pool {
namespace {

using base::Bytes;

class SharedMemory : public testing::Test {
 protected:
  SharedMemory() {
    EXPECT_GE(descriptor_, 0);
    EXPECT_EQ(ftruncate(descriptor_, bytes), 0);
    shm_unlink(name_.c_str());
  }
  ~SharedMemory() override {
    if (memory_ != nullptr) munmap(memory_, bytes);
    close(descriptor_);
  }
  [[nodiscard]] Bytes present() const {
    struct stat status {};
    fstat(descriptor_, &status);
    return static_cast<Bytes>(status.st_blocks) * 512;
  }

  static constexpr Bytes bytes = 7 * base::MiB + 100;   // not whole pages of any size
  std::string name_ = "/huge-pages-test." + std::to_string(getpid());
  int descriptor_ = shm_open(name_.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
  std::byte* memory_ = map_for_huge_pages(descriptor_, bytes, PROT_READ | PROT_WRITE);
};

TEST_F(SharedMemory, IsMappedWhereHugePagesCanBe) {
  ASSERT_NE(memory_, nullptr);

  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory_) % huge_page, 0);
}

TEST_F(SharedMemory, KeepsWhatIsInItAndGetsNoLonger) {
  ASSERT_EQ(posix_fallocate(descriptor_, 0, 3 * 4096), 0);
  std::memset(memory_, 'x', 3 * 4096);

  make_huge_pages(descriptor_, memory_, 0, bytes);

  EXPECT_EQ(std::string(reinterpret_cast<char*>(memory_), 3 * 4096), std::string(3 * 4096, 'x'));
  EXPECT_LE(present(), bytes / huge_page * huge_page);
  std::string found(2 * 4096, ' ');
  EXPECT_EQ(pread(descriptor_, found.data(), found.size(), 2 * 4096), static_cast<ssize_t>(found.size()));
  EXPECT_EQ(found, std::string(4096, 'x') + std::string(4096, '\0'));
}

TEST_F(SharedMemory, IsLeftAsItIsWhereNoHugePageFits) {
  make_huge_pages(descriptor_, memory_ + 6 * base::MiB, 6 * base::MiB, bytes);

  EXPECT_EQ(present(), 0);
}

TEST(HugePages, OfNoFileAreNone) {
  EXPECT_EQ(map_for_huge_pages(-1, base::MiB, PROT_READ), nullptr);
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace glean::pool
