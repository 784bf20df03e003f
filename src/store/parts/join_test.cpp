// SPDX-License-Identifier: BSD-3-Clause
//
// Parts that are made one element at a time, and what they are joined to.
#include "store/parts/join.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/error.hpp"
#include "store/format/formats.hpp"
#include "store/posix/fault_plan.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::store {
namespace {

class Join : public testing::Test {
 protected:
  // `boxes` of each part and variable: all of them are put, every byte with a value of its own.
  void write_parts(const FileLayout& layout, std::uint64_t records, const std::vector<std::vector<std::vector<mesh::Box>>>& boxes) {
    const int count = static_cast<int>(boxes.size());
    expected_ = header(layout, records);
    for (const VariableLayout& variable : layout.variables) {
      if (variable.fill) put_everywhere(expected_, variable, records);
    }
    for (int part = 0; part < count; ++part) {
      std::string bytes = header(layout, records);
      for (std::size_t v = 0; v < layout.variables.size(); ++v) {
        for (const mesh::Box& box : boxes[static_cast<std::size_t>(part)][v]) {
          put(bytes, layout.variables[v], records, box);
          put(expected_, layout.variables[v], records, box);
        }
      }
      write_text(path(part, count), bytes);
      const PartIndex index{"the output", part, count, records, layout, boxes[static_cast<std::size_t>(part)]};
      write_text(index_path(path(part, count)), index.encode());
    }
  }
  static std::string header(const FileLayout& layout, std::uint64_t records) {
    std::string bytes(layout.header_bytes, 'h');
    bytes.replace(0, 4, layout.format == "cdf5" ? "CDF\5" : "CDF\1");
    for (const Patch& patch : Formats::to_finish().find(layout.format).finish({layout, {}}, {records, 0}).patches) {
      for (std::size_t i = 0; i < patch.bytes.size(); ++i) bytes[patch.offset + i] = static_cast<char>(patch.bytes[i]);
    }
    return bytes;
  }
  static void put_at(std::string& bytes, Bytes at, char value) {
    if (bytes.size() <= at) bytes.resize(at + 1);
    bytes[at] = value;
  }
  static void put_everywhere(std::string& bytes, const VariableLayout& variable, std::uint64_t records) {
    for (std::uint64_t record = 0; record < (variable.per_step() ? records : 1); ++record) {
      for (Bytes i = 0; i < variable.record_bytes(); ++i) {
        const std::byte value = variable.fill_value[i % mesh::size_of(variable.external)];
        put_at(bytes, variable.record_begin_bytes(record) + i, static_cast<char>(value));
      }
    }
  }
  static void put(std::string& bytes, const VariableLayout& variable, std::uint64_t records, const mesh::Box& box) {
    const mesh::Rows rows(box, variable.shape);
    const Bytes size = mesh::size_of(variable.external);
    for (std::uint64_t record = 0; record < (variable.per_step() ? records : 1); ++record) {
      for (std::uint64_t row = 0; row < rows.row_count(); ++row) {
        for (Bytes i = 0; i < rows.row_elements() * size; ++i) {
          const Bytes at = variable.record_begin_bytes(record) + rows.position(row) * size + i;
          put_at(bytes, at, static_cast<char>(at * 7 + at / 251 + 1));
        }
      }
    }
  }
  [[nodiscard]] std::string path(int part, int parts) const { return part_path(directory_ / "a.nc", part, parts); }
  // What joining says that it cannot.
  std::string refusal() {
    try {
      static_cast<void>(find_parts(calls_, directory_ / "a.nc"));
    } catch (const base::Error& error) {
      return error.what();
    }
    return "nothing";
  }
  void expect_refusal(const std::string& text) { EXPECT_NE(refusal().find(text), std::string::npos) << refusal() << ", not: " << text; }

  // Two parts of a line of eight.
  static FileLayout line() {
    FileLayout layout{.format = "cdf1", .header_bytes = 100, .variables = {}, .attributes = {}};
    layout.variables = {{"line", mesh::Type::int16, {8}, 200, 0, false, {}}};
    return layout;
  }
  void write_line() { write_parts(line(), 0, {{{{{0}, {4}}}}, {{{{4}, {4}}}}}); }

