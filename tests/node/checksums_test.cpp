// SPDX-License-Identifier: BSD-3-Clause
#include "drain/checksums.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "virtual_ranks.hpp"
#include "store/posix/fault_plan.hpp"
#include "store/posix/temporary_directory.hpp"
#include "store/sums/verify.hpp"

namespace glean::tests::checksums_test {
namespace {

using store::TemporaryDirectory;

std::vector<VirtualOutput> random_outputs(std::mt19937& random, const TemporaryDirectory& directory, int ranks) {
  std::vector<VirtualOutput> outputs;
  for (const char* name : {"a.nc", "b.nc", "c.nc"}) {
    outputs.push_back(VirtualOutput::random(random, ranks, random() % 4, directory / name));
    outputs.back().description.checksums = true;
  }
  return outputs;
}

void drain_all(const std::vector<VirtualOutput>& outputs, const plan::NodePlan& plan, store::SystemCalls& calls) {
  pool::TestPool made(2, plan);
  drain::Engine engine(made.pool, plan, calls);
  VirtualRanks ranks(made, 10);
  ASSERT_TRUE(ranks.run(outputs).empty());
  ASSERT_TRUE(wait_until_finished(made.pool, ranks.keys()));
  for (const auto& key : ranks.keys()) {
    ASSERT_EQ(made.pool.slot(key.slot).state, pool::OutputState::published) << made.pool.slot(key.slot).message.data();
  }
  engine.stop();
}

void flip(const std::string& path, Bytes at) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(at));
  const char byte = static_cast<char>(file.get() ^ 0x20);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(byte);
}

TEST(ChecksumsOfADrain, DoNotOutliveAFileThatIsRemovedBeforeThem) {
  std::mt19937 random(11);
  const TemporaryDirectory directory;
  auto outputs = random_outputs(random, directory, 2);
  outputs.resize(1);
  const std::string path = outputs.front().description.names.final_path;
  store::FaultyCalls calls({store::on("rename").of(store::sidecar_path(path) + ".part").before([&] { unlink(path.c_str()); })});

  drain_all(outputs, pool::small_plan(), calls);

  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(store::sidecar_path(path)));
}

TEST(ChecksumsOfADrain, CoverEveryFileAndFindEveryFlippedByte) {
  std::mt19937 random(11);
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const TemporaryDirectory directory;
    plan::NodePlan plan = pool::small_plan();
    plan.drain_threads = 1 + round % 2;
    plan.request_bytes = (4 * base::KiB) << random() % 3;
    if (round % 3 == 0) plan.pool_bytes = 272 * base::KiB;   // windows are written in parts
    const auto outputs = random_outputs(random, directory, 2);
    store::SystemCalls calls;

    drain_all(outputs, plan, calls);

    for (const auto& output : outputs) {
      const std::string& path = output.description.names.final_path;
      ASSERT_EQ(bytes_of_file(path), output.file());
      const auto sidecar = store::read_sidecar(calls, path);
      ASSERT_TRUE(sidecar);
      EXPECT_EQ(store::FileLayout::decode(sidecar->layout), output.description.layout);
      const auto whole = store::verify(calls, path, *sidecar);
      EXPECT_TRUE(whole.good());
      EXPECT_EQ(whole.read_back_bytes, output.description.layout.header_bytes);
      for (int i = 0; i < 20; ++i) {
        const Bytes at = random() % whole.found_bytes;
        flip(path, at);
        EXPECT_EQ(store::verify(calls, path, *sidecar).differences.size(), 1u) << at;
        flip(path, at);
      }
    }
  }
}

TEST(ChecksumsOfADrain, ThatHasLostThemAreReadBack) {
  std::mt19937 random(12);
  for (int round = 0; round < 12; ++round) {
    const TemporaryDirectory directory;
    const auto outputs = random_outputs(random, directory, 2);
    store::SystemCalls calls;
    drain_all(outputs, pool::small_plan(), calls);
    for (const auto& output : outputs) {
      const std::string& path = output.description.names.final_path;
      const auto whole = store::read_sidecar(calls, path).value();
      drain::Checksums kept(drain::SumsState::recorded);
      for (const auto& sum : whole.sums) {
        if (!sum.read_back && random() % 2 == 0) kept.add({sum});
      }
      kept.lose();

      const auto sidecar = kept.sidecar(calls, path, output.description.layout, whole.file_bytes);

      EXPECT_EQ(store::Sidecar::decode(sidecar.encode()), sidecar);
      EXPECT_TRUE(store::verify(calls, path, sidecar).good()) << "round " << round;
      for (int i = 0; i < 20; ++i) {
        const Bytes at = random() % whole.file_bytes;
        flip(path, at);
        EXPECT_EQ(store::verify(calls, path, sidecar).differences.size(), 1u) << at;
        flip(path, at);
      }
    }
  }
}

