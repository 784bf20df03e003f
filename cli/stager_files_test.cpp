// SPDX-License-Identifier: BSD-3-Clause
//
// Files of a stager as its clients have them, over a connection.
#include "cli/stager_files.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>
#include <utility>

#include "base/test_error.hpp"
#include "staging/control_client.hpp"
#include "staging/control_server.hpp"
#include "staging/remote_files.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::cli {
namespace {

namespace fs = std::filesystem;
using base::Errc;
using base::error_of;
using nlohmann::json;
using staging::FileStatus;
using staging::RemoteFiles;

using namespace std::string_literals;

constexpr double long_enough = 60;

std::string text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

class FilesOfAStager : public testing::Test {
 protected:
  // Below "in"; "out" is not for clients.
  FilesOfAStager() {
    fs::create_directory(directory_ / "in");
    fs::create_directory(directory_ / "out");
    store::write_text(directory_ / "out/secret", "secret");
    options_.directories = {directory_ / "in"};
    options_.is_draining = [this](const std::string& path) { return drains_ && path == draining_; };
    options_.answers_bytes = [this] { return crowd_.load(); };
  }
  void start() {
    files_ = std::make_unique<StagerFiles>(options_);
    staging::ControlServer::Options of_server;
    of_server.listen = {"127.0.0.1:0"};
    of_server.key = key_;
    of_server.gone = [this](std::uint64_t client) { files_->forget(client); };
    server_ = std::make_unique<staging::ControlServer>(of_server, [this](const json& request, const staging::Peer& peer) {
      return files_->answer(request.at("ask").get<std::string>(), request, peer.connection);
    });
  }
  [[nodiscard]] RemoteFiles::Options of_client() const {
    RemoteFiles::Options options;
    options.stagers = {server_->addresses()};
    options.key = key_;
    return options;
  }
  RemoteFiles& remote() {
    if (!server_) start();
    if (!remote_) remote_ = std::make_unique<RemoteFiles>(of_client());
    return *remote_;
  }
  [[nodiscard]] std::string read(const FileStatus& file, std::uint64_t offset, std::size_t bytes) {
    std::vector<std::byte> into(bytes);
    return text_of(std::span(into).first(remote().read(file, into, offset)));
  }
  [[nodiscard]] std::string in(const std::string& name) const { return directory_ / ("in/" + name); }

