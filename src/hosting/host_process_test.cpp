// SPDX-License-Identifier: BSD-3-Clause
//
// Real processes: shell scripts that answer, die, hang and print.
#include "hosting/host_process.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace glean::hosting {
namespace {

HostTerms shell(const std::string& script, std::vector<std::string>* lines = nullptr) {
  return {.words = {"sh", "-c", script},
          .memory_bytes = 0,
          .said = [lines](const std::string& line) { if (lines != nullptr) lines->push_back(line); },
          .is_stopping = [] { return false; }};
}

// What is thrown where the process is lost.
std::string loss(HostTerms terms, double seconds) {
  try {
    HostProcess process(std::move(terms));
    static_cast<void>(process.ask("message", seconds));
  } catch (const HostLost& lost) {
    return lost.what();
  }
  return "it has answered";
}

// The length and the text "yes", from the socket on descriptor 3.
constexpr char yes[] = R"(head -c 15 <&3 >/dev/null; printf '\003\0\0\0\0\0\0\0yes' >&3)";

TEST(HostProcess, Answers) {
  std::vector<std::string> lines;
  HostProcess process(shell(std::string("echo begins; ") + yes + "; echo ends >&2; " + yes, &lines));

  EXPECT_EQ(process.ask("message", 20), "yes");
  EXPECT_EQ(process.ask("message", 20), "yes");
  EXPECT_EQ(lines, (std::vector<std::string>{"begins", "ends"}));
}

TEST(HostProcess, SaysHowItHasEnded) {
  EXPECT_EQ(loss(shell("exit 3"), 20), "it has ended with code 3");
  EXPECT_EQ(loss(shell("echo oh; kill -SEGV $$"), 20), "it was ended by signal 11 (Segmentation fault); it said last:\noh");
  EXPECT_NE(loss({.words = {"/no/such/command"}, .memory_bytes = 0, .said = {}, .is_stopping = {}}, 20).find("cannot be started"),
            std::string::npos);
}

TEST(HostProcess, IsEndedAtTheDeadlineWithWhatItHasStarted) {
  const std::uint64_t begin = base::now_ns();
  EXPECT_EQ(loss(shell("sleep 600 & sleep 600"), 0.5), "it has not done it within 0.5 s, and was ended");
  EXPECT_LT(base::seconds(base::now_ns() - begin), 10);
}

TEST(HostProcess, IsReadWhateverItPrints) {
  std::vector<std::string> lines;
  HostProcess process(shell(std::string("head -c 30000000 /dev/zero | tr '\\0' x; echo; ") + yes, &lines));

  EXPECT_EQ(process.ask("message", 60), "yes");
  EXPECT_EQ(lines.front(), std::string(1000, 'x'));
}

TEST(HostProcess, HasNoMoreMemoryThanItMay) {
  HostTerms terms = shell("x=x; while :; do x=$x$x; done");
  terms.memory_bytes = 64 * base::MiB;
  const std::string why = loss(std::move(terms), 60);
  EXPECT_TRUE(why.starts_with("it has ended with code") || why.starts_with("it was ended by signal")) << why;   // as the shell likes
}

}  // namespace
}  // namespace glean::hosting
