// SPDX-License-Identifier: BSD-3-Clause
#include "store/parts/part_index.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "store/posix/fault_plan.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::store {
namespace {

PartIndex example_index() {
  PartIndex index{.output = "session 1 of user 2 at 3, output 4", .part = 1, .parts = 3, .steps = 7, .layout = {}, .boxes = {}};
  index.layout.format = "cdf2";
  index.layout.header_bytes = 212;
  index.layout.variables = {{"dens", mesh::Type::float32, {4, 16}, 512, 0, true, {std::byte{0x7c}, std::byte{0xf0}}},
                            {"time", mesh::Type::float64, {}, 1024, 24, false, {}},
                            {"line", mesh::Type::int16, {8}, 1032, 24, false, {}}};
  index.boxes = {{{{1, 0}, {1, 16}}, {{3, 4}, {1, 2}}}, {mesh::Box{}}, {}};
  return index;
}

std::string replaced(const std::string& text, const std::string& what, const std::string& by) {
  std::string result = text;
  return result.replace(result.find(what), what.size(), by);
}

TEST(PartIndex, SurvivesEncoding) {
  EXPECT_EQ(PartIndex::decode(example_index().encode()), example_index());
  PartIndex empty;   // without steps
  EXPECT_EQ(PartIndex::decode(empty.encode()), empty);
}

TEST(PartIndex, ThatCannotBeIsRefused) {
  const std::string sound = example_index().encode();
  for (std::size_t size = 0; size + 2 < sound.size(); ++size) {
    EXPECT_THROW(static_cast<void>(PartIndex::decode(sound.substr(0, size))), base::Error) << size;
  }
  const std::pair<std::string, std::string> wrong[] = {
      {"glean-part-index", "another"}, {"\"version\":2", "\"version\":1"}, {"\"part\":1", "\"part\":3"},
      {"\"part\":1", "\"part\":-1"},   {"\"big\"", "\"middle\""},         {"float32", "float16"},
      {"7cf00000", "7cf0"},            {"7cf00000", "7cf0000g"},           {"[[1,0],[1,16]]", "[[1,0],[1,17]]"},
      {"[[1,0],[1,16]]", "[[1],[1]]"}, {"[[1,0],[1,16]]", "[[1,0],[0,16]]"}, {"[[1,0],[1,16]]", "[[1,0]]"},
      {"[4,16]", "[4,9223372036854775807]"}, {"\"begin\":512", "\"begin\":18446744073709551615"}, {"\"begin\":512", "\"begin\":\"512\""},
      {"\"variables\":[", "\"variables\":[7,"}, {"[[],[]]", "[[],[],[]],[[1],[1]]"}, {"\"output\"", "\"input\""}};
  for (const auto& [what, by] : wrong) {
    ASSERT_NE(sound.find(what), std::string::npos) << what << " in " << sound;
    EXPECT_THROW(static_cast<void>(PartIndex::decode(replaced(sound, what, by))), base::Error) << by;
  }
}

TEST(PartPath, IsTakenApartAsItWasMade) {
  EXPECT_EQ(part_path("/a/chk.nc", 10, 128), "/a/chk.nc.10of128");
  EXPECT_EQ(parse_part_path("/a/chk.nc.10of128"), (PartName{"/a/chk.nc", 10, 128}));
  for (const char* other : {"chk.nc", "chk.nc.0of0", "chk.nc.2of2", "chk.nc.-1of2", "chk.nc.00of2", "chk.nc.0of2.index", "chk.nc.0of",
                            "chk.nc.of2", "chk.nc.0of 2", "0of2", "chk.nc.0of99999999999"}) {
    EXPECT_EQ(parse_part_path(other), std::nullopt) << other;
  }
}

class PartIndexOnDisk : public testing::Test {
 protected:
  SystemCalls calls_;
  TemporaryDirectory directory_;
  FileNames part_{directory_ / ".a.nc.1of3.working", directory_ / "a.nc.1of3"};
};

TEST_F(PartIndexOnDisk, AppearsWhenItsPartDoes) {
  prepare_index(calls_, part_, example_index());
  EXPECT_THROW(static_cast<void>(read_index(calls_, part_.final_path)), base::Error);
  EXPECT_EQ(read_index(calls_, part_.working_path), example_index());
  publish_index(calls_, part_, 9);
  publish_index(calls_, part_, 9);   // by another drain, since the first was killed before it could publish the part
  PartIndex expected = example_index();
  expected.steps = 9;
  EXPECT_EQ(read_index(calls_, part_.final_path), expected);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_.string()), {}), 1);
}

TEST_F(PartIndexOnDisk, StaysAsItWasWhenANewOneCannotBeWritten) {
  prepare_index(calls_, part_, example_index());
  for (const char* call : {"open", "fsync", "rename"}) {
    FaultyCalls failing({on(call).once().fails(EIO)});
    EXPECT_THROW(prepare_index(failing, part_, PartIndex{}), base::Error) << call;
    EXPECT_EQ(read_index(calls_, part_.working_path), example_index());
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_.string()), {}), 1) << call;
  }
}

TEST_F(PartIndexOnDisk, ThatWasPreparedInVainIsRemoved) {
  prepare_index(calls_, part_, example_index());
  discard_index(calls_, part_);
  discard_index(calls_, part_);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.string()));
  EXPECT_THROW(publish_index(calls_, part_, 1), base::Error);
}

}  // namespace
}  // namespace glean::store
