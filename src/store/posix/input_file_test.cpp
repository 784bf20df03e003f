// SPDX-License-Identifier: BSD-3-Clause
#include "store/posix/input_file.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "store/posix/fault_plan.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::store {

namespace {

class InputFiles : public testing::Test {
 protected:
  InputFile of(const std::string& content) {
    write_text(directory_ / "file", content);
    return InputFile(calls_, directory_ / "file");
  }
  static std::string text(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

  TemporaryDirectory directory_;
  FaultyCalls calls_;
};

TEST_F(InputFiles, AreReadWholeWhateverTheirLength) {
  for (const std::size_t size : {0, 1, 65535, 65536, 65537, 131072, 200000}) {
    std::string content;
    while (content.size() < size) content += static_cast<char>('a' + content.size() % 23);
    EXPECT_EQ(text(of(content).read_all()), content);
    EXPECT_EQ(of(content).bytes(), size);
  }
}

TEST_F(InputFiles, AreReadAfterInterruptions) {
  const InputFile file = of("abcdef");
  calls_.follow({on("pread").once().fails(EINTR)});
  std::vector<std::byte> bytes(4);
  EXPECT_EQ(file.read(bytes, 1), 4U);
  EXPECT_EQ(text(bytes), "bcde");
}

TEST_F(InputFiles, EndWhereTheyEnd) {
  const InputFile file = of("abcdef");
  std::vector<std::byte> bytes(4, std::byte{'x'});
  EXPECT_EQ(file.read(bytes, 4), 2U);
  EXPECT_EQ(text(bytes), "efxx");
  file.read_with_zeros(bytes, 5);
  EXPECT_EQ(text(bytes), std::string("f\0\0\0", 4));
}

TEST_F(InputFiles, SayWhatTheyAreNot) {
  EXPECT_THROW(InputFile(calls_, directory_ / "nothing"), base::Error);
  EXPECT_THROW(static_cast<void>(InputFile(calls_, directory_.string()).bytes()), base::Error);
  const InputFile file = of("abc");
  calls_.follow({on("pread").once().fails(EIO)});
  std::vector<std::byte> bytes(3);
  EXPECT_THROW(static_cast<void>(file.read(bytes, 0)), base::Error);
}

}  // namespace

}  // namespace glean::store
