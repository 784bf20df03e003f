// SPDX-License-Identifier: BSD-3-Clause
#include "store/posix/replaceable.hpp"

#include <gtest/gtest.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "store/posix/temporary_directory.hpp"

namespace glean::store {
namespace {

// A file of user 5 and group 6, in a directory of theirs.
FileInPlace plain_file() {
  FileInPlace place{.user = 5, .group = 6};
  place.file.st_nlink = 1;
  place.file.st_uid = place.directory.st_uid = 5;
  place.file.st_gid = place.directory.st_gid = 6;
  place.directory.st_mode = S_IFDIR | 0755;
  return place;
}

std::string reason(const FileInPlace& place) { return trace_of_replacing(place).value_or("none"); }

TEST(TraceOfReplacing, IsNoneOfAPlainFile) { EXPECT_EQ(reason(plain_file()), "none"); }

TEST(TraceOfReplacing, IsWhatOtherNamesWouldStillShow) {
  FileInPlace place = plain_file();
  place.file.st_nlink = 2;
  EXPECT_EQ(reason(place), "it has other hard links");
}

TEST(TraceOfReplacing, IsAnotherOwnerOrGroup) {
  FileInPlace place = plain_file();
  place.file.st_uid = 7;
  EXPECT_EQ(reason(place), "it belongs to user 7");
  place.directory.st_mode |= S_ISVTX;
  EXPECT_EQ(reason(place), "it belongs to user 7, in a directory where only owners may replace files");
  place = plain_file();
  place.file.st_gid = 8;
  EXPECT_EQ(reason(place), "its group is 8, and that of new files 6");
}

TEST(TraceOfReplacing, IsNoneWhereTheDirectoryHandsItsGroupOn) {
  FileInPlace place = plain_file();
  place.directory.st_mode |= S_ISGID;
  place.file.st_gid = place.directory.st_gid = 8;
  EXPECT_EQ(reason(place), "none");
  place.file.st_gid = 6;
  EXPECT_EQ(reason(place), "its group is 6, and that of new files 8");
}

TEST(TraceOfReplacing, IsADirectoryThatCannotBeWritten) {
  FileInPlace place = plain_file();
  place.can_write_directory = false;
  EXPECT_EQ(reason(place), "its directory cannot be written");
}

TEST(TraceOfReplacing, IsAMountedFile) {
  FileInPlace place = plain_file();
  place.file.st_dev = 9;
  EXPECT_EQ(reason(place), "it is mounted in its directory");
}

TEST(TraceOfReplacing, IsAnAttributeThatANewFileWouldNotHave) {
  FileInPlace place = plain_file();
  place.attributes = place.of_new_file = {{"security.selinux", "a_label"}, {"system.posix_acl_access", "inherited"}};
  EXPECT_EQ(reason(place), "none");
  place.attributes["user.origin"] = "run 7";
  EXPECT_EQ(reason(place), "it has the extended attribute 'user.origin'");
  place.of_new_file["user.origin"] = "none yet";
  EXPECT_EQ(reason(place), "it has the extended attribute 'user.origin'");
}

TEST(TraceOfReplacing, IsAnAccessControlListOfItsOwnOrNone) {
  FileInPlace place = plain_file();
  place.attributes["system.posix_acl_access"] = "its own";
  EXPECT_EQ(reason(place), "it has an access control list of its own");
  place.of_new_file["system.posix_acl_access"] = "inherited";
  EXPECT_EQ(reason(place), "it has an access control list of its own");
  place.attributes.clear();
  EXPECT_EQ(reason(place), "it does not have the access control list of new files in its directory");
}

// --- Lustre's layouts

template <class Number>
void put(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// `objects`: which ones hold the data, other ones for each file.
std::string layout(std::uint32_t stripe_bytes, std::uint16_t stripes, const std::string& objects) {
  std::string bytes;
  put<std::uint32_t>(bytes, 0x0BD10BD0);
  put<std::uint32_t>(bytes, 1);
  bytes += objects.substr(0, 16) + std::string(16 - objects.size(), '\0');
  put(bytes, stripe_bytes);
  put(bytes, stripes);
  put<std::uint16_t>(bytes, static_cast<std::uint16_t>(objects.size()));
  return bytes + objects;
}

struct Component {
  std::uint64_t begin, end;
  std::string layout;
};

std::string composite(const std::vector<Component>& components) {
  std::string head, bodies;
  put<std::uint32_t>(head, 0x0BD60BD0);
  put<std::uint32_t>(head, 0);
  put<std::uint32_t>(head, static_cast<std::uint32_t>(components.front().layout.size()));   // changes
  put<std::uint16_t>(head, 0);
  put<std::uint16_t>(head, static_cast<std::uint16_t>(components.size()));
  head.resize(32);
  for (const Component& component : components) {
    put<std::uint32_t>(head, 1);
    put<std::uint32_t>(head, 0x10);
    put(head, component.begin);
    put(head, component.end);
    put(head, static_cast<std::uint32_t>(32 + 48 * components.size() + bodies.size()));
    put(head, static_cast<std::uint32_t>(component.layout.size()));
    head.resize(head.size() + 16);
    bodies += component.layout;
  }
  return head + bodies;
}

TEST(StripeLayout, IsTheSameOfFilesWithOtherObjects) {
  EXPECT_EQ(stripe_layout(layout(1 << 20, 4, "first")), stripe_layout(layout(1 << 20, 4, "second")));
  EXPECT_NE(stripe_layout(layout(1 << 20, 4, "first")), stripe_layout(layout(4 << 20, 4, "first")));
  EXPECT_NE(stripe_layout(layout(1 << 20, 4, "first")), stripe_layout(layout(1 << 20, 8, "first")));
}

TEST(StripeLayout, OfSeveralComponentsIsThatOfEach) {
  const auto of = [](std::uint64_t end, std::uint32_t stripe_bytes, const std::string& objects) {
    return stripe_layout(composite({{0, end, layout(1 << 20, 1, objects)}, {end, ~0ull, layout(stripe_bytes, 8, objects)}}));
  };
  EXPECT_EQ(of(1 << 26, 4 << 20, "first"), of(1 << 26, 4 << 20, "second one"));
  EXPECT_NE(of(1 << 26, 4 << 20, "first"), of(1 << 27, 4 << 20, "first"));
  EXPECT_NE(of(1 << 26, 4 << 20, "first"), of(1 << 26, 8 << 20, "first"));
}

TEST(StripeLayout, OfAnotherKindIsComparedAsItIs) {
  EXPECT_EQ(stripe_layout("something else"), "something else");
  EXPECT_EQ(stripe_layout(""), "");
  const std::string whole = composite({{0, ~0ull, layout(1 << 20, 1, "a")}});
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_NE(stripe_layout(whole.substr(0, size)), "damaged") << size;   // no crash
}

TEST(TraceOfReplacing, IsAStripeLayoutOfItsOwn) {
  FileInPlace place = plain_file();
  place.attributes["lustre.lov"] = layout(1 << 20, 4, "first");
  place.of_new_file["lustre.lov"] = layout(1 << 20, 4, "second");
  EXPECT_EQ(reason(place), "none");
  place.of_new_file["lustre.lov"] = layout(1 << 20, 1, "second");
  EXPECT_EQ(reason(place), "it is striped otherwise than new files of its directory");
}

// --- on a file system

class WhyWrittenInPlace : public testing::Test {
 protected:
  void SetUp() override { write_text(file_, "old"); }
  [[nodiscard]] std::string why() const { return why_written_in_place(file_).value_or("none"); }
  TemporaryDirectory directory_;
  std::string file_ = directory_ / "restart.bin";
};

// As the kernel keeps them: all users may read, and this user write.
std::string access_list(std::uint32_t user) {
  std::string bytes;
  put<std::uint32_t>(bytes, 2);
  const auto add = [&](std::uint16_t tag, std::uint16_t permissions, std::uint32_t id) {
    put(bytes, tag);
    put(bytes, permissions);
    put(bytes, id);
  };
  add(0x01, 6, ~0u);
  add(0x02, 6, user);
  add(0x04, 4, ~0u);
  add(0x10, 6, ~0u);
  add(0x20, 4, ~0u);
  return bytes;
}

bool set(const std::string& path, const char* name, const std::string& value) {
  return setxattr(path.c_str(), name, value.data(), value.size(), 0) == 0;
}

TEST_F(WhyWrittenInPlace, IsNothingForAPlainFileAndForNone) {
  EXPECT_EQ(why(), "none");
  EXPECT_EQ(why_written_in_place(directory_ / "not there"), std::nullopt);
}

TEST_F(WhyWrittenInPlace, IsThatTheFileHasAnotherName) {
  std::filesystem::create_hard_link(file_, directory_ / "restart.link");
  std::filesystem::create_symlink("restart.bin", directory_ / "latest");

  EXPECT_EQ(why(), "it has other hard links");
  EXPECT_EQ(why_written_in_place(directory_ / "latest"), "it has other hard links");
}

TEST_F(WhyWrittenInPlace, IsAnAttribute) {
  if (!set(file_, "user.origin", "run 7")) GTEST_SKIP() << "no attributes in " << directory_.string();

  EXPECT_EQ(why(), "it has the extended attribute 'user.origin'");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_.string()), {}), 1) << "something is left of looking";
}