  store::TemporaryDirectory directory_;
  StagerFiles::Options options_;
  const wire::Key key_ = wire::make_key();
  std::atomic<bool> drains_{false};
  std::atomic<std::size_t> crowd_{0};
  std::string draining_;
  std::unique_ptr<StagerFiles> files_;
  std::unique_ptr<staging::ControlServer> server_;
  std::unique_ptr<RemoteFiles> remote_;
};

TEST_F(FilesOfAStager, AreLookedAtAndRead) {
  std::string content;
  while (content.size() < 5'000'000) content += std::to_string(content.size()) + ' ';   // several answers
  store::write_text(in("a.nc"), content);
  const FileStatus found = remote().status(in("a.nc"), 0);
  EXPECT_EQ(found.kind, FileStatus::Kind::file);
  EXPECT_EQ(found.path, in("a.nc"));
  EXPECT_EQ(found.bytes, content.size());
  struct stat status {};
  ASSERT_EQ(stat(in("a.nc").c_str(), &status), 0);
  EXPECT_EQ(found.modified_seconds, status.st_mtim.tv_sec);
  EXPECT_EQ(found.modified_nanoseconds, status.st_mtim.tv_nsec);
  EXPECT_EQ(found.mode, status.st_mode);
  EXPECT_EQ(read(found, 0, content.size() + 10), content);
  EXPECT_EQ(read(found, 4'999'990, 1000), content.substr(4'999'990));
  EXPECT_EQ(read(found, 2 * content.size(), 10), "");
  EXPECT_EQ(remote().status(in("b.nc"), 0).kind, FileStatus::Kind::none);
  EXPECT_EQ(remote().status(in("missing/b.nc"), 0).kind, FileStatus::Kind::none);
  EXPECT_EQ(remote().status(directory_ / "in", 0).kind, FileStatus::Kind::directory);
  EXPECT_EQ(error_of([&] { return read(remote().status(directory_ / "in", 0), 0, 1); }).code(), Errc::permission);
}

TEST_F(FilesOfAStager, AreThoseBelowItsDirectoriesOnly) {
  fs::create_symlink(directory_ / "out/secret", in("link"));
  fs::create_directory_symlink(directory_ / "out", in("way"));
  fs::create_symlink(in("a"), in("good_link"));
  store::write_text(in("a"), "a");
  for (const std::string& path : {directory_ / "out/secret", in("../out/secret"), in("link"), in("way/secret"), std::string("/etc/passwd"),
                                  directory_ / "out/missing/x", directory_ / "inside"}) {
    EXPECT_EQ(error_of([&] { return remote().status(path, 0); }).code(), Errc::permission) << path;
    FileStatus as_if;
    as_if.path = path;
    struct stat status {};
    if (stat(path.c_str(), &status) == 0) as_if.inode = status.st_ino;
    EXPECT_EQ(error_of([&] { return read(as_if, 0, 1); }).code(), Errc::permission) << path;
  }
  for (const std::string& path : {directory_ / "out/secret", in("way/secret")}) {
    EXPECT_EQ(error_of([&] { return remote().remove(path, 0), 0; }).code(), Errc::permission) << path;
    EXPECT_EQ(error_of([&] { return remote().rename(path, in("b"), 0), 0; }).code(), Errc::permission) << path;
    EXPECT_EQ(error_of([&] { return remote().rename(in("a"), path, 0), 0; }).code(), Errc::permission) << path;
    EXPECT_EQ(error_of([&] { return remote().list(path); }).code(), Errc::permission) << path;
  }
  EXPECT_EQ(store::read_text(directory_ / "out/secret"), "secret");
  EXPECT_EQ(remote().status(in("good_link"), 0).path, in("a"));
  const auto listed = remote().list(in("*"));
  ASSERT_EQ(listed.size(), 2U);   // without the links that lead out
  EXPECT_EQ(listed[0].path, in("a"));
  EXPECT_EQ(listed[1].path, in("good_link"));
  remote().remove(in("link"), 0);   // the link itself is theirs
  EXPECT_EQ(store::read_text(directory_ / "out/secret"), "secret");
}

TEST_F(FilesOfAStager, AreListedPieceByPiece) {
  options_.listed_max = 7;
  fs::create_directory(in("d"));
  std::vector<std::string> expected;
  for (int i = 100; i < 130; ++i) {
    expected.push_back(in("d/chk_" + std::to_string(i) + ".nc"));
    store::write_text(expected.back(), "x");
  }
  store::write_text(in("d/other"), "x");
  std::vector<std::string> found;
  for (const auto& each : remote().list(in("d/chk_*.nc"))) found.push_back(each.path);
  EXPECT_EQ(found, expected);
  EXPECT_TRUE(remote().list(in("missing/*")).empty());
  EXPECT_TRUE(remote().list(in("x*")).empty());
  store::write_text(in("d/odd[1].nc"), "x");   // a name that is there
  ASSERT_EQ(remote().list(in("d/odd[1].nc")).size(), 1U);
  EXPECT_EQ(remote().list(in("d/odd[1].nc")).front().path, in("d/odd[1].nc"));
  store::write_text(in("d/\xff.nc"), "x");   // no message has its name
  EXPECT_EQ(remote().list(in("d/*")).size(), expected.size() + 2);
}

TEST_F(FilesOfAStager, AreNotSearchedForElsewhere) {
  fs::create_directory(in("d"));
  fs::create_directory_symlink(directory_ / "out", in("way"));
  store::write_text(in("d/secret"), "x");
  const auto listed = remote().list(in("*/secret"));   // not by the link
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].path, in("d/secret"));
  EXPECT_TRUE(remote().list(in("d*/../../out/s*")).empty());
  EXPECT_TRUE(remote().list(in("d*/.*/.*/out/s*")).empty());
  EXPECT_EQ(remote().list(in("d*/../d/s*")).size(), 1U);
}

TEST_F(FilesOfAStager, AreNotSearchedForWithoutEnd) {
  options_.searched_max = 10'000;
  for (int i = 0; i < 30; ++i) fs::create_directory(in("d" + std::to_string(i)));
  std::string pattern = in("*");
  for (int i = 0; i < 100; ++i) pattern += "/../*";   // 30 to the power of 101 names
  EXPECT_EQ(error_of([&] { return remote().list(pattern); }).code(), Errc::out_of_range);
  EXPECT_EQ(remote().list(in("*")).size(), 30U);
}

