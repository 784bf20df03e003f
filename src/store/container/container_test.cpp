// SPDX-License-Identifier: BSD-3-Clause
#include "store/container/container.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "store/container/container_writer.hpp"
#include "store/container/test_containers.hpp"

namespace glean::store {
namespace {

const std::string recorded = GLEAN_RECORDED_CONTAINERS;

std::string repeated(const std::string& word, std::size_t size) {
  std::string text;
  while (text.size() < size) text += word;
  return text.substr(0, size);
}

std::vector<Bytes> sizes_of(const Container& container) {
  std::vector<Bytes> sizes;
  for (const Container::Task& task : container.tasks()) sizes.push_back(task.bytes);
  return sizes;
}

// Three tasks of several chunks each.
struct Packed3 {
  explicit Packed3(std::uint32_t files = 1) {
    pack(calls, path, make_sources(directory, {10'000, 0, 5'000}), {4096, 4000, files, 77}, no_progress);
  }
  TemporaryDirectory directory;
  std::string path = directory / "x.sion";
  SystemCalls calls;
};

TEST(Container, OfSionlibInOneFileIsRead) {
  SystemCalls calls;
  const Container container(calls, recorded + "/api.sion");

  EXPECT_EQ(sizes_of(container), (std::vector<Bytes>{1200, 2400, 0, 4800}));
  EXPECT_EQ(container.tasks()[3].chunks, 2U);
  EXPECT_EQ(text_of(container, 0), repeated("rank0:", 1200));
  EXPECT_EQ(text_of(container, 3), repeated("rank3:", 4800));
  EXPECT_FALSE(container.has_checksums());
  EXPECT_TRUE(container.is_complete());
  EXPECT_EQ(container.files()[1], (LogicalFile{"task.00001", 1, 0, 2400}));
}

TEST(Container, OfSionlibInTwoFilesIsTheSame) {
  SystemCalls calls;
  const Container one(calls, recorded + "/api.sion"), two(calls, recorded + "/api2.sion");

  EXPECT_EQ(two.physical_files().size(), 2U);
  EXPECT_EQ(sizes_of(two), sizes_of(one));
  for (std::uint64_t rank = 0; rank < 4; ++rank) EXPECT_EQ(text_of(two, rank), text_of(one, rank));
  EXPECT_EQ(message_of([&] { Container(calls, recorded + "/api2.sion.000001"); }),
            "'" + recorded + "/api2.sion.000001' is file 1 of 2 of a container");
}

TEST(Container, IsEncodedAsSionlibHasWrittenIt) {
  SystemCalls calls;
  for (const std::string name : {"/api.sion", "/api2.sion", "/api2.sion.000001"}) {
    const std::string path = recorded + name, whole = read_text(path);
    const PhysicalFile file = open_physical_file(calls, path);

    const ContainerEnds ends = close_container(file.header, file.index, {});

    EXPECT_TRUE(std::ranges::equal(ends.begin, bytes_of(whole).first(ends.begin.size()))) << name;
    EXPECT_EQ(ends.end_offset + ends.end.size(), whole.size()) << name;
    EXPECT_TRUE(std::ranges::equal(ends.end, bytes_of(whole).subspan(ends.end_offset))) << name;
  }
}

TEST(Container, OfSionlibThatWasNeverClosedIsRefused) {
  TemporaryDirectory directory;
  SystemCalls calls;
  std::string text = read_text(recorded + "/api.sion");
  write_text(directory / "cut.sion", text.substr(0, 30'000));
  EXPECT_EQ(message_of([&] { Container(calls, directory / "cut.sion"); }),
            "cannot read '" + (directory / "cut.sion") + "': it is cut off before its index");
}

TEST(Container, ReadsBytesAcrossChunks) {
  const Packed3 packed;
  SystemCalls calls;
  const Container container(calls, packed.path);
  const std::string whole = test_bytes(10'000, 0);
  const TaskReader reader = container.reader(container.task(0));

  EXPECT_EQ(reader.chunks().size(), 3U);
  EXPECT_EQ(reader.chunks()[1], (ChunkOfTask{1, 4096 + 12288, 4032, 4032}));
  std::string part(5'000, '\0');
  EXPECT_EQ(reader.read(std::as_writable_bytes(std::span(part)), 4'000), 5'000U);
  EXPECT_EQ(part, whole.substr(4'000, 5'000));
  EXPECT_EQ(reader.read(std::as_writable_bytes(std::span(part)), 9'990), 10U);
  EXPECT_EQ(reader.read(std::as_writable_bytes(std::span(part)), 10'000), 0U);
  EXPECT_EQ(reader.left_in_chunk(4'031), 1U);
  EXPECT_EQ(reader.left_in_chunk(4'032), 4032U);
  EXPECT_EQ(reader.left_in_chunk(10'000), 0U);
  EXPECT_EQ(message_of([&] { static_cast<void>(container.task(3)); }), "'" + packed.path + "' has no task 3");
}

TEST(Container, WithoutItsIndexIsReadUpToTheLastWholeChunk) {
  const Packed3 packed;
  SystemCalls calls;
  const std::string whole = read_text(packed.path);
  const Bytes stride = 3 * 4096;
  const std::vector<std::pair<Bytes, std::vector<Bytes>>> cases = {
      {4096 + 3 * stride + 10, {10'000, 0, 5'000}},      // inside of the index
      {4096 + 3 * stride, {10'000, 0, 5'000}},
      {4096 + 2 * stride + 4095, {8'064, 0, 5'000}},     // inside of the last chunk of task 0, which is not full
      {4096 + 2 * stride, {8'064, 0, 5'000}},
      {4096 + 2 * stride - 1, {8'064, 0, 4'032}},
      {4096 + 4096, {4'032, 0, 0}},
      {4096, {0, 0, 0}},
  };
  for (const auto& [length, sizes] : cases) {
    write_text(packed.path, whole.substr(0, length));
    const Container container(calls, packed.path);

    EXPECT_FALSE(container.is_complete());
    EXPECT_EQ(sizes_of(container), sizes) << length;
    EXPECT_EQ(text_of(container, 0), test_bytes(10'000, 0).substr(0, sizes[0])) << length;
    EXPECT_EQ(text_of(container, 2), test_bytes(5'000, 2).substr(0, sizes[2])) << length;
  }
  write_text(packed.path, whole.substr(0, 1000));
  EXPECT_EQ(message_of([&] { Container(calls, packed.path); }),
            "cannot read '" + packed.path + "': the header of the container is damaged: the file ends within it");
}

TEST(Container, ThatWasNotClosedIsReadByItsTrailers) {
  const Packed3 packed;
  SystemCalls calls;
  ContainerHeader header = open_physical_file(calls, packed.path).header;
  header.chunks_most = 0;
  header.index_begin = 0;
  const auto open = encode_container_header(header);
  std::string text = read_text(packed.path);
  std::memcpy(text.data(), open.data(), open.size());
  write_text(packed.path, text);

  const Container container(calls, packed.path);

  EXPECT_EQ(container.physical_files()[0].why_by_trailers, "it was never closed");
  EXPECT_EQ(sizes_of(container), (std::vector<Bytes>{10'000, 0, 5'000}));
}

TEST(Container, VerifiesEveryChunk) {
  const Packed3 packed(3);
  SystemCalls calls;
  const Container good(calls, packed.path);
  const ContainerVerification verification = verify_container(good, no_progress);
  EXPECT_TRUE(verification.differences.empty());
  EXPECT_EQ(verification.bytes, 15'000U);
  EXPECT_EQ(verification.chunks, 5U);

  flip_byte(packed.path, 4096 + 4096 + 17);              // of the data of task 0, chunk 1
  flip_byte(packed.path + ".000002", 4096 + 4095);       // of the trailer of task 2, chunk 0
  const auto differences = verify_container(Container(calls, packed.path), no_progress).differences;

  ASSERT_EQ(differences.size(), 2U);
  EXPECT_EQ(differences[0].what, "its 4032 bytes differ from their checksum");
  EXPECT_EQ(differences[0].rank, 0U);
  EXPECT_EQ(differences[0].chunk, 1U);
  EXPECT_EQ(differences[1].what, "its trailer is damaged");
  EXPECT_EQ(differences[1].path, packed.path + ".000002");
}

TEST(Container, WhoseEndsHaveChangedIsReadByItsTrailersAndDiffers) {
  const Packed3 packed;
  SystemCalls calls;
  const std::string whole = read_text(packed.path);
  for (const std::size_t at : {std::size_t{60}, whole.size() - 1, std::size_t{4096 + 3 * 12288}}) {
    write_text(packed.path, whole);
    flip_byte(packed.path, at);
    const Container container(calls, packed.path);
    EXPECT_FALSE(container.is_complete()) << at;
    EXPECT_EQ(sizes_of(container), (std::vector<Bytes>{10'000, 0, 5'000})) << at;
    EXPECT_EQ(verify_container(container, no_progress).differences.size(), 1U) << at;
  }
}

TEST(Container, NamesEachFileOfASetThatIsMissingOrOfAnother) {
  const Packed3 packed(3), other(3);
  SystemCalls calls;
  std::filesystem::remove(packed.path + ".000001");
  pack(calls, other.path, make_sources(other.directory, {1, 2, 3}), {4096, {}, 3, 78}, no_progress);
  std::filesystem::copy_file(other.path + ".000002", packed.path + ".000002", std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(message_of([&] { Container(calls, packed.path); }),
            "cannot read '" + packed.path + ".000001': No such file or directory; '" + packed.path +
                ".000002' is of another container than '" +
                packed.path + "'");
}

TEST(Container, WithNamesOfMoreThanItsTasksIsRefused) {
  TemporaryDirectory directory;
  SystemCalls calls;
  const std::string path = directory / "x.sion";
  write_text(path, "");
  ContainerHeader header;
  header.id = 5;
  header.global_ranks = {4};
  header.chunk_bytes = {4096};
  {
    File file(calls, {path, path}, base::DirectIo::off);
    ContainerWriter writer(file, header);
    writer.append(0, bytes_of("abc"));
    static_cast<void>(writer.finish({{"a", 4, 0, 2}, {"b", 4, 2, 2}, {"c", 3, 0, 0}}, {}));
  }
  EXPECT_EQ(message_of([&] { Container(calls, path); }),
            "the container '" + path + "' is damaged: task 4 is shorter than its file 'b'; '" + path +
                "' has a name for rank 3, which is not in it");
}

}  // namespace
}  // namespace glean::store