TEST_F(WhyWrittenInPlace, IsAnAccessControlListThatTheDirectoryDoesNotHandOn) {
  if (!set(file_, "system.posix_acl_access", access_list(12345))) GTEST_SKIP() << "no access control lists in " << directory_.string();
  EXPECT_EQ(why(), "it has an access control list of its own");

  ASSERT_TRUE(set(directory_.string(), "system.posix_acl_default", access_list(12345)));
  EXPECT_EQ(why(), "none");
  write_text(directory_ / "another", "");
  ASSERT_EQ(chmod((directory_ / "another").c_str(), 0600), 0);
  EXPECT_EQ(why_written_in_place(directory_ / "another"), std::nullopt) << "a list that was inherited, with other permission bits";
  ASSERT_EQ(removexattr(file_.c_str(), "system.posix_acl_access"), 0);
  EXPECT_EQ(why(), "it does not have the access control list of new files in its directory");
}

TEST_F(WhyWrittenInPlace, IsADirectoryThatCannotBeWritten) {
  ASSERT_EQ(chmod(directory_.string().c_str(), 0555), 0);
  const bool root = geteuid() == 0;
  ASSERT_TRUE(!root || (chown(file_.c_str(), 65534, getegid()) == 0 && seteuid(65534) == 0));   // root may write anywhere
  const std::string found = why();
  ASSERT_TRUE(!root || seteuid(0) == 0);
  ASSERT_EQ(chmod(directory_.string().c_str(), 0755), 0);

  EXPECT_EQ(found, "its directory cannot be written");
}

TEST_F(WhyWrittenInPlace, IsAnotherOwnerOrGroup) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may give files away";
  ASSERT_EQ(chown(file_.c_str(), 0, 100), 0);
  EXPECT_EQ(why(), "its group is 100, and that of new files 0");
  ASSERT_EQ(chown(file_.c_str(), 1000, 100), 0);
  EXPECT_EQ(why(), "it belongs to user 1000");
}

}  // namespace
}  // namespace glean::store
