// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "calibrate/connection.hpp"
#include "calibrate/machine_file.hpp"
#include "calibrate/memory.hpp"
#include "calibrate/scratch.hpp"
#include "calibrate/storage.hpp"
#include "topology/text.hpp"

namespace glean::calibrate {
namespace {

namespace fs = std::filesystem;

class Directory {
 public:
  Directory() {
    char name[] = "/tmp/glean-calibrate-test.XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Directory() { fs::remove_all(path_); }
  [[nodiscard]] std::string path() const { return path_; }

 private:
  std::string path_;
};

Calibration two_hosts() {
  Calibration calibration;
  calibration.discovered = {.name = "pair", .node = {.cores = 8}, .network = topology::FatTree{.nodes = 2, .levels = {{.down = 2}}}};
  calibration.discovered.file_system = {.name = "lustre", .block_bytes = 4096, .stripe_count = 4, .stripe_bytes = 1 << 20, .targets = 16};
  calibration.hosts = calibration.processes = 2;
  calibration.copy_rate.samples = {10e9, 11e9, 9e9};
  calibration.link_rate.samples = {1.21e9, 1.25e9};
  calibration.one_writer.samples = {1e9};
  calibration.node_writers.samples = {2e9};
  calibration.all_writers.samples = {3.5e9, 3.9e9};
  calibration.request_time.samples = {82.7e-6};
  calibration.lock_time.how = "not measured in this test";
  return calibration;
}

TEST(AFigure, IsTheMedianOfItsSamples) {
  EXPECT_EQ((Figure{.samples = {5, 1, 3}}).median(), 3);
  EXPECT_EQ((Figure{.samples = {4, 1, 2, 3}}).median(), 2.5);
  EXPECT_EQ(Figure{}.median(), 0);
}

TEST(AFigure, SaysHowFarItsSamplesAreApart) {
  const Figure figure{.samples = {2e9, 1e9, 1.5e9}, .how = "one writer"};

  EXPECT_EQ(spread_of(figure, Unit::bytes_per_second), "1 GB/s to 2 GB/s in 3 samples: one writer");
  EXPECT_EQ(spread_of({.how = "one host"}, Unit::seconds), "one host");
}

TEST(ARequest, TakesWhatItsBytesDoNot) {
  EXPECT_DOUBLE_EQ(request_seconds(5e-3, 1e6, 1e9), 4e-3);
  EXPECT_EQ(request_seconds(1e-3, 1e6, 1e8), 0);
}

TEST(AMachineFile, HasWhatWasMeasuredAndReadsBackTheSame) {
  const Calibration calibration = two_hosts();

  const std::string text = to_toml(calibration, "2026-01-01");
  const topology::Machine machine = topology::machine_from_toml(text, "pair.toml");

  EXPECT_EQ(machine, machine_of(calibration));
  EXPECT_EQ(machine.file_system.bytes_per_second, 3.7e9);
  EXPECT_EQ(machine.way_out.gateway_bytes_per_second, 2e9);
  EXPECT_EQ(machine.file_system.targets, 16);
  EXPECT_EQ(std::get<topology::FatTree>(machine.network).levels[0].link_bytes_per_second, 1.23e9);
  EXPECT_NE(text.find("request_time = '82.7us'"), std::string::npos) << text;
  EXPECT_NE(text.find("# 9 GB/s to 11 GB/s in 3 samples"), std::string::npos) << text;
  EXPECT_NE(text.find("# Rate at which new files are written:\n#   one writer: 1 sample\n"), std::string::npos) << text;
  EXPECT_NE(text.find("# file_system.lock_time is not in it: not measured in this test"), std::string::npos) << text;
}

TEST(AMachineFile, OfOneHostDoesNotSayWhatTheWayOutOfANodeIs) {
  Calibration calibration = two_hosts();
  calibration.hosts = 1;

  EXPECT_EQ(machine_of(calibration).way_out.gateway_bytes_per_second, 0);
}

TEST(Measuring, FindsRatesAndTimesAndLeavesNoFile) {
  const Directory directory;
  Alone team;
  {
    Scratch scratch(directory.path() + "/scratch");
    // The bytes end each sample: 120 s a sample are there for a store that is slow to sync.
    const Writing writing{.request_bytes = 1 << 20, .bytes_max = 4 << 20, .seconds = 120, .samples = 2, .threads = 2};

    const Figure rate = write_rate(team, scratch, true, writing);
    const Figure request = write_seconds(scratch, 4096, 0.05);
    const Figure create = create_seconds(team, scratch, 0.02);
    const Figure together = create_seconds_together(team, scratch, 0.02);
    const Figure lock = lock_seconds(team, scratch, 0.02);

    EXPECT_EQ(rate.samples.size(), 2U);
    for (const Figure* each : {&rate, &request, &create, &together}) EXPECT_GT(each->least(), 0);
    EXPECT_GE(lock.least(), 0);
    EXPECT_FALSE(fs::exists(scratch.directory() + "/written.0.0"));
  }
  EXPECT_TRUE(fs::is_empty(directory.path()));
}

TEST(Measuring, TakesFewerSamplesWhereTheyTakeTwiceAsLongAsTheyShould) {
  const Directory directory;
  Alone team;
  Scratch scratch(directory.path() + "/scratch");

  const Figure rate = write_rate(team, scratch, true, {.request_bytes = 1 << 20, .bytes_max = 1 << 20, .seconds = 1e-9, .samples = 5});

  EXPECT_EQ(rate.samples.size(), 1U);
}

// A receiver that has no processor when a measurement ends leaves a sender that waits for room.
TEST(AConnection, ThatIsClosedTellsASenderThatWaitsForRoom) {
  Connection connection = connect_to_self();
  const std::vector<char> data(1 << 20);
  const pollfd room{.fd = connection.far.descriptor(), .events = POLLOUT, .revents = 0};
  for (pollfd asked = room; poll(&asked, 1, 200) == 1; asked = room) {
    static_cast<void>(send(connection.far.descriptor(), data.data(), data.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
  }
  std::thread sender([&] {
    while (send(connection.far.descriptor(), data.data(), data.size(), MSG_NOSIGNAL) > 0) {}
  });

  connection.near.close();

  sender.join();
}

TEST(Measuring, FindsWhatMemoryAndTheLoopbackInterfaceDo) {
  const Loopback loopback = measure_loopback(0.2);

  EXPECT_GT(copy_rate(0.05).median(), 0);
  EXPECT_GT(copied_per_second(2, 0.05), 0);
  EXPECT_GT(loopback.link_rate.median(), 0);
  EXPECT_GT(loopback.receive_rate.median(), 0);
  EXPECT_GT(loopback.message_time.median(), 0);
}

TEST(Scratch, IsGoneWhenTheProcessIsKilled) {
  const Directory directory;
  const pid_t child = fork();
  if (child == 0) {
    Scratch scratch(directory.path() + "/scratch");
    std::ofstream(scratch.file("a")) << "x";
    std::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);

  for (int i = 0; i < 1000 && !fs::is_empty(directory.path()); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_TRUE(fs::is_empty(directory.path()));
}

TEST(Scratch, LeavesWhatOthersHavePutThere) {
  const Directory directory;
  {
    Scratch scratch(directory.path() + "/scratch");
    std::ofstream(scratch.directory() + "/theirs") << "x";
  }
  EXPECT_TRUE(fs::exists(directory.path() + "/scratch/theirs"));
}

}  // namespace
}  // namespace glean::calibrate
