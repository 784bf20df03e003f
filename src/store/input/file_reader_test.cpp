// SPDX-License-Identifier: BSD-3-Clause
//
// What is read is what lies at the places that the contents name; tests/netcdf compares with PnetCDF.
#include "store/input/file_reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <numeric>

#include "base/test_error.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::store {
namespace {

class CountingCalls : public SystemCalls {
 public:
  ssize_t pread(int descriptor, void* data, std::size_t size, off_t offset) override {
    ++reads;
    return SystemCalls::pread(descriptor, data, size, offset);
  }
  int will_need(int /*descriptor*/, off_t offset, off_t size) override {
    needed.push_back({static_cast<Bytes>(offset), static_cast<Bytes>(offset + size)});
    return 0;
  }
  int reads = 0;
  std::vector<base::Extent> needed;
};

class FileReading : public testing::Test {
 protected:
  // A file of 32-bit integers 0, 1, 2, …
  FileReading() {
    std::vector<std::int32_t> numbers(1000);
    std::iota(numbers.begin(), numbers.end(), 0);
    std::ofstream(path_, std::ios::binary).write(reinterpret_cast<const char*>(numbers.data()), 4000);
    variable_.name = "v";
    variable_.external = mesh::Type::int32;
    variable_.stored.order = std::endian::native == std::endian::big ? ByteOrder::big : ByteOrder::little;
  }
  FileReader reader(Bytes window_bytes = base::MiB) {
    return {calls_, path_, [&](const InputFile&, const std::string&) { return FileContents{2, {variable_}, {}, {}, false}; }, window_bytes};
  }
  template <class T>
  std::vector<T> read(const FileReader& from, std::uint64_t record, const mesh::Box& box, mesh::Type memory) {
    std::vector<T> values(box.elements());
    from.read(0, record, box, memory, reinterpret_cast<std::byte*>(values.data()));
    return values;
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "a";
  FileContents::Variable variable_;
  CountingCalls calls_;
};

// What a call throws has this code and says this.
template <class Call>
void expect_error(Call call, base::Errc code, const std::string& part) {
  const base::Error error = base::error_of([&] {
    call();
    return 0;
  });
  EXPECT_EQ(error.code(), code) << error.what();
  EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
}

TEST_F(FileReading, ReadsRowsThatAreCloseTogetherAtOnce) {
  variable_.shape = {10, 10};
  variable_.begin_bytes = 400;
  const FileReader from = reader();

  const auto values = read<std::int32_t>(from, 0, {{2, 3}, {3, 2}}, mesh::Type::int32);

  EXPECT_EQ(values, (std::vector<std::int32_t>{123, 124, 133, 134, 143, 144}));
  EXPECT_EQ(calls_.reads, 1);
}

TEST_F(FileReading, AsksTheStorageOnceForRowsThatItReadsOneByOne) {
  variable_.shape = {4, 10000};   // the file ends in the first row
  const FileReader from = reader();

  const auto values = read<std::int32_t>(from, 0, {{0, 990}, {3, 2}}, mesh::Type::int32);

  EXPECT_EQ(values, (std::vector<std::int32_t>{990, 991, 0, 0, 0, 0}));
  EXPECT_EQ(calls_.reads, 3);
  EXPECT_EQ(calls_.needed, (std::vector<base::Extent>{{3960, 3960 + 80008}}));
}

TEST_F(FileReading, AsksForNothingThatItReadsAtOnce) {
  variable_.shape = {10, 10};

  read<std::int32_t>(reader(), 0, {{0, 0}, {10, 10}}, mesh::Type::int32);
  read<std::int32_t>(reader(), 0, {{0, 3}, {10, 2}}, mesh::Type::int32);

  EXPECT_TRUE(calls_.needed.empty());
}

TEST_F(FileReading, AsksForALongRowAheadAndForNothingBehindIt) {
  variable_.shape = {2, 1000000};
  std::vector<std::int32_t> values(1000000);

  reader(256 * base::KiB).read(0, 0, {{0, 0}, {1, 1000000}}, mesh::Type::int32, reinterpret_cast<std::byte*>(values.data()));

  Bytes end = 0;
  for (const base::Extent& extent : calls_.needed) {
    EXPECT_LE(extent.begin, end);
    end = std::max(end, extent.end);
  }
  EXPECT_EQ(end, 4000000U);
  EXPECT_EQ(values[999], 999);
}

TEST_F(FileReading, LeavesVeryLongRowsToTheKernel) {
  variable_.shape = {3000000};
  std::vector<std::int32_t> values(3000000);

  reader(256 * base::KiB).read(0, 0, {{0}, {3000000}}, mesh::Type::int32, reinterpret_cast<std::byte*>(values.data()));

  EXPECT_TRUE(calls_.needed.empty());
}

TEST_F(FileReading, ReadsInPartsWhatItReadsAtOnce) {
  variable_.shape = {10, 10};
  const mesh::Box box{{1, 1}, {8, 7}};
  const auto expected = read<double>(reader(), 0, box, mesh::Type::float64);

  for (const Bytes window : {4U, 8U, 28U, 60U, 100U}) EXPECT_EQ(read<double>(reader(window), 0, box, mesh::Type::float64), expected);
}

TEST_F(FileReading, FindsRecordsByTheirStride) {
  variable_.shape = {4};
  variable_.per_step = true;
  variable_.records = 2;
  variable_.begin_bytes = 40;
  variable_.record_stride_bytes = 80;
  const FileReader from = reader();

  EXPECT_EQ(read<std::int32_t>(from, 1, {{1}, {2}}, mesh::Type::int32), (std::vector<std::int32_t>{31, 32}));
  expect_error([&] { read<std::int32_t>(from, 2, {{1}, {2}}, mesh::Type::int32); }, base::Errc::not_found, "has no step 2");
}

TEST_F(FileReading, GivesZerosBehindTheEnd) {
  variable_.shape = {1002};

  EXPECT_EQ(read<std::int32_t>(reader(), 0, {{998}, {4}}, mesh::Type::int32), (std::vector<std::int32_t>{998, 999, 0, 0}));
}

TEST_F(FileReading, RefusesWhatCannotBe) {
  variable_.shape = {1000};
  expect_error([&] { read<char>(reader(), 0, {{0}, {1}}, mesh::Type::text); }, base::Errc::invalid_argument, "int32 as text");
  expect_error([&] { read<std::int8_t>(reader(), 0, {{127}, {2}}, mesh::Type::int8); }, base::Errc::out_of_range, "1 of 2 values");
}

TEST_F(FileReading, LetsALibraryReadWhatOnlyThatCan) {
  variable_.shape = {10, 10};
  variable_.by_library = {"v"};
  const auto inspect = [&](const InputFile&, const std::string&) { return FileContents{2, {variable_}, {}, {}, false}; };
  mesh::Box asked;
  FileReader from(calls_, path_, inspect);
  expect_error([&] { read<double>(from, 0, {{1, 1}, {1, 2}}, mesh::Type::float64); }, base::Errc::unsupported, "only the library");
  from.let_library_read([&](const InputFile&, const FileContents::Variable&, std::uint64_t, const mesh::Box& box, std::byte* values) {
    asked = box;
    const std::int32_t numbers[] = {7, 300};
    std::memcpy(values, numbers, sizeof numbers);
  });
  const mesh::Box box{{1, 1}, {1, 2}};

  EXPECT_EQ(read<std::int32_t>(from, 0, box, mesh::Type::int32), (std::vector<std::int32_t>{7, 300}));
  EXPECT_EQ(asked, box);
  EXPECT_EQ(read<double>(from, 0, box, mesh::Type::float64), (std::vector<double>{7, 300}));
  expect_error([&] { read<std::int8_t>(from, 0, box, mesh::Type::int8); }, base::Errc::out_of_range, "1 of 2 values");
}

TEST_F(FileReading, SaysWhatNoTypeCanHold) {
  const FileContents contents{
      0, {variable_}, {}, {{-1, false, "w", "it has references", "h5py"}, {0, true, "a", "it has 2 texts", "h5py"}}, false};
  const FileReader from(calls_, path_, [&](const InputFile&, const std::string&) { return contents; });

  EXPECT_EQ(from.find("v"), 0);
  expect_error([&] { static_cast<void>(from.find("w")); }, base::Errc::unsupported, "it has references");
  expect_error([&] { static_cast<void>(from.find("a")); }, base::Errc::not_found, "no variable 'a'");
  expect_error([&] { static_cast<void>(from.attribute_elements(0, "a")); }, base::Errc::unsupported, "it has 2 texts");
  expect_error([&] { static_cast<void>(from.attribute_elements(-1, "a")); }, base::Errc::not_found, "no attribute 'a'");
}

TEST(FileContents, ComeBackFromBytes) {
  FileContents contents;
  contents.records = 3;
  contents.counts_records_last = true;
  contents.variables.push_back({"a/b", mesh::Type::text, true, {2, 3}, 3, 512, 64, {ByteOrder::big, true}, {"t", "y", "x"}, {"a", "b"}});
  contents.attributes.push_back({0, "units", mesh::Type::text, {std::byte{'m'}}});
  contents.attributes.push_back({-1, "nothing", mesh::Type::int32, {}});
  contents.unreadable.push_back({0, true, "texts", "it has 2 texts", "h5py reads it"});
  std::vector<std::byte> bytes = contents.encode();

  EXPECT_EQ(FileContents::decode(bytes), contents);
  bytes.pop_back();
  expect_error([&] { static_cast<void>(FileContents::decode(bytes)); }, base::Errc::io, "the contents of a file");
}

}  // namespace
}  // namespace glean::store