  SystemCalls calls_;
  TemporaryDirectory directory_;
  std::string expected_;
};

// Such as the indexes of an HDF5 file.
TEST_F(Join, TakesNothingThatLiesBehindTheRecordsOfAPart) {
  FileLayout layout{.format = "cdf1", .header_bytes = 100, .variables = {}, .attributes = {}};
  layout.variables = {{"line", mesh::Type::int16, {8}, 200, 16, false, {}}};
  write_parts(layout, 2, {{{{{0}, {4}}}}, {{{{4}, {4}}}}});
  auto found = find_parts(calls_, directory_ / "a.nc");
  found[1].records = 1;
  expected_.replace(200 + 16 + 8, 8, 8, '\0');

  const Joined joined = join(calls_, found, directory_ / "whole.nc");

  EXPECT_EQ(joined.records, 2U);
  EXPECT_EQ(read_text(joined.path), expected_);
}

TEST_F(Join, MakesTheWholeOfRandomParts) {
  std::mt19937 random(3);
  for (int n = 0; n < 60; ++n) {
    FileLayout layout{.format = n % 2 == 0 ? "cdf5" : "cdf1", .header_bytes = 64 + random() % 500, .variables = {}, .attributes = {}};
    const std::size_t parts = 1 + random() % 4;
    const std::uint64_t records = random() % 5;
    // Some are larger than a window.
    const std::uint64_t most = n % 10 == 0 ? 1500 : 12;
    Bytes end = layout.header_bytes + random() % 600, stride = 0;
    std::vector<std::vector<std::vector<mesh::Box>>> boxes(parts);
    const std::size_t variables = 1 + random() % 4, fixed = random() % (variables + 1);
    for (std::size_t v = 0; v < variables; ++v) {
      VariableLayout variable{"v" + std::to_string(v), static_cast<mesh::Type>(random() % 10), {}, end, 0, random() % 3 == 0, {}};
      for (std::byte& b : variable.fill_value) b = static_cast<std::byte>(random());
      for (std::size_t d = random() % 3; d-- > 0;) variable.shape.push_back(1 + random() % most);
      end += variable.record_bytes() + random() % 8;
      if (v >= fixed) stride += end - variable.begin_bytes;
      layout.variables.push_back(variable);
      // The whole in pieces along each dimension, of which some are in no part.
      std::vector<mesh::Box> pieces = {mesh::whole(variable.shape)};
      for (std::size_t d = 0; d < variable.shape.size(); ++d) {
        std::vector<mesh::Box> halves;
        for (mesh::Box box : pieces) {
          mesh::Box rest = box;
          box.count[d] = random() % (rest.count[d] + 1);
          rest.start[d] += box.count[d];
          rest.count[d] -= box.count[d];
          halves.push_back(box);
          halves.push_back(rest);
        }
        pieces = halves;
      }
      for (auto& of_part : boxes) of_part.emplace_back();
      for (const mesh::Box& box : pieces) {
        const std::size_t owner = random() % (parts + 1);
        if (owner < parts && !box.empty()) boxes[owner][v].push_back(box);
      }
    }
    for (std::size_t v = fixed; v < variables; ++v) layout.variables[v].record_stride_bytes = stride;
    SCOPED_TRACE(n);
    write_parts(layout, records, boxes);
    const auto found = find_parts(calls_, directory_ / "a.nc");
    const Joined joined = join(calls_, found, directory_ / "whole.nc");
    EXPECT_EQ(joined.records, records);
    ASSERT_TRUE(read_text(directory_ / "whole.nc") == expected_);
    EXPECT_EQ(joined.bytes, expected_.size());
    remove_parts(calls_, found);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_.string()), {}), 1);
  }
}

TEST_F(Join, NamesWhatIsMissing) {
  expect_refusal("there are no parts");
  write_line();
  std::filesystem::remove(path(1, 2));
  expect_refusal("a file is missing: '" + path(1, 2) + "'");
  std::filesystem::remove(index_path(path(0, 2)));
  expect_refusal("files are missing: '" + index_path(path(0, 2)) + "', '" + path(1, 2) + "'");
}

