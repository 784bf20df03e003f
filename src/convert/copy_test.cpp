// SPDX-License-Identifier: BSD-3-Clause
#include "convert/copy.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <fstream>

#include "base/error.hpp"
#include "store/format/cdf/test_header.hpp"
#include "store/posix/fault_plan.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::convert {
namespace {

constexpr std::uint64_t count = 3 * base::MiB + 5;   // doubles: three windows, and a part of one

double value_of(std::uint64_t element) { return static_cast<double>(element) + 0.25; }

class CopyTest : public ::testing::TestWithParam<base::DirectIo> {
 protected:
  CopyTest() {
    mesh::Definitions definitions;
    definitions.dimensions = {{"x", count, false}, {"y", count, false}};
    definitions.variables = {{"values", mesh::Type::float64, {0}}, {"not_put", mesh::Type::float64, {1}}};
    const store::TestCdfHeader header(store::CdfVersion::cdf5, definitions, 0);
    std::vector<char> bytes(count * sizeof(double));
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t big = __builtin_bswap64(std::bit_cast<std::uint64_t>(value_of(i)));
      std::memcpy(bytes.data() + i * sizeof big, &big, sizeof big);
    }
    std::ofstream file(directory_ / "a.nc", std::ios::binary);
    file.write(reinterpret_cast<const char*>(header.bytes().data()), static_cast<std::streamsize>(header.bytes().size()));
    file.seekp(static_cast<std::streamoff>(header.begin(0)));
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    EXPECT_EQ(truncate((directory_ / "a.nc").c_str(), static_cast<off_t>(header.end(0))), 0);
    store::write_text(target(), "");
  }

  [[nodiscard]] std::string target() const { return directory_ / "a.h5"; }
  Copied copy(store::SystemCalls& calls, const std::vector<ElementCopy>& copies) {
    Source source(calls, directory_ / "a.nc");
    store::File file(calls, {target(), target()}, GetParam());
    Copier copier(calls, source, file);
    for (const ElementCopy& each : copies) copier.copy(each);
    copier.finish();
    return copier.copied();
  }
  template <class T>
  [[nodiscard]] T found(Bytes offset) const {
    std::ifstream file(target(), std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    T value{};
    file.read(reinterpret_cast<char*>(&value), sizeof value);
    EXPECT_TRUE(file) << offset;
    return value;
  }

  store::TemporaryDirectory directory_;
  store::SystemCalls calls_;
};

constexpr std::uint64_t steps = 4099;   // of a comparison: a prime number, so that all places in blocks are looked at

TEST_P(CopyTest, PutsElementsWhereTheyBelongWhereverTheirWindowsEnd) {
  for (const Bytes offset : {Bytes{0}, Bytes{4096}, Bytes{2048 + 8}, Bytes{1003}}) {
    const Copied copied = copy(calls_, {{.count = count, .offset = offset}});

    EXPECT_EQ(copied.written, count * sizeof(double));
    for (std::uint64_t i = 0; i < count; i += steps) ASSERT_EQ(found<double>(offset + i * sizeof(double)), value_of(i)) << offset;
    EXPECT_EQ(found<double>(offset + (count - 1) * sizeof(double)), value_of(count - 1));
  }
}

TEST_P(CopyTest, PutsBlocksInAnotherOrderOneBehindTheOther) {
  constexpr std::uint64_t block = 5000;
  std::vector<ElementCopy> copies;
  for (std::uint64_t i = 0; i < count / block; ++i) {
    copies.push_back({.first = (count / block - 1 - i) * block, .count = block, .offset = 8 + i * block * sizeof(double)});
  }

  copy(calls_, copies);

  for (std::uint64_t i = 0; i < count / block * block; i += steps) {
    const std::uint64_t element = (count / block - 1 - i / block) * block + i % block;
    ASSERT_EQ(found<double>(8 + i * sizeof(double)), value_of(element)) << i;
  }
}

TEST_P(CopyTest, NarrowsAndLeavesHolesAsTheyAre) {
  const Bytes second = count * sizeof(float), third = second + count * sizeof(double);

  const Copied copied = copy(calls_, {{.count = count, .offset = 0, .external = mesh::Type::float32},
                                      {.variable = 1, .first = 4096, .count = count - 4096, .offset = second},
                                      {.first = 7, .count = 1, .offset = third}});

  EXPECT_EQ(copied.written, count * sizeof(float) + sizeof(double));
  for (std::uint64_t i = 0; i < count; i += steps) ASSERT_EQ(found<float>(i * sizeof(float)), static_cast<float>(value_of(i)));
  EXPECT_EQ(found<double>(second + count * 4), 0);
  EXPECT_EQ(found<double>(third), value_of(7));
}

TEST_P(CopyTest, ThrowsTheErrorOfEachWriteAndContinuesThoseThatFallShort) {
  store::FaultyCalls calls;
  for (std::size_t k = 0;; ++k) {
    calls.follow({store::on("write").number(k).fails(ENOSPC)});
    try {
      copy(calls, {{.count = count, .offset = 512}});
      EXPECT_GE(k, 4U);
      break;
    } catch (const base::Error& error) {
      EXPECT_EQ(error.code(), base::Errc::no_space) << k << ": " << error.what();
    }
  }
  calls.follow({store::on("write").before_number(9).falls_short(4096)});
  copy(calls, {{.count = count, .offset = 512}});
  for (std::uint64_t i = 0; i < count; i += steps) ASSERT_EQ(found<double>(512 + i * sizeof(double)), value_of(i));
}

TEST_P(CopyTest, ReadsThroughTheCacheWhatCannotBeReadPastItAndThrowsTheErrorOfEachRead) {
  store::FaultyCalls calls;
  for (const int refusal : {EINVAL, EINTR}) {
    calls.follow({store::on("pread").number(2).fails(refusal)});
    copy(calls, {{.first = 3, .count = count - 3, .offset = 512}});
    for (std::uint64_t i = 3; i < count; i += steps) ASSERT_EQ(found<double>(512 + (i - 3) * sizeof(double)), value_of(i)) << refusal;
  }
  const std::size_t last = GetParam() == base::DirectIo::off ? 2 : 3;   // behind those of the source and the target
  calls.follow({store::on("open").number(last).fails(EINVAL)});
  copy(calls, {{.count = count, .offset = 512}});
  for (std::uint64_t i = 0; i < count; i += steps) ASSERT_EQ(found<double>(512 + i * sizeof(double)), value_of(i));
  EXPECT_EQ(calls.count("open"), last + 1);
  for (std::size_t k = 1; k < 4; ++k) {
    calls.follow({store::on("pread").number(k).fails(EIO)});
    EXPECT_THROW(copy(calls, {{.count = count, .offset = 512}}), base::Error) << k;
  }
}

INSTANTIATE_TEST_SUITE_P(Copier, CopyTest, ::testing::Values(base::DirectIo::automatic, base::DirectIo::off),
                         [](const auto& way) { return way.param == base::DirectIo::off ? "ThroughTheCache" : "PastTheCache"; });

}  // namespace
}  // namespace glean::convert
