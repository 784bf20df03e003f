// SPDX-License-Identifier: BSD-3-Clause
//
// Peers that are processes of their own, which are killed and stopped.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "transport/tcp/messages.hpp"
#include "transport/tcp/test_peers.hpp"
#include "transport/tcp/test_proxy.hpp"

namespace glean::transport {
namespace {

// One of two peers, which sends every head back. Made before there are any threads.
class OtherProcess {
 public:
  explicit OtherProcess(int number) {
    int from_child[2];
    EXPECT_EQ(::pipe(from_child), 0);
    const std::string reached = door_.addresses();
    pid_ = ::fork();
    if (pid_ == 0) run(number, reached, from_child[1]);
    ::close(from_child[1]);
    for (char next = 0; ::read(from_child[0], &next, 1) == 1 && next != '\n';) addresses_ += next;
    ::close(from_child[0]);
  }
  ~OtherProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  [[nodiscard]] const std::string& addresses() const { return addresses_; }
  [[nodiscard]] std::unique_ptr<Messages> meet(int self, const std::string& addresses) {
    return make_tcp_messages(std::move(door_), self, 2, {{1 - self, addresses}}, key_, long_enough);
  }
  void send(int signal) const { EXPECT_EQ(::kill(pid_, signal), 0); }

 private:
  [[noreturn]] void run(int number, const std::string& reached, int to_parent) {
    { const TcpDoor not_mine = std::move(door_); }
    TcpDoor own;
    const std::string addresses = own.addresses() + '\n';
    if (::write(to_parent, addresses.data(), addresses.size()) < 0) ::_exit(1);
    const auto messages = make_tcp_messages(std::move(own), number, 2, {{1 - number, reached}}, key_, long_enough);
    try {
      for (;;) {
        if (const auto arrival = messages->arrival()) messages->send(arrival->peer, arrival->head);
      }
    } catch (const base::Error&) {
      ::_exit(0);   // the test has ended
    }
  }

  const TcpKey key_ = make_tcp_key();
  TcpDoor door_;
  std::string addresses_;
  pid_t pid_ = -1;
};

class ProcessWithNumber : public testing::TestWithParam<int> {};

// Whichever of the two has connected.
TEST_P(ProcessWithNumber, IsMissedAtOnceWhenItIsKilled) {
  const int number = GetParam();
  OtherProcess other(number);
  const auto messages = other.meet(1 - number, other.addresses());
  messages->send(number, bytes_of("here"));
  EXPECT_EQ(text_of(next_arrival(*messages).head), "here");
  const std::vector<std::byte> body(base::MiB);
  messages->send(number, bytes_of("never taken"), body, 1);
  EXPECT_EQ(text_of(next_arrival(*messages).head), "never taken");

  const auto begin = std::chrono::steady_clock::now();
  other.send(SIGKILL);

  const auto error = next_error(*messages);
  EXPECT_TRUE(std::string(error.what()).starts_with("the connection to node " + std::to_string(number) + " is lost: ")) << error.what();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_EQ(messages->completed(), std::vector<Messages::Token>{1});   // its memory is free
}

INSTANTIATE_TEST_SUITE_P(Each, ProcessWithNumber, testing::Values(0, 1));

// The kernel takes connections for it meanwhile.
TEST(StoppedProcess, IsNotLostThoughItsConnectionBreaks) {
  OtherProcess other(1);
  Proxy proxy(other.addresses(), [](int) { return Fate{}; });
  const auto messages = other.meet(0, proxy.addresses());
  other.send(SIGSTOP);
  messages->send(1, bytes_of("hello"));
  proxy.cut();
  EXPECT_TRUE(comes_true([&] {
    EXPECT_FALSE(messages->arrival());
    return proxy.connections() > 1;
  }));
  other.send(SIGCONT);

  EXPECT_EQ(text_of(next_arrival(*messages).head), "hello");
}

}  // namespace
}  // namespace glean::transport