// Another process makes a link of the directory on the way, again and again.
TEST_F(FilesOfAStager, AreNeverOthersWhileDirectoriesBecomeLinks) {
  fs::create_directory(in("d"));
  fs::create_directory_symlink(directory_ / "out", in("link"));
  start();
  std::atomic<bool> ends{false};
  std::thread exchanging([&] {
    while (!ends) {
      for (const auto& [from, to] : {std::pair("d", "other"), std::pair("link", "d"), std::pair("d", "link"), std::pair("other", "d")}) {
        fs::rename(in(from), in(to));
        std::this_thread::yield();
      }
    }
  });
  for (int i = 0; i < 5000; ++i) {
    const Errc code = error_of([&] { return files_->answer("remove_file", {{"path", in("d/secret")}}, 1); }).code();
    EXPECT_TRUE(code == Errc::not_found || code == Errc::permission) << static_cast<int>(code);
  }
  ends = true;
  exchanging.join();
  EXPECT_TRUE(fs::exists(directory_ / "out/secret"));
}

TEST_F(FilesOfAStager, AreReadToTheEndWhenTheirNamesAreThoseOfOthers) {
  store::write_text(in("a"), "old");
  const FileStatus old = remote().status(in("a"), 0);
  EXPECT_EQ(read(old, 0, 1), "o");
  store::write_text(in("b"), "new");
  remote().rename(in("b"), in("a"), 0);
  EXPECT_EQ(read(old, 1, 10), "ld");
  EXPECT_EQ(read(remote().status(in("a"), 0), 0, 10), "new");
  RemoteFiles other(of_client());   // to which the stager has not opened it
  std::vector<std::byte> into(3);
  EXPECT_EQ(error_of([&] { return other.read(old, into, 0); }).code(), Errc::not_found);
}

TEST_F(FilesOfAStager, AreClosedWhenTooManyAreOpenOrTheClientHasGone) {
  const auto open_files = [] { return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()); };
  options_.open_files_of_client = 3;
  static_cast<void>(remote().list(in("*")));   // the connection is there
  const auto before = open_files();
  std::vector<FileStatus> all;
  for (int i = 0; i < 10; ++i) {
    store::write_text(in(std::to_string(i)), std::to_string(i));
    all.push_back(remote().status(in(std::to_string(i)), 0));
    EXPECT_EQ(read(all.back(), 0, 10), std::to_string(i));
  }
  EXPECT_EQ(open_files(), before + 3);
  EXPECT_EQ(files_->counts().open, 3U);
  EXPECT_EQ(files_->counts().read_bytes, 10U);
  EXPECT_EQ(read(all[0], 0, 10), "0");   // opened once more
  remote_.reset();
  for (int i = 0; i < 10'000 && open_files() > before - 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(open_files(), before - 2);   // those, and the connection on both sides
}

