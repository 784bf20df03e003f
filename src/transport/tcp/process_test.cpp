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
  explicit OtherProcess(int number, const Tree& tree = 2) : number_(number), tree_(tree) { start(0, door_.addresses()); }
  ~OtherProcess() { end(); }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  [[nodiscard]] const std::string& addresses() const { return addresses_; }
  [[nodiscard]] const std::string& own_addresses() const { return door_.addresses(); }
  [[nodiscard]] TcpDoor take_door() { return std::move(door_); }
  [[nodiscard]] const TcpKey& key() const { return key_; }
  [[nodiscard]] std::unique_ptr<Messages> meet(int self, const std::string& addresses) {
    return make_tcp_messages(std::move(door_), self, tree_, {{1 - self, addresses}}, key_, long_enough,
                             {.replaced_seconds = tree_.stagers() == 0 ? 0 : long_enough});
  }
  // Another process at the same port, which meets the one that has met this one before.
  void replace(const std::string& reached) {
    const auto port = static_cast<std::uint16_t>(std::stoi(addresses_));
    end();
    start(port, reached);
  }
  void send(int signal) const { EXPECT_EQ(::kill(pid_, signal), 0); }

 private:
  void start(std::uint16_t port, std::string reached) {   // a copy: the child ends the door
    int from_child[2];
    EXPECT_EQ(::pipe(from_child), 0);
    pid_ = ::fork();
    if (pid_ == 0) run(port, reached, from_child[1]);
    ::close(from_child[1]);
    addresses_.clear();
    for (char next = 0; ::read(from_child[0], &next, 1) == 1 && next != '\n';) addresses_ += next;
    ::close(from_child[0]);
  }
  void end() const {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  [[noreturn]] void run(std::uint16_t port, const std::string& reached, int to_parent) {
    { const TcpDoor not_mine = std::move(door_); }
    TcpDoor own(port);
    const std::string addresses = own.addresses() + '\n';
    if (::write(to_parent, addresses.data(), addresses.size()) < 0) ::_exit(1);
    const auto messages = make_tcp_messages(std::move(own), number_, tree_, {{1 - number_, reached}}, key_, long_enough);
    try {
      for (;;) {
        if (const auto arrival = messages->arrival()) messages->send(arrival->peer, arrival->head);
      }
    } catch (const base::Error&) {
      ::_exit(0);   // the test has ended
    }
  }

  const int number_;
  const Tree tree_;
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

class StagerWithNumber : public testing::TestWithParam<int> {};

// All peers are stagers.
TEST_P(StagerWithNumber, IsReplacedWhenItIsKilled) {
  const int number = GetParam();
  OtherProcess other(number, Tree(2, 2));
  const std::string here = other.own_addresses();
  const auto messages = other.meet(1 - number, other.addresses());
  messages->send(number, bytes_of("before"));
  EXPECT_EQ(text_of(next_arrival(*messages).head), "before");
  const std::vector<std::byte> body(base::MiB);
  messages->send(number, bytes_of("never taken"), body, 1);
  EXPECT_EQ(text_of(next_arrival(*messages).head), "never taken");

  other.send(SIGKILL);
  if (number == 0) other.replace(here);   // before it is missed, or after
  std::vector<int> replaced;
  EXPECT_TRUE(comes_true([&] {
    EXPECT_FALSE(messages->arrival());
    replaced = messages->take_replaced();
    return !replaced.empty();
  }));
  EXPECT_EQ(replaced, std::vector<int>{number});
  EXPECT_FALSE(messages->reaches(number));
  EXPECT_EQ(messages->completed(), std::vector<Messages::Token>{1});
  messages->send(number, bytes_of("after"), body, 2);
  if (number == 1) other.replace(here);

  EXPECT_EQ(text_of(next_arrival(*messages).head), "after");
  EXPECT_TRUE(messages->reaches(number));
}

INSTANTIATE_TEST_SUITE_P(Each, StagerWithNumber, testing::Values(0, 1));

TEST(Stager, IsLostWhenNoneTakesItsPlace) {
  OtherProcess other(1, Tree(2, 1));
  const auto messages = make_tcp_messages(other.take_door(), 0, Tree(2, 1), {{1, other.addresses()}}, other.key(), long_enough,
                                          {.replaced_seconds = 0.3});
  other.send(SIGKILL);
  const auto error = next_error(*messages);
  EXPECT_TRUE(std::string(error.what()).starts_with("after 0.3 s there is no connection to node 1 ")) << error.what();
  EXPECT_EQ(messages->take_replaced(), std::vector<int>{1});
}

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
