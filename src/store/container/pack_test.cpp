// SPDX-License-Identifier: BSD-3-Clause
#include "store/container/pack.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "store/container/container_writer.hpp"
#include "store/container/test_containers.hpp"
#include "store/posix/fault_plan.hpp"

namespace glean::store {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& each : fs::directory_iterator(directory)) names.push_back(each.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// A container of one task, "abc", under any names at all.
void write_named(SystemCalls& calls, const std::string& path, const std::vector<std::string>& names) {
  write_text(path, "");
  ContainerHeader header;
  header.id = 5;
  header.global_ranks = {0};
  header.chunk_bytes = {4096};
  File file(calls, {path, path}, base::DirectIo::off);
  ContainerWriter writer(file, header);
  writer.append(0, bytes_of("abc"));
  std::vector<LogicalFile> files;
  for (const std::string& name : names) files.push_back({name, 0, 0, 3});
  static_cast<void>(writer.finish(files, {}));
}

TEST(Pack, AndExtractGiveTheSameFiles) {
  SystemCalls calls;
  for (const std::uint32_t files : {1U, 2U, 4U}) {
    for (const std::optional<Bytes> chunk : {std::optional<Bytes>(), std::optional<Bytes>(1)}) {
      TemporaryDirectory from, to;
      auto sources = make_sources(from, {0, 1, 4032, 4033, 70'000});
      sources[1].name = "deep/er/a1";

      const Packed packed = pack(calls, to / "x.sion", sources, {4096, chunk, files, 3}, no_progress);
      const Container container(calls, to / "x.sion");
      fs::create_directory(to / "out");
      const Extracted extracted = extract(calls, container, container.files(), to / "out", no_progress);

      EXPECT_EQ(packed.tasks, 5U);
      EXPECT_EQ(packed.bytes, 78'066U);
      EXPECT_EQ(extracted.files, 5U);
      EXPECT_EQ(extracted.bytes, 78'066U);
      EXPECT_TRUE(verify_container(container, no_progress).differences.empty());
      EXPECT_EQ(container.physical_files().size(), files);
      for (const PackSource& source : sources) EXPECT_EQ(read_text(to / ("out/" + source.name)), read_text(source.path)) << source.name;
      EXPECT_EQ(names_in(to / "out"), (std::vector<std::string>{"a0", "a2", "a3", "a4", "deep"})) << "no working file is left";
    }
  }
}

TEST(Pack, OfOneChunkEachHasNoHoles) {
  TemporaryDirectory directory;
  SystemCalls calls;
  const Packed packed = pack(calls, directory / "x.sion", make_sources(directory, {100, 5'000, 200}), {}, no_progress);
  EXPECT_EQ(fs::file_size(directory / "x.sion"), packed.file_bytes);
  EXPECT_LT(packed.file_bytes, 4096U * (1 + 1 + 2 + 1) + 400);
}

TEST(Pack, KeepsHolesOfLargeFilesAndSoDoesExtract) {
  TemporaryDirectory directory;
  SystemCalls calls;
  const Bytes size = 1 + (Bytes{1} << 33);
  write_text(directory / "large", "begin");
  fs::resize_file(directory / "large", size);
  { std::ofstream(directory / "large", std::ios::in | std::ios::out).seekp(static_cast<std::streamoff>(size - 3)) << "end"; }
  const auto allocated = [](const std::string& path) {
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0);
    return static_cast<Bytes>(status.st_blocks) * 512;
  };

  pack(calls, directory / "x.sion", {{directory / "large", "large"}}, {}, no_progress);
  const Container container(calls, directory / "x.sion");
  fs::create_directory(directory / "out");
  extract(calls, container, container.files(), directory / "out", no_progress);

  const std::string out = directory / "out/large";
  EXPECT_EQ(fs::file_size(out), size);
  EXPECT_LT(allocated(directory / "x.sion"), 64 * base::MiB);
  EXPECT_LT(allocated(out), 64 * base::MiB);
  std::ifstream in(out);
  std::string begin(5, '\0'), end(3, '\0');
  in.read(begin.data(), 5);
  in.seekg(-3, std::ios::end);
  in.read(end.data(), 3);
  EXPECT_EQ(begin + end, "beginend");
  EXPECT_TRUE(verify_container(container, no_progress).differences.empty());
}

TEST(Pack, NamesAllThatIsWrong) {
  SystemCalls calls;
  const std::vector<PackSource> sources{{"a", "/a"}, {"b", "b"}, {"c", "b"}, {"d", "x/../../d"}};
  EXPECT_EQ(message_of([&] { pack(calls, "x.sion", sources, {0, 0, 5, 1}, no_progress); }),
            "a block has from 1 byte to 1 GiB; 4 files cannot be packed into 5; a chunk has from 1 byte to 1 TiB; "
            "'/a' cannot be a name in a container; 'b' is given twice; 'x/../../d' cannot be a name in a container");
  EXPECT_EQ(message_of([&] { pack(calls, "x.sion", {}, {}, no_progress); }), "there are no files to pack");
}

TEST(Pack, ThatFailsLeavesTheOldContainerAndNothingElse) {
  TemporaryDirectory directory;
  SystemCalls calls;
  const auto sources = make_sources(directory, {100, 200});
  pack(calls, directory / "x.sion", {sources[0]}, {}, no_progress);
  const std::string before = read_text(directory / "x.sion");
  const auto names = names_in(directory.string());

  for (const char* call : {"write", "fsync", "rename"}) {
    FaultyCalls faulty({on(call).fails(ENOSPC)});
    EXPECT_NE(message_of([&] { pack(faulty, directory / "x.sion", sources, {}, no_progress); }), "") << call;
    EXPECT_EQ(read_text(directory / "x.sion"), before) << call;
    EXPECT_EQ(names_in(directory.string()), names) << call;
  }
}

TEST(Extract, ThatFailsLeavesTheOldFileAndNothingElse) {
  TemporaryDirectory directory;
  SystemCalls calls;
  write_named(calls, directory / "x.sion", {"a"});
  write_text(directory / "a", "old");
  const Container container(calls, directory / "x.sion");
  const auto names = names_in(directory.string());

  for (const char* call : {"write", "fsync", "rename"}) {
    FaultyCalls faulty({on(call).fails(EIO)});
    EXPECT_NE(message_of([&] { extract(faulty, container, container.files(), directory.string(), no_progress); }), "") << call;
    EXPECT_EQ(read_text(directory / "a"), "old") << call;
    EXPECT_EQ(names_in(directory.string()), names) << call;
  }
  extract(calls, container, container.files(), directory.string(), no_progress);
  EXPECT_EQ(read_text(directory / "a"), "abc");
}

TEST(Extract, NeverLeavesItsDirectory) {
  TemporaryDirectory directory;
  SystemCalls calls;
  fs::create_directory(directory / "out");
  fs::create_directory(directory / "other");
  write_text(directory / "other/target", "old");
  fs::create_symlink(directory / "other", directory / "out/link");
  fs::create_symlink(directory / "other/target", directory / "out/file");
  const auto refusal = [&](const std::vector<std::string>& names) {
    write_named(calls, directory / "x.sion", names);
    const Container container(calls, directory / "x.sion");
    return message_of([&] { extract(calls, container, container.files(), directory / "out", no_progress); });
  };

  for (const char* name : {"../x", "/tmp/x", "a/../../x", "..", ".", "a//b", "a/", "link/x", "file", "./x"}) {
    EXPECT_NE(refusal({name}), "") << name;
  }
  EXPECT_EQ(refusal({"good", "../x\x1b", "good", "link/x"}),
            "nothing was extracted: '../x?' leads out of the directory, or is no name; 'good' is there twice; 'link/x': '" +
                (directory / "out/link") + "' is a symbolic link, which may lead anywhere");
  EXPECT_EQ(refusal({"a", "a/b"}), "nothing was extracted: 'a' is a file and a directory");
  EXPECT_EQ(names_in(directory / "out"), (std::vector<std::string>{"file", "link"}));
  EXPECT_EQ(names_in(directory / "other"), std::vector<std::string>{"target"});
  EXPECT_EQ(read_text(directory / "other/target"), "old");
}

TEST(Extract, WantsADirectoryThatIsThere) {
  TemporaryDirectory directory;
  SystemCalls calls;
  write_named(calls, directory / "x.sion", {"a"});
  const Container container(calls, directory / "x.sion");
  EXPECT_EQ(message_of([&] { extract(calls, container, container.files(), directory / "none", no_progress); }),
            "cannot extract to '" + (directory / "none") + "': No such file or directory");
}

}  // namespace
}  // namespace glean::store