TEST_F(FilesOfAStager, AreClosedWhenTheClientHasGoneBeforeItsAnswer) {
  store::write_text(in("a"), "a");
  struct stat status {};
  ASSERT_EQ(stat(in("a").c_str(), &status), 0);
  std::promise<void> go;
  std::atomic<bool> is_read{false};
  options_.answers_bytes = [&, wait = go.get_future().share()] {
    is_read = true;
    wait.wait();
    return std::size_t{0};
  };
  start();
  {
    staging::ControlClient client(server_->addresses(), key_, long_enough);
    const json request = staging::to_json(staging::ReadRequest{in("a"), status.st_ino, 0, 1});
    EXPECT_EQ(error_of([&] { return client.ask(request, 0.1); }).code(), Errc::timeout);
  }
  const auto comes = [](const auto& what) {
    for (int i = 0; i < 10'000 && !what(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return what();
  };
  EXPECT_TRUE(comes([&] { return is_read && server_->counts().connections == 0; }));
  go.set_value();
  EXPECT_TRUE(comes([&] { return server_->counts().requests == 1; }));
  EXPECT_TRUE(comes([&] { return files_->counts().open == 0; }));
}

TEST_F(FilesOfAStager, AreNeverPipesOrDevices) {
  ASSERT_EQ(mkfifo(in("pipe").c_str(), 0600), 0);
  const FileStatus pipe = remote().status(in("pipe"), 0);
  EXPECT_EQ(pipe.kind, FileStatus::Kind::other);
  EXPECT_EQ(error_of([&] { return read(pipe, 0, 1); }).code(), Errc::io);
}

TEST_F(FilesOfAStager, AreRemovedAndRenamed) {
  store::write_text(in("a"), "a");
  fs::create_directory(in("d"));
  remote().rename(in("a"), in("d/b"), 0);
  EXPECT_EQ(store::read_text(in("d/b")), "a");
  EXPECT_EQ(error_of([&] { return remote().remove(in("a"), 0), 0; }).code(), Errc::not_found);
  EXPECT_EQ(error_of([&] { return remote().rename(in("d"), in("e"), 0), 0; }).code(), Errc::unsupported);
  EXPECT_NE(error_of([&] { return remote().remove(in("d"), 0), 0; }).code(), Errc::invalid_state);
  for (const char* name : {"d/..", "d/.", "d/"}) {
    EXPECT_NE(error_of([&] { return files_->answer("remove_file", {{"path", in(name)}}, 1).text; }).code(), Errc::invalid_state) << name;
  }
  EXPECT_TRUE(fs::exists(in("d/b")));
  remote().remove(in("d/b"), 0);
  EXPECT_FALSE(fs::exists(in("d/b")));
}

TEST_F(FilesOfAStager, AreWaitedForWhileAJobDrainsThem) {
  store::write_text(in("a"), "old");
  draining_ = in("a");
  drains_ = true;
  EXPECT_EQ(error_of([&] { return remote().status(in("a"), 0.1); }).code(), Errc::timeout);
  EXPECT_EQ(error_of([&] { return remote().remove(in("a"), 0.1), 0; }).code(), Errc::timeout);
  EXPECT_EQ(error_of([&] { return remote().rename(in("a"), in("b"), 0.1), 0; }).code(), Errc::timeout);
  store::write_text(in("c"), "c");
  EXPECT_EQ(error_of([&] { return remote().rename(in("c"), in("a"), 0.1), 0; }).code(), Errc::timeout);
  EXPECT_EQ(store::read_text(in("a")), "old");
  auto removing = std::async(std::launch::async, [&] { remote().remove(in("a"), long_enough); });
  EXPECT_EQ(removing.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  store::write_text(in("a"), "new");
  drains_ = false;
  removing.get();
  EXPECT_FALSE(fs::exists(in("a")));
}

TEST_F(FilesOfAStager, AreListedBeforeTheyArePublished) {
  fs::create_directory(in("d"));
  fs::create_directory_symlink(in("d"), in("link"));
  store::write_text(in("d/chk_1"), "1");
  options_.draining_paths = [this] { return std::vector{draining_, directory_ / "out/chk_3"}; };
  draining_ = in("d/chk_2");
  drains_ = true;
  for (const std::string front : {"d/", "link/"}) {
    for (const std::string name : {"chk_*", "chk_2"}) {
      const auto found = remote().list(in(front + name));
      ASSERT_FALSE(found.empty()) << front << name;
      EXPECT_EQ(found.size(), name == "chk_*" ? 2U : 1U);
      EXPECT_EQ(found.back().path, in(front + "chk_2"));
      EXPECT_TRUE(found.back().is_draining);
      EXPECT_EQ(found.back().kind, FileStatus::Kind::none);
    }
  }
  EXPECT_TRUE(remote().list(in("chk_*")).empty());
  store::write_text(in("d/chk_2"), "of before");
  EXPECT_EQ(remote().list(in("d/chk_*")).size(), 2U);   // once
}

TEST_F(FilesOfAStager, AreReadLaterWhenClientsDoNotTakeTheirAnswers) {
  store::write_text(in("a"), "a");
  const FileStatus file = remote().status(in("a"), 0);
  crowd_ = options_.answers_bytes_max + 1;
  auto reading = std::async(std::launch::async, [&] { return read(file, 0, 10); });
  EXPECT_EQ(reading.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  EXPECT_EQ(remote().status(in("a"), 0).bytes, 1U);   // other questions are answered
  crowd_ = 0;
  EXPECT_EQ(reading.get(), "a");
}

TEST_F(FilesOfAStager, AreFoundAgainWhenTheStagerIsStartedAgain) {
  store::write_text(in("a"), "abc");
  start();
  auto options = of_client();
  options.restart_seconds = long_enough;
  options.find_again = [this] { return std::optional(RemoteFiles::Addresses{server_->addresses()}); };
  RemoteFiles files(options);
  const FileStatus file = files.status(in("a"), 0);
  std::vector<std::byte> into(3);
  EXPECT_EQ(files.read(file, into, 0), 3U);
  server_.reset();
  start();
  EXPECT_EQ(files.read(file, into, 0), 3U);
  server_.reset();
  start();
  files.remove(in("a"), 0);
  EXPECT_FALSE(fs::exists(in("a")));
}

TEST_F(FilesOfAStager, AreThoseOfAChildProcessToo) {
  store::write_text(in("a"), "abc");
  const FileStatus file = remote().status(in("a"), 0);
  const pid_t child = fork();
  if (child == 0) _exit(read(file, 0, 3) == "abc" ? 0 : 1);
  EXPECT_EQ(read(file, 0, 3), "abc");
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read(file, 1, 3), "bc");
}

TEST_F(FilesOfAStager, AreNotAskedForWhereTheirDirectoryIsHere) {
  fs::create_directory_symlink(directory_ / "in", directory_ / "also");
  start();
  struct stat status {};
  ASSERT_EQ(stat(in("").c_str(), &status), 0);
  auto options = of_client();
  options.directories = {{directory_ / "in", status.st_ino}, {directory_ / "also", status.st_ino}, {directory_ / "out", status.st_ino}};
  RemoteFiles files(options);
  EXPECT_FALSE(files.may_have(in("a")));
  EXPECT_FALSE(files.may_have(directory_ / "also/a"));
  EXPECT_TRUE(files.may_have(directory_ / "out/a"));   // another one
  EXPECT_EQ(files.status(directory_ / "also", 0).inode, status.st_ino);
}

TEST_F(FilesOfAStager, AreKnownByWhatThePathsSay) {
  options_.also_called = {"/scratch/run7"};
  EXPECT_TRUE(remote().may_have(in("a")));
  EXPECT_TRUE(remote().may_have("/scratch/run7"));
  EXPECT_TRUE(remote().may_have("/scratch/x/../run7/a/b"));
  EXPECT_FALSE(remote().may_have("/scratch/run70/a"));
  EXPECT_FALSE(remote().may_have("/etc/passwd"));
  EXPECT_FALSE(remote().may_have(directory_ / "out/secret"));
}

// What a client with the key may say that is no client of ours.
TEST_F(FilesOfAStager, AreNotForRequestsThatMakeNoSense) {
  start();
  const std::vector<json> no_paths = {nullptr, 7, "", "relative", "/zero\0byte"s, "/" + std::string(9000, 'x'), json::array(),
                                      json::object()};
  const std::vector<json> no_numbers = {nullptr, -1, 1.5, "1", 1e30, json::array(), ~std::uint64_t{0}};
  const std::vector<std::pair<std::string, json>> requests = {{"file_status", {{"path", in("a")}}},
                                                              {"list_files", {{"pattern", in("*")}}},
                                                              {"read_file", {{"path", in("a")}, {"offset", 0}, {"bytes", 1}}},
                                                              {"remove_file", {{"path", in("a")}}},
                                                              {"rename_file", {{"from", in("a")}, {"to", in("b")}}}};
  const auto refusal_of = [&](const std::string& ask, const json& request) {
    return error_of([&] { return files_->answer(ask, request, 1).text; });
  };
  for (const auto& [ask, good] : requests) {
    for (const json& nonsense : {json::object(), json::array(), json(), json(1), json("x")}) {
      EXPECT_EQ(refusal_of(ask, nonsense).code(), Errc::invalid_argument) << ask << nonsense;
    }
    for (const auto& [key, value] : good.items()) {
      for (const json& wrong : value.is_string() ? no_paths : no_numbers) {
        json request = good;
        request["inode"] = 1;
        request["after"] = "";
        request[key] = wrong;
        EXPECT_EQ(refusal_of(ask, request).code(), Errc::invalid_argument) << ask << ' ' << key << ' ' << wrong.dump().substr(0, 99);
      }
    }
  }
  const json too_much = {{"path", in("a")}, {"inode", 1}, {"offset", 0}, {"bytes", staging::read_bytes_max + 1}};
  EXPECT_EQ(refusal_of("read_file", too_much).code(), Errc::invalid_argument);
  for (const json& wrong : {json(nullptr), json(-1), json("x")}) {
    const json request = {{"path", in("a")}, {"inode", wrong}, {"offset", 0}, {"bytes", 1}};
    EXPECT_EQ(refusal_of("read_file", request).code(), Errc::invalid_argument);
  }
}

}  // namespace
}  // namespace glean::cli
