// SPDX-License-Identifier: BSD-3-Clause
#include "store/description.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace glean::store {
namespace {

OutputDescription example() {
  OutputDescription description{"chk_0001.nc", {"/data/.chk_0001.nc.part", "/data/chk_0001.nc"}, base::DirectIo::off, {}};
  description.layout.format = "cdf2";
  description.layout.header_bytes = 512;
  description.layout.variables.push_back({"dens", mesh::Type::float32, {4, 16, 16, 16}, 512, 0, false, {}});
  description.layout.variables.push_back({"time", mesh::Type::float64, {}, 66048, 8, true, {}});
  description.metadata = {{0, std::vector<std::byte>(512, std::byte{'h'})}};
  description.copies = {
      base::Semantics::flash,
      true,
      {{base::CopyFormat::vtkhdf, {}}, {base::CopyFormat::hdf5, {"dens", "pres"}}, {base::CopyFormat::netcdf, {}, "slice", {"slice z=1"}}}};
  description.definitions.emplace().dimensions = {{"x", 16, false}};
  description.share = {.machine = plan::plain_machine(3), .nodes = 3, .window_bytes = 16384, .request_bytes = 8192};
  return description;
}

// One of several files, written by three of four nodes.
OutputDescription part() {
  OutputDescription description = example();
  description.is_part = true;
  description.share.machine = plan::plain_machine(4);
  description.share.machine_nodes = {0, 2, 3};
  return description;
}

std::vector<std::byte> encoded(const OutputDescription& description) {
  auto bytes = description.encode_names();
  const auto layout = description.encode_layout();
  bytes.insert(bytes.end(), layout.begin(), layout.end());
  return bytes;
}

TEST(OutputDescription, SurvivesEncoding) {
  EXPECT_EQ(OutputDescription::decode(encoded(example())), example());
  EXPECT_EQ(OutputDescription::decode(encoded(OutputDescription{})), OutputDescription{});
  OutputDescription with_checksums = example();
  with_checksums.checksums = true;
  EXPECT_EQ(OutputDescription::decode(encoded(with_checksums)), with_checksums);
  EXPECT_NE(with_checksums, example());
  EXPECT_EQ(OutputDescription::decode(encoded(part())), part());
}

TEST(OutputDescription, WhoseNodesAreNotSomeOfTheMachineIsRefused) {
  using Nodes = std::vector<topology::NodeId>;
  for (const Nodes& wrong : {Nodes{0, 2}, Nodes{0, 2, 2}, Nodes{2, 0, 3}, Nodes{0, 2, 4}, Nodes{-1, 2, 3}, Nodes{0, 1, 2, 3}}) {
    OutputDescription description = part();
    description.share.machine_nodes = wrong;
    EXPECT_THROW(static_cast<void>(OutputDescription::decode(encoded(description))), base::Error) << wrong.size();
  }
}

TEST(OutputDescription, OnlyNamesOfOneDirectoryAreNames) {
  const auto accepted = [](const std::string& working, const std::string& final_path) {
    OutputDescription description = example();
    description.names = {working, final_path};
    try {
      static_cast<void>(OutputDescription::decode_names(description.encode_names()));
      return true;
    } catch (const base::Error&) {
      return false;
    }
  };

  EXPECT_TRUE(accepted("/data/.a.nc.part", "/data/a.nc"));
  EXPECT_FALSE(accepted("/data/.a.nc.part", "/other/a.nc"));
  EXPECT_FALSE(accepted("a.nc.part", "a.nc"));
  EXPECT_FALSE(accepted(std::string("/data/a\0b", 9), "/data/a.nc"));
}

TEST(OutputDescription, ItsNamesCanBeReadWithoutTheLayout) {
  const auto names = example().encode_names();
  OutputDescription expected = example();
  expected.layout = {};
  expected.metadata = {};
  expected.copies = {};
  expected.definitions.reset();
  expected.share = {};

  EXPECT_EQ(OutputDescription::decode_names(names), expected);
  for (std::size_t size = 0; size < names.size(); ++size) {
    EXPECT_THROW(static_cast<void>(OutputDescription::decode_names(std::span(names).first(size))), base::Error) << size;
  }
}

TEST(OutputDescription, ThatIsCutOrLongerThanItShouldBeIsRefused) {
  auto bytes = encoded(example());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(static_cast<void>(OutputDescription::decode(std::span(bytes).first(size))), base::Error) << size;
  }
  bytes.push_back(std::byte{0});
  EXPECT_THROW(static_cast<void>(OutputDescription::decode(bytes)), base::Error);
}

TEST(OutputDescription, ThatIsDamagedAnywhereIsRefused) {
  const auto sound = encoded(part());
  for (std::size_t at = 0; at < sound.size(); ++at) {
    for (const int damage : {0x01, 0x80, 0xff}) {
      auto bytes = sound;
      bytes[at] ^= static_cast<std::byte>(damage);

      EXPECT_THROW(static_cast<void>(OutputDescription::decode(bytes)), base::Error) << "byte " << at << " " << damage;
    }
  }
}

}  // namespace
}  // namespace glean::store
