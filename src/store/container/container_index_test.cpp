// SPDX-License-Identifier: BSD-3-Clause
#include "store/container/container_index.hpp"

#include <gtest/gtest.h>

#include "store/container/chunk_trailer.hpp"
#include "store/container/task_writer.hpp"
#include "store/container/test_containers.hpp"

namespace glean::store {
namespace {

ContainerHeader header_of(std::size_t tasks, std::uint64_t chunks) {
  ContainerHeader header;
  header.id = 7;
  for (std::uint64_t rank = 0; rank < tasks; ++rank) {
    header.global_ranks.push_back(rank);
    header.chunk_bytes.push_back(4096);
  }
  header.chunks_most = chunks;
  header.index_begin = header.index_begin_after(chunks);
  return header;
}

std::string refusal(const ContainerHeader& header, const ContainerIndex& index) {
  const auto encoded = encode_container_index(index, header.order, AfterIndex::more);
  return message_of([&] { static_cast<void>(parse_container_index(header, encoded)); });
}

TEST(ContainerIndex, HasTheBytesOfEachChunkChunkByChunk) {
  const ContainerIndex index = make_container_index({{100, 20}, {}, {7}});

  EXPECT_EQ(index.chunks, (std::vector<std::uint64_t>{2, 1, 1})) << "SIONlib gives each task one chunk at least";
  EXPECT_EQ(index.used, (std::vector<Bytes>{100, 0, 7, 20, 0, 0}));
  EXPECT_EQ(index.used_by(0), (std::vector<Bytes>{100, 20}));
}

TEST(ContainerIndex, IsReadAsItWasWrittenInBothByteOrders) {
  for (const ByteOrder order : {ByteOrder::little, ByteOrder::big}) {
    ContainerHeader header = header_of(3, 2);
    header.order = order;
    header.files = 2;
    ContainerIndex index = make_container_index({{100, 20}, {}, {7}});
    index.mapping = {{0, 0}, {0, 1}, {0, 2}, {1, 0}};
    auto encoded = encode_container_index(index, order, AfterIndex::more);
    const std::size_t bytes = encoded.size();
    encoded.resize(bytes + 100);

    const ParsedIndex parsed = parse_container_index(header, encoded);

    EXPECT_EQ(parsed.index, index);
    EXPECT_EQ(parsed.bytes, bytes) << "what follows is not its";
  }
}

TEST(ContainerIndex, NamesAllThatIsWrongWithIt) {
  const ContainerHeader header = header_of(2, 2);
  ContainerIndex index = make_container_index({{100, 20}, {7}});
  index.chunks[0] = 3;
  index.used[3] = 9;        // of task 1, which has one chunk
  index.used[1] = 5000;
  index.mapping = {{1, 0}, {0, 0}};
  EXPECT_EQ(refusal(header, index),
            "the index of the container is damaged: task 0 has 3 chunks of 2; "
            "task 1 has 5000 bytes in its chunk 0, in which there is room for 4096; "
            "task 1 has 9 bytes in its chunk 1, in which there is room for 0; rank 0 is in file 1 of 1; rank 1 is not task 0 of file 0");
}

TEST(ContainerIndex, RefusesAPlaceInsideOfTheChunksAndAFileThatIsTooShort) {
  ContainerHeader header = header_of(2, 1);
  header.index_begin -= 8;
  EXPECT_EQ(refusal(header, make_container_index({{1}, {1}})),
            "the index of the container is damaged: it begins at byte 12280, inside of the chunks");
  const ContainerHeader larger = header_of(2, 3);
  EXPECT_EQ(refusal(larger, make_container_index({{1}, {1}})),
            "the index of the container is damaged: the file is too short for 3 chunks of 2 tasks");
}

TEST(ContainerIndex, TakesTheUnusedChunksOfSionlibsDocumentation) {
  const ContainerHeader header = header_of(1, 2);
  ContainerIndex index = make_container_index({{5, 0}});
  index.chunks[0] = 1;
  const ContainerIndex expected = index;
  index.used[1] = ~Bytes{0};
  EXPECT_EQ(parse_container_index(header, encode_container_index(index, header.order, AfterIndex::more)).index, expected);
}

TEST(ContainerIndex, ThatNoReaderTakesIsRefusedToTheWriter) {
  std::vector<std::vector<Bytes>> used(1 << 14);
  used[7].resize((1 << 13) - 1);   // the others have zeros for as many

  EXPECT_EQ(message_of([&] { check_index_length(used); }), "");
  used[7].resize(1 << 14);
  EXPECT_EQ(message_of([&] { check_index_length(used); }), "the index of 16384 tasks, of which one has 16384 chunks, has 2 GiB");
}

TEST(ContainerIndex, Of100000TasksIsReadAgain) {
  constexpr std::size_t tasks = 100'000;
  const ContainerHeader header = header_of(tasks, 2);
  std::vector<std::vector<Bytes>> used;
  for (std::size_t task = 0; task < tasks; ++task) {
    used.push_back(task % 2 == 0 ? std::vector<Bytes>{4032, task % 4000} : std::vector<Bytes>{task % 4000});
  }
  const ContainerIndex index = make_container_index(used);

  EXPECT_EQ(parse_container_header(encode_container_header(header), header.index_begin), header);
  EXPECT_EQ(parse_container_index(header, encode_container_index(index, header.order, AfterIndex::more)).index, index);
}

TEST(NameTable, IsReadAsItWasWritten) {
  const NameTable table{42, 1, 2, {{"restart.0", 0, 0, 100}, {"dir/log", 0, 100, 7}, {"restart.1", 1, 0, 0}}};
  EXPECT_EQ(parse_name_table(encode_name_table(table)), table);
}

TEST(NameTable, RefusesEachByteThatHasChanged) {
  const auto encoded = encode_name_table({42, 1, 2, {{"restart.0", 0, 0, 100}}});
  for (std::size_t at = 0; at < encoded.size(); ++at) {
    auto other = encoded;
    other[at] ^= std::byte{1};
    EXPECT_NE(message_of([&] { static_cast<void>(parse_name_table(other)); }), "") << at;
    EXPECT_NE(message_of([&] { static_cast<void>(parse_name_table(std::span(encoded).first(at))); }), "") << at;
  }
}

TEST(NameTable, HasNoNamesThatCannotBe) {
  for (const std::string& name : {std::string(), std::string(5000, 'x'), std::string("a\0b", 3)}) {
    EXPECT_NE(message_of([&] { static_cast<void>(encode_name_table({1, 1, 1, {{name, 0, 0, 0}}})); }), "");
  }
}

TEST(ChunkTrailer, IsReadAsItWasWrittenAndRefusesEachByteThatHasChanged) {
  const ChunkTrailer trailer{1, 2, 3, 4, 5, true};
  const EncodedTrailer encoded = encode_chunk_trailer(trailer);

  EXPECT_EQ(parse_chunk_trailer(encoded), trailer);
  for (std::size_t at = 0; at < encoded.size(); ++at) {
    EncodedTrailer other = encoded;
    other[at] ^= std::byte{4};
    EXPECT_EQ(parse_chunk_trailer(other), std::nullopt) << at;
  }
}

// What a task writes, by offsets.
struct TaskWrites {
  TaskWriter::Write write = [this](std::span<const std::byte> bytes, Bytes offset) {
    if (bytes.size() == chunk_trailer_bytes) {
      if (auto trailer = parse_chunk_trailer(bytes)) {
        trailers.push_back(*trailer);
        return;
      }
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (content.size() <= offset + i) content.resize(offset + i + 1, '.');
      content[offset + i] = static_cast<char>(bytes[i]);
    }
  };
  std::string content;
  std::vector<ChunkTrailer> trailers;
};

TEST(TaskWriter, CutsWhatComesIntoChunks) {
  TaskWrites written;
  TaskWriter task({10, 68, 100, 64}, 1, 9);

  task.append(bytes_of("abcdef"), written.write);
  task.append(bytes_of("ghij"), written.write);
  task.close(written.write);

  EXPECT_EQ(written.content.substr(10, 4), "abcd");
  EXPECT_EQ(written.content.substr(110, 4), "efgh");
  EXPECT_EQ(written.content.substr(210), "ij");
  EXPECT_EQ(task.used(), (std::vector<Bytes>{4, 4, 2}));
  EXPECT_EQ(task.bytes(), 10U);
  EXPECT_EQ(written.trailers, (std::vector<ChunkTrailer>{{1, 9, 0, 4, sum_of(bytes_of("abcd")), false},
                                                         {1, 9, 1, 4, sum_of(bytes_of("efgh")), false},
                                                         {1, 9, 2, 2, sum_of(bytes_of("ij")), true}}));
}

TEST(TaskWriter, EndsAFullLastChunkAtTheClose) {
  TaskWrites written;
  TaskWriter task({0, 68, 100, 64}, 1, 9);
  task.append(bytes_of("abcd"), written.write);
  EXPECT_EQ(written.trailers.size(), 0U);
  task.close(written.write);
  ASSERT_EQ(written.trailers.size(), 1U);
  EXPECT_TRUE(written.trailers[0].is_last);
  EXPECT_EQ(task.used(), std::vector<Bytes>{4});
}

TEST(TaskWriter, GoesToTheNextChunkWhereTheSpaceDoesNotDo) {
  TaskWrites written;
  TaskWriter task({0, 68, 100, 64}, 1, 9);
  task.append(bytes_of("ab"), written.write);
  task.ensure_free_space(2);
  EXPECT_EQ(task.free_in_chunk(), 2U);
  task.ensure_free_space(3);
  EXPECT_EQ(task.free_in_chunk(), 4U);
  task.append(bytes_of("cde"), written.write);
  task.close(written.write);

  EXPECT_EQ(written.content.substr(0, 2), "ab");
  EXPECT_EQ(written.content.substr(100), "cde");
  EXPECT_EQ(task.used(), (std::vector<Bytes>{2, 3}));
  EXPECT_EQ(message_of([&] { task.ensure_free_space(5); }), "5 B do not fit into a chunk, which has room for 4 B");
}

TEST(TaskWriter, LeavesNoChunkWhereNothingIsWritten) {
  TaskWrites written;
  TaskWriter task({0, 68, 100, 64}, 1, 9);
  task.ensure_free_space(4);
  task.close(written.write);
  EXPECT_TRUE(task.used().empty());
  EXPECT_TRUE(written.trailers.empty());
}

TEST(TaskWriter, WantsRoomForMoreThanATrailer) {
  EXPECT_EQ(message_of([] { TaskWriter({0, 64, 64, 64}, 1, 0); }), "chunks of 64 bytes have no room for data");
}

}  // namespace
}  // namespace glean::store