TEST_F(Join, RefusesAPartThatIsBeingReplaced) {
  write_line();
  const std::string working = choose_names(path(1, 2), base::Publish::rename, false, "job7").working_path;
  write_text(working, "");
  expect_refusal("'" + path(1, 2) + "' is just being written again");
  std::filesystem::remove(working);
  EXPECT_EQ(refusal(), "nothing");
}

TEST_F(Join, RefusesPartsThatDoNotFitTogether) {
  write_line();
  write_text(path(0, 4), "");
  expect_refusal("of 2 and of 4 files");
  std::filesystem::remove(path(0, 4));

  std::string other = read_text(path(1, 2));
  other[50] = 'x';
  write_text(path(1, 2), other);
  expect_refusal("their headers differ");
  write_text(path(1, 2), other.substr(0, 50));
  expect_refusal("is not the file that its index is about");

  write_line();
  PartIndex index = read_index(calls_, path(1, 2));
  index.output = "another";
  write_text(index_path(path(1, 2)), index.encode());
  expect_refusal("one is of the output, the other of another");
  write_text(index_path(path(1, 2)), read_text(index_path(path(0, 2))));
  expect_refusal("has the index of part 0 of 2");
  write_text(index_path(path(1, 2)), "{}");
  expect_refusal("the index is damaged");
}

TEST_F(Join, RefusesWhatTwoPartsHave) {
  write_parts(line(), 0, {{{{{0}, {5}}}}, {{{{4}, {4}}}}});
  expect_refusal("both have a part of variable 'line': [0:5] and [4:8]");
}

// A rank has put nothing in the last step, or nothing at all.
TEST_F(Join, HasAsManyRecordsAsThePartThatHasMost) {
  FileLayout layout = line();
  layout.variables[0].record_stride_bytes = 16;
  write_parts(layout, 3, {{{{{0}, {4}}}}, {{{{4}, {4}}}}});
  write_text(path(0, 2), header(layout, 0));
  for (Bytes record = 0; record < 3; ++record) expected_.replace(200 + 16 * record, 8, 8, '\0');

  EXPECT_EQ(join(calls_, find_parts(calls_, directory_ / "a.nc"), directory_ / "whole.nc").records, 3U);

  EXPECT_EQ(read_text(directory_ / "whole.nc"), expected_);
}

// The job was killed when one part had ended a step more than the other.
TEST_F(Join, LeavesOutWhatNotAllPartsHaveEnded) {
  FileLayout layout = line();
  layout.variables.push_back({"record", mesh::Type::int8, {8}, 216, 8, true, {std::byte{'f'}}});
  const std::vector<std::vector<std::vector<mesh::Box>>> boxes = {{{{{0}, {4}}}, {{{0}, {3}}}}, {{{{4}, {4}}}, {{{3}, {4}}}}};
  write_parts(layout, 2, boxes);
  const std::string expected = expected_;
  write_parts(layout, 3, boxes);
  PartIndex index = read_index(calls_, path(1, 2));
  index.steps = 2;
  write_text(index_path(path(1, 2)), index.encode());

  const Joined joined = join(calls_, find_parts(calls_, directory_ / "a.nc"), directory_ / "whole.nc");

  EXPECT_EQ(joined.records, 2U);
  EXPECT_EQ(joined.steps_left_out, 1U);
  EXPECT_EQ(read_text(directory_ / "whole.nc"), expected);
  index.steps.reset();
  write_text(index_path(path(1, 2)), index.encode());
  expect_refusal("not complete");
}

TEST_F(Join, ReplacesWhatIsThereAndLeavesNothingElseBehind) {
  write_line();
  const auto parts = find_parts(calls_, directory_ / "a.nc");
  write_text(directory_ / "whole.nc", "before");
  for (const char* call : {"open", "ftruncate", "pread", "fsync", "rename"}) {
    FaultyCalls failing({on(call).once().fails(EIO)});
    EXPECT_THROW(static_cast<void>(join(failing, parts, directory_ / "whole.nc")), base::Error) << call;
    EXPECT_EQ(read_text(directory_ / "whole.nc"), "before") << call;
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_.string()), {}), 5) << call;
  }
  static_cast<void>(join(calls_, parts, directory_ / "whole.nc"));
  EXPECT_EQ(read_text(directory_ / "whole.nc"), expected_);
}

}  // namespace
}  // namespace glean::store
