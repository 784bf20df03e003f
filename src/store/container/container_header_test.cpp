// SPDX-License-Identifier: BSD-3-Clause
#include "store/container/container_header.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "store/container/container_index.hpp"
#include "store/container/test_containers.hpp"

namespace glean::store {
namespace {

// 16 bytes in a line, without lines of zeros.
std::string dump(std::span<const std::byte> bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 16) {
    const auto line = bytes.subspan(at, std::min<std::size_t>(16, bytes.size() - at));
    std::string hex;
    bool any = false;
    for (const std::byte each : line) {
      any = any || each != std::byte{0};
      hex += fmt::format("{:02x}", std::to_integer<int>(each));
    }
    if (any) text += fmt::format("{:04x} {}\n", at, hex);
  }
  return text;
}

ContainerHeader two_tasks() {
  ContainerHeader header;
  header.prefix = "restart.sion";
  header.id = 0x1122334455667788;
  header.global_ranks = {0, 1};
  header.chunk_bytes = {4096, 8192};
  return header;
}

std::vector<std::byte> changed(const ContainerHeader& header, std::size_t offset, const std::vector<int>& bytes) {
  std::vector<std::byte> encoded = encode_container_header(header);
  for (std::size_t i = 0; i < bytes.size(); ++i) encoded[offset + i] = static_cast<std::byte>(bytes[i]);
  return encoded;
}

TEST(ContainerHeader, OfOneFileIsTheseBytes) {
  EXPECT_EQ(dump(encode_container_header(two_tasks())),
            "0000 73696f6e00000000ef03000006000000\n"
            "0010 05000000001000000200000001000000\n"
            "0020 00000000000000003200000000000000\n"
            "0030 00000000726573746172742e73696f6e\n"
            "0420 00000000474c45414e544c4688776655\n"
            "0430 44332211000000000000000001000000\n"
            "0440 00000000001000000000000000200000\n");
}

TEST(ContainerHeader, OfAFileOfSeveralThatIsClosedIsTheseBytes) {
  ContainerHeader header = two_tasks();
  header.files = 3;
  header.file = 2;
  header.global_ranks = {5, 6};
  header.chunks_most = 3;
  header.index_begin = header.index_begin_after(3);

  EXPECT_EQ(header.index_begin, 4096U + 3 * 12288);
  EXPECT_EQ(dump(encode_container_header(header)),
            "0000 73696f6e00000000ef03000006000000\n"
            "0010 05000000001000000200000003000000\n"
            "0020 02000000000000003200000000000000\n"
            "0030 00000000726573746172742e73696f6e\n"
            "0420 00000000474c45414e544c4688776655\n"
            "0430 44332211050000000000000006000000\n"
            "0440 00000000001000000000000000200000\n"
            "0450 000000000300000000a0000000000000\n");
}

TEST(ContainerHeader, OfABigEndianMachineWithKeyValuesAndWithoutMarkIsTheseBytes) {
  ContainerHeader header = two_tasks();
  header.order = ByteOrder::big;
  header.data_order = ByteOrder::big;
  header.id.reset();
  header.key_value_mode = inline_key_values;

  EXPECT_EQ(dump(encode_container_header(header)),
            "0000 73696f6e01010101000003ef00000006\n"
            "0010 00000005000010000000000200000001\n"
            "0020 00000000000000330000000000000000\n"
            "0030 00000000726573746172742e73696f6e\n"
            "0440 00000001000000000000100000000000\n"
            "0450 00002000000000000000000000000000\n");
}

TEST(ContainerHeader, IsReadAsItWasWritten) {
  for (const ByteOrder order : {ByteOrder::little, ByteOrder::big}) {
    for (const bool has_id : {true, false}) {
      ContainerHeader header = two_tasks();
      header.order = order;
      if (!has_id) header.id.reset();
      header.chunks_most = 2;
      header.index_begin = header.index_begin_after(2);
      const auto encoded = encode_container_header(header);

      EXPECT_EQ(parse_container_header(encoded, encoded.size()), header);
      EXPECT_EQ(parse_container_header(std::span(encoded).first(1100), encoded.size()), std::nullopt) << "more is needed";
      EXPECT_EQ(parse_container_header(std::span(encoded).first(10), encoded.size()), std::nullopt) << "more is needed";
    }
  }
}

TEST(ContainerHeader, NamesAllThatIsWrongWithIt) {
  ContainerHeader header = two_tasks();
  std::vector<std::byte> encoded = changed(header, 20, {0, 0, 0, 0});   // block size
  encoded[28] = std::byte{0};                                           // files
  encoded[1076 + 8] = std::byte{0};                                     // rank 1 is another 0
  EXPECT_EQ(message_of([&] { static_cast<void>(parse_container_header(encoded, encoded.size())); }),
            "the header of the container is damaged: its blocks have 0 bytes; it is one of 0 files; two tasks have the rank 0");
}

TEST(ContainerHeader, RefusesWhatCannotBe) {
  const ContainerHeader header = two_tasks();
  const auto refusal = [&](std::size_t offset, const std::vector<int>& bytes) {
    const auto encoded = changed(header, offset, bytes);
    return message_of([&] { static_cast<void>(parse_container_header(encoded, encoded.size())); });
  };
  EXPECT_EQ(refusal(0, {'n'}), "it is not a container: it does not begin with \"sion\"");
  EXPECT_EQ(refusal(16, {4}), "the container has version 4 of its format");
  EXPECT_EQ(refusal(24, {0xff, 0xff, 0xff, 0xff}), "the header of the container is damaged: it has -1 tasks");
  EXPECT_EQ(refusal(24, {3}), "the header of the container is damaged: the file is too short for its 3 tasks");
  EXPECT_EQ(refusal(24, {0}), "the header of the container is damaged: it has no tasks");
  EXPECT_EQ(refusal(32, {1}), "the header of the container is damaged: it is file 1 of 1");
  EXPECT_EQ(refusal(1092 + 7, {0x80}), "the header of the container is damaged: task 0 has chunks of -9223372036854771712 bytes");
  EXPECT_EQ(refusal(1092 + 7, {0x7f, 0, 0, 0, 0, 0, 0, 0, 0x7f}),
            "the header of the container is damaged: the chunks of all tasks together are larger than any file");
  EXPECT_EQ(refusal(1092 + 16, {0xff, 0xff, 0xff, 0xff}), "the header of the container is damaged: it has -1 chunks");
  EXPECT_EQ(refusal(1092 + 20, {1}), "the header of the container is damaged: its index begins at byte 1");
  EXPECT_EQ(message_of([&] { static_cast<void>(parse_container_header(bytes_of("sion"), 4)); }),
            "the header of the container is damaged: the file ends within it");
  EXPECT_EQ(message_of([&] { static_cast<void>(parse_container_header({}, 0)); }),
            "it is not a container: it does not begin with \"sion\"");
}

TEST(ContainerHeader, IsNotWrittenIfItCouldNotBeRead) {
  ContainerHeader header = two_tasks();
  header.prefix = std::string(2000, 'x');
  header.chunk_bytes.pop_back();
  EXPECT_EQ(message_of([&] { static_cast<void>(encode_container_header(header)); }),
            "the description of the container is damaged: not every task has a rank and a chunk size; its name has more than 1007 bytes");
}

TEST(Chunks, LieWhereEachRankComputesThem) {
  ContainerHeader header;
  header.id = 1;
  header.block_bytes = 4096;
  for (std::uint64_t rank = 0; rank < 300; ++rank) {
    header.global_ranks.push_back(rank);
    header.chunk_bytes.push_back(8192);
  }

  const auto all = header.chunks();

  for (std::uint64_t rank = 0; rank < 300; ++rank) EXPECT_EQ(all[rank], uniform_chunks(300, 4096, 8192, rank));
  const TaskChunks last = all.back();
  EXPECT_EQ(last.begin, 8192U + 299 * 8192) << "the header takes 5888 bytes, two blocks";
  EXPECT_EQ(last.capacity(), 8128U);
  EXPECT_EQ(place_of(last, 8127), last.begin + 8127);
  EXPECT_EQ(place_of(last, 8128), last.begin + 300 * 8192);
  EXPECT_EQ(last.trailer_of(1), last.begin + 300 * 8192 + 8128);
}

TEST(Chunks, OfAContainerWithoutTrailersHoldDataToTheirEnd) {
  ContainerHeader header = two_tasks();
  header.id.reset();
  EXPECT_EQ(header.chunks()[1].capacity(), 8192U);
  EXPECT_EQ(header.chunks()[1].begin, 8192U);
}

TEST(Chunks, AreBlocksThatHaveRoomForATrailer) {
  EXPECT_EQ(chunk_bytes_for(0, 4096), 4096U);
  EXPECT_EQ(chunk_bytes_for(4096 - 64, 4096), 4096U);
  EXPECT_EQ(chunk_bytes_for(4096 - 63, 4096), 8192U);
  EXPECT_EQ(default_chunk_bytes(4096), base::MiB);
  EXPECT_EQ(default_chunk_bytes(3 * base::MiB), 3 * base::MiB);
}

}  // namespace
}  // namespace glean::store
