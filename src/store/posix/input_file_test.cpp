// SPDX-License-Identifier: BSD-3-Clause
#include "store/posix/input_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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

// In memory, as if it came from another host.
class TextSource : public FileSource {
 public:
  explicit TextSource(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] base::Bytes bytes() const override { return text_.size(); }
  [[nodiscard]] std::size_t read_at(std::span<std::byte> into, base::Bytes offset) const override {
    const std::string part = offset < text_.size() ? text_.substr(offset, into.size()) : "";
    std::transform(part.begin(), part.end(), into.begin(), [](char c) { return static_cast<std::byte>(c); });
    return part.size();
  }

 private:
  std::string text_;
};

TEST_F(InputFiles, AreReadInTheSameWayWhereTheyAreSomewhereElse) {
  const std::string content = std::string(base::MiB, 'a') + std::string(100, 'b');
  InputFile file(std::make_unique<TextSource>(content));
  EXPECT_EQ(file.bytes(), content.size());
  EXPECT_EQ(text(file.read_all()), content);
  std::vector<std::byte> bytes(4, std::byte{'x'});
  EXPECT_EQ(file.read(bytes, content.size() - 2), 2U);
  EXPECT_EQ(text(bytes), "bbxx");
  file.read_with_zeros(bytes, content.size() - 1);
  EXPECT_EQ(text(bytes), std::string("b\0\0\0", 4));
  std::vector<std::byte> blocks(2 * base::MiB);
  EXPECT_EQ(text(file.read_once({1, content.size()}, blocks)), content.substr(1));
  EXPECT_FALSE(file.is_hole({0, 4096}));
}

}  // namespace

}  // namespace glean::store
