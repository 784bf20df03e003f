// SPDX-License-Identifier: BSD-3-Clause
#include "wire/key.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "wire/private_file.hpp"
#include "wire/test_bytes.hpp"

namespace glean::wire {
namespace {

class KeyFile : public testing::Test {
 protected:
  KeyFile() { unsetenv(key_variable); }
  ~KeyFile() override {
    unsetenv(key_variable);
    std::filesystem::remove_all(directory_);
  }
  KeyFile(const KeyFile&) = delete;
  KeyFile& operator=(const KeyFile&) = delete;
  void write(const std::string& text) {
    std::ofstream(path_) << text;
    chmod(path_.c_str(), 0600);
  }
  [[nodiscard]] base::Error problem() const {
    return error_of([&] { return find_key(path_); });
  }

  std::string directory_ = [] {
    std::string name = testing::TempDir() + "glean-key-XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    return name;
  }();
  std::string path_ = directory_ + "/key";
};

TEST_F(KeyFile, IsMadeOnceForItsOwner) {
  const auto before = umask(0);
  const Key key = make_key_file(path_);
  umask(before);
  struct stat status {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  EXPECT_EQ(find_key(path_), key);
  EXPECT_EQ(error_of([&] { return make_key_file(path_); }).code(), base::Errc::exists);
  EXPECT_EQ(find_key(path_), key);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1);   // nothing temporary is left
}

TEST_F(KeyFile, IsRefusedIfOthersMayUseIt) {
  make_key_file(path_);
  for (const mode_t mode : {0640, 0604, 0620, 0610}) {
    chmod(path_.c_str(), mode);
    EXPECT_EQ(problem().code(), base::Errc::permission);
    EXPECT_NE(problem().hint().find("chmod 600"), std::string::npos);
  }
  chmod(path_.c_str(), 0400);
  EXPECT_STREQ(problem().what(), "no error");
}

TEST_F(KeyFile, IsRefusedIfItIsNone) {
  EXPECT_EQ(problem().code(), base::Errc::not_found);
  EXPECT_NE(problem().hint().find(key_variable), std::string::npos);
  const std::string digits = to_hex(make_key());
  for (const std::string& text : {std::string(), digits.substr(1), digits + "0", "x" + digits.substr(1), digits + " " + digits}) {
    write(text);
    EXPECT_EQ(problem().code(), base::Errc::invalid_argument) << text;
    EXPECT_EQ(std::string(problem().what()).find(digits.substr(1)), std::string::npos);   // logs keep no keys
  }
  write(std::string(1000, '0'));
  EXPECT_EQ(problem().code(), base::Errc::invalid_argument);
  std::filesystem::remove(path_);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(problem().code(), base::Errc::invalid_argument);
}

TEST_F(KeyFile, GivesWayToTheEnvironment) {
  const Key key = make_key();
  setenv(key_variable, (" " + to_hex(key) + "\n").c_str(), 1);
  EXPECT_EQ(find_key(path_), key);
  make_key_file(path_);
  EXPECT_EQ(find_key(path_), key);
  setenv(key_variable, "secret", 1);
  EXPECT_EQ(problem().code(), base::Errc::invalid_argument);
  EXPECT_STREQ(problem().what(), "GLEAN_STAGE_KEY is no key: a key is 64 hexadecimal digits");
}

TEST_F(KeyFile, IsReplacedAllAtOnce) {
  write_private_file(path_, "old", IfItExists::is_replaced);
  write_private_file(path_, "new", IfItExists::is_replaced);
  EXPECT_EQ(read_private_file(path_, "the file", 10, ""), "new");
  EXPECT_EQ(error_of([&] { return write_private_file(directory_ + "/none/key", "", IfItExists::is_replaced), 0; }).code(),
            base::Errc::not_found);
}

}  // namespace
}  // namespace glean::wire