class PublishedWithSums : public testing::Test {
 protected:
  void SetUp() override {
    layout_.header_bytes = 6;
    write_working_file();
  }
  void write_working_file() { store::write_text(names_.working_path, "header"); }
  drain::SumsState publish_file(drain::SumsState wanted = drain::SumsState::recorded) {
    store::File file(calls_, names_, base::DirectIo::off);
    drain::Checksums checksums(wanted);
    calls_.log.clear();
    publish(calls_, file, layout_, 6, checksums);
    return checksums.state();
  }
  [[nodiscard]] bool good() {
    const auto sidecar = store::read_sidecar(calls_, names_.final_path);
    return sidecar && store::verify(calls_, names_.final_path, *sidecar).good();
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(directory_.string()), {}));
  }
  TemporaryDirectory directory_;
  store::FileNames names_{directory_ / ".chk.nc.part", directory_ / "chk.nc"};
  store::FileLayout layout_;
  store::FaultyCalls calls_;
};

TEST_F(PublishedWithSums, RemovesTheOldSumsBeforeTheFileAppearsAndTheNewOnesFollowIt) {
  publish_file();
  write_working_file();

  EXPECT_EQ(publish_file(), drain::SumsState::recorded);

  EXPECT_EQ(calls_.log, (std::vector<std::string>{"open", "open", "write", "fsync",       // read back; working sidecar
                                                  "unlink", "open", "fsync",              // old sums
                                                  "fsync", "rename", "open", "fsync",     // the file
                                                  "rename", "open", "fsync"}));           // new sums
  EXPECT_TRUE(good());
}

TEST_F(PublishedWithSums, LeavesNoSumsOfAnotherFileWhenTheyAreOff) {
  publish_file();
  write_working_file();

  EXPECT_EQ(publish_file(drain::SumsState::off), drain::SumsState::off);

  EXPECT_EQ(store::read_sidecar(calls_, names_.final_path), std::nullopt);
  EXPECT_EQ(files(), 1u);
}

// Every call that concerns the sidecar alone fails once.
TEST_F(PublishedWithSums, AppearsWithoutThemWhenTheyCannotBeWritten) {
  const auto fails = [&](const std::string& call, int error) {
    std::filesystem::remove(store::sidecar_path(names_.final_path));
    std::filesystem::remove(names_.final_path);
    write_working_file();
    store::File file(calls_, names_, base::DirectIo::off);
    drain::Checksums checksums(drain::SumsState::recorded);
    calls_.follow({call == "write" ? store::on(call).fails(error) : store::on(call).once().fails(error)});
    publish(calls_, file, layout_, 6, checksums);
    calls_.follow({});
    EXPECT_EQ(checksums.state(), drain::SumsState::failed) << call;
    EXPECT_EQ(store::read_text(names_.final_path), "header");
    EXPECT_EQ(files(), 1u) << call;
  };
  fails("open", EMFILE);
  fails("pread", EIO);
  fails("fsync", EIO);
  fails("write", ENOSPC);
}

TEST_F(PublishedWithSums, LeavesNoSumsWhenItCannotBePublished) {
  publish_file();
  write_working_file();
  calls_.follow({store::on("rename").once().fails(EIO)});

  EXPECT_THROW(publish_file(), base::Error);

  EXPECT_EQ(store::read_text(names_.final_path), "header");
  EXPECT_EQ(store::read_sidecar(calls_, names_.final_path), std::nullopt);
  EXPECT_EQ(files(), 2u);   // the file before, and the working file, which the drain discards
}

TEST_F(PublishedWithSums, WorksInPlace) {
  names_.final_path = names_.working_path;
  EXPECT_EQ(publish_file(), drain::SumsState::recorded);
  EXPECT_TRUE(good());
}

}  // namespace
}  // namespace glean::tests::checksums_test
