// SPDX-License-Identifier: BSD-3-Clause
//
// A helper process drains: what happens when it cannot be started, when it is killed, and when it is all that is left.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "ranks.hpp"

namespace glean::test {
namespace {

class Helper : public Ranks {
 protected:
  static Settings helping(Settings more = {}) {
    more.insert({"drain.place", "process"});
    return with(std::move(more));   // GLEAN_DRAIN_COMMAND says which command
  }

  // Names of the pools of this process.
  static std::vector<std::string> pools() {
    std::vector<std::string> names;
    const std::string prefix = "glean." + std::to_string(getuid()) + "." + std::to_string(getpid()) + ".";
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
      if (const auto name = entry.path().filename().string(); name.starts_with(prefix)) names.push_back(name);
    }
    return names;
  }
  // The processes that drain a pool, by their command lines.
  static std::vector<pid_t> helpers_of(const std::string& pool) {
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::ifstream file(entry.path() / "cmdline", std::ios::binary);
      const std::string line(std::istreambuf_iterator<char>(file), {});
      if (line.find(std::string("drain\0/", 7) + pool) != std::string::npos) found.push_back(std::stoi(entry.path().filename()));
    }
    return found;
  }
  template <class Condition>
  static bool wait_until(Condition holds) {
    for (int i = 0; i < 3000; ++i) {
      if (holds()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  // On rank 0, of its only session.
  static void kill_helper() {
    ASSERT_EQ(pools().size(), 1U);
    const auto helpers = helpers_of(pools()[0]);
    ASSERT_EQ(helpers.size(), 1U);
    kill(helpers[0], SIGKILL);
  }
  // Three steps in each of two files. `in_the_middle` is called between steps.
  template <class Call>
  void write(Session& session, const std::string& prefix, Call in_the_middle) {
    Simple first(session, path(prefix + "_first.nc"), 50'000);
    first.whole_step(1);
    in_the_middle(0);
    first.whole_step(2);
    Simple second(session, path(prefix + "_second.nc"), 50'000);
    second.whole_step(1);
    first.whole_step(3);
    first.out.close();
    in_the_middle(1);
    second.whole_step(2);
    second.whole_step(3);
    second.out.close();
    in_the_middle(2);
  }
  void expect_same(const std::string& prefix) {
    expect_same_files(prefix + "_first.nc", "threads_first.nc");
    expect_same_files(prefix + "_second.nc", "threads_second.nc");
  }
  void write_with_threads() {
    Session session(MPI_COMM_WORLD, with({{"drain.place", "threads"}}));
    write(session, "threads", [](int) {});
    session.close();
  }
};

TEST_F(Helper, ThatIsKilledIsReplacedAndAllFilesAreTheSame) {
  write_with_threads();
  const int saved = dup(STDERR_FILENO);
  if (rank_ == 0) ASSERT_NE(freopen(path("messages").c_str(), "w", stderr), nullptr);
  for (int moment = 0; moment < 3; ++moment) {
    const std::string prefix = "killed" + std::to_string(moment);
    Session session(MPI_COMM_WORLD, helping({{"drain.request", "64KiB"}}));
    write(session, prefix, [&](int at) {
      if (at == moment && rank_ == 0) kill_helper();
    });
    session.wait(Level::durable);
    session.close();
  }
  fflush(stderr);
  dup2(saved, STDERR_FILENO);
  close(saved);

  for (int moment = 0; moment < 3; ++moment) expect_same("killed" + std::to_string(moment));
  if (rank_ != 0) return;
  const std::string messages = content("messages");
  EXPECT_NE(messages.find("the helper process that drained is gone: this process goes on"), std::string::npos) << messages;
  EXPECT_TRUE(pools().empty());
}

// As long as this process has no memory for the stack of a thread.
TEST_F(Helper, ThatIsKilledIsReplacedAsSoonAsThatIsPossible) {
  write_with_threads();
  const int saved = dup(STDERR_FILENO);
  if (rank_ == 0) ASSERT_NE(freopen(path("messages").c_str(), "w", stderr), nullptr);
  const auto has_said = [&](const char* text) { return wait_until([&] { return content("messages").find(text) != std::string::npos; }); };
  Session session(MPI_COMM_WORLD, helping());
  write(session, "later", [&](int at) {
    if (at != 1 || rank_ != 0) return;
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlimit now{.rlim_cur = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (1 << 20), .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_AS, &now), 0);
    kill_helper();
    EXPECT_TRUE(has_said("this process cannot go on yet: "));
    ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
    EXPECT_TRUE(has_said("is gone: this process goes on"));
  });
  session.close();
  fflush(stderr);
  dup2(saved, STDERR_FILENO);
  close(saved);
  expect_same("later");
  if (rank_ != 0) return;
  const std::string messages = content("messages");
  EXPECT_EQ(messages.find("cannot go on yet"), messages.rfind("cannot go on yet")) << messages;
}

TEST_F(Helper, ThatIsKilledAtItsBeginIsReplaced) {
  const std::string command = path("killed-at-once");
  if (rank_ == 0) {   // byte 0 of the pool is locked by the process that drains
    std::ofstream(command) << "#!/bin/sh\n"
                              "\"$GLEAN_DRAIN_COMMAND\" \"$@\" || exit 1\n"
                              "pool=$(stat --format=%i \"/dev/shm$2\")\n"
                              "helper() { awk -v pool=\":$pool\\$\" '$6 ~ pool && $7 == 0 && $8 == 0 { print $5 }' /proc/locks; }\n"
                              "until [ -n \"$(helper)\" ]; do :; done\n"
                              "kill -KILL $(helper)\n"
                              "while [ -n \"$(helper)\" ]; do :; done\n";
    std::filesystem::permissions(command, std::filesystem::perms::owner_all);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  write_with_threads();
  Session session(MPI_COMM_WORLD, helping({{"drain.command", command}, {"log.level", "off"}}));
  write(session, "at_once", [](int) {});
  session.close();
  expect_same("at_once");
}

TEST_F(Helper, ThatIsKilledDoesNotStopRanksThatWaitForRoom) {
  constexpr std::uint64_t per_rank = 400'000;   // two steps do not fit
  Session session(MPI_COMM_WORLD, helping({{"log.level", "off"}, {"pool.budget", std::to_string(size_ * 5) + "MiB"}}));
  Simple file(session, path("large.nc"), per_rank);
  file.whole_step(1);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_ == 0) kill_helper();
  for (int step = 2; step < 5; ++step) file.whole_step(step);
  file.out.close();
  session.close();
  EXPECT_EQ(std::filesystem::file_size(path("large.nc")) / 8 / per_rank / static_cast<std::uint64_t>(size_), 5U);
}

TEST_F(Helper, HasGoneWhenTheSessionIsClosed) {
  std::string pool;
  Session session(MPI_COMM_WORLD, helping());
  if (rank_ == 0) {
    ASSERT_EQ(pools().size(), 1U);
    pool = pools()[0];
    EXPECT_EQ(helpers_of(pool).size(), 1U);
  }
  Simple file(session, path("a.nc"));
  file.whole_step(1);
  file.out.close();
  session.close();
  EXPECT_TRUE(exists("a.nc"));
  EXPECT_TRUE(pools().empty());
  if (rank_ == 0) EXPECT_TRUE(wait_until([&] { return helpers_of(pool).empty(); }));
}

// Record locks go when a process closes any descriptor of a file: looking for pools must not do that to its own.
TEST_F(Helper, OfEachOfSeveralSessionsHasRanksThatAreAlive) {
  Session first(MPI_COMM_WORLD, helping());
  const auto names = pools();
  Session second(MPI_COMM_WORLD, with({{"drain.place", "threads"}}));
  Session third(MPI_COMM_WORLD, helping());
  if (rank_ == 0) {
    ASSERT_EQ(names.size(), 1U);
    ASSERT_EQ(pools().size(), 3U);
    for (const std::string& pool : pools()) {
      const std::string command = std::string(std::getenv("GLEAN_DRAIN_COMMAND")) + " recover --dry-run " + pool + " 2> /dev/null";
      EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 2) << pool << " is in use";
    }
  }
  Simple file(first, path("a.nc"));
  file.whole_step(1);
  file.out.close();
  third.close();
  second.close();
  first.close();
  EXPECT_TRUE(exists("a.nc"));
}

TEST_F(Helper, ThatCannotBeStartedIsAnErrorOfAllRanks) {
  EXPECT_ERROR(Session(MPI_COMM_WORLD, helping({{"drain.command", "/nowhere/glean"}})), Errc::not_found,
               "cannot start the helper process '/nowhere/glean drain'");
  EXPECT_ERROR(Session(MPI_COMM_WORLD, helping({{"drain.command", "no-such-command"}})), Errc::not_found, "no-such-command");
  EXPECT_ERROR(Session(MPI_COMM_WORLD, helping({{"drain.command", "/bin/false"}})), Errc::unsupported, "it has failed");
  EXPECT_TRUE(pools().empty());
  Session session(MPI_COMM_WORLD, with({{"drain.place", "threads"}}));   // and nothing is in its way
  session.close();
}

TEST_F(Helper, ThatDoesNotBeginIsAnErrorOfAllRanksAtTheDeadline) {
  if (rank_ == 0) {
    std::ofstream(path("command")) << "#!/bin/sh\nexec sleep 300\n";
    std::filesystem::permissions(path("command"), std::filesystem::perms::owner_all);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  EXPECT_ERROR(Session(MPI_COMM_WORLD, helping({{"drain.command", path("command")}, {"pool.deadline", "1s"}})), Errc::timeout,
               "the command has not ended within 1s");
  EXPECT_LT(MPI_Wtime() - begin, 30);
  EXPECT_TRUE(pools().empty());
}

TEST_F(Helper, CompletesWhatAnExceptionHasLeft) {
  write_with_threads();
  std::string pool;
  try {
    Session session(MPI_COMM_WORLD, helping({{"log.level", "off"}}));
    if (rank_ == 0) pool = pools().at(0);
    write(session, "thrown", [](int) {});
    Simple open(session, path("open.nc"));
    open.whole_step(1);
    throw std::runtime_error("of the application");
  } catch (const std::runtime_error&) {
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_ == 0) EXPECT_TRUE(wait_until([&] { return pools().empty() && helpers_of(pool).empty(); }));
  expect_same("thrown");
  EXPECT_FALSE(exists("open.nc")) << "it was given up";
}

}  // namespace
}  // namespace glean::test
