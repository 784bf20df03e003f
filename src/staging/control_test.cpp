// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>
#include <set>

#include "staging/test_service.hpp"
#include "wire/channel.hpp"

namespace glean::staging {
namespace {

using nlohmann::json;

TEST(Control, AnswersClientsAtAnyKindOfAddress) {
  const TemporaryDirectory directory;
  auto options = options_at({"127.0.0.1:0", "localhost:0", "unix:" + directory.path + "/control"});
  if (::access("/proc/net/if_inet6", F_OK) == 0) options.listen.push_back("[::1]:0");
  ControlServer server(options, echo);
  ASSERT_GE(server.addresses().size(), 3u);
  for (const std::string& address : server.addresses()) {
    ControlClient client({address}, options.key, long_enough);
    EXPECT_EQ(client.address(), address);
    EXPECT_EQ(client.ask({{"n", 1}}, long_enough)["asked"], (json{{"n", 1}})) << address;
    EXPECT_EQ(client.ask(std::string(500'000, 'x'), long_enough)["asked"], std::string(500'000, 'x'));
  }
  EXPECT_EQ(server.counts().requests, 2 * server.addresses().size());
}

TEST(Control, SaysAllAddressesWhenItListensAtAll) {
  const auto options = options_at({"0.0.0.0:0"});
  const ControlServer server(options, echo);
  ASSERT_FALSE(server.addresses().empty());
  EXPECT_EQ(server.addresses().back().rfind("127.0.0.1:", 0), 0u);
  for (const std::string& address : server.addresses()) EXPECT_EQ(address.find("0.0.0.0:"), std::string::npos);
  EXPECT_EQ(ControlClient(server.addresses(), options.key, long_enough).ask(1, long_enough)["asked"], 1);
}

TEST(Control, AnswersManyThreadsOfManyClients) {
  const auto options = options_at();
  ControlServer server(options, echo);
  ControlClient one(server.addresses(), options.key, long_enough), other(server.addresses(), options.key, long_enough);
  EXPECT_NE(one.ask(0, long_enough)["by"], other.ask(0, long_enough)["by"]);
  std::vector<std::future<bool>> all;
  for (int thread = 0; thread < 40; ++thread) {   // more than may be on their way at once
    all.push_back(std::async(std::launch::async, [&, thread] {
      ControlClient& client = thread % 2 == 0 ? one : other;
      for (int i = 0; i < 20; ++i) {
        const json request = {thread, i, std::string(10'000, 'x')};
        if (client.ask(request, long_enough)["asked"] != request) return false;
      }
      return true;
    }));
  }
  for (auto& each : all) EXPECT_TRUE(each.get());
}

TEST(Control, AnswersWithBytes) {
  const auto options = options_at();
  std::vector<std::byte> bytes(1'000'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i);
  ControlServer server(options, [&](const json& request, const Peer&) {
    return Answer({{"n", request}}, {bytes.begin(), bytes.begin() + request.get<int>()});
  });
  ControlClient client(server.addresses(), options.key, long_enough);
  const std::vector<json> requests = {1'000'000, 0, 1, 999'999};   // on their way at once
  const auto answers = client.ask_all(requests, long_enough);
  ASSERT_EQ(answers.size(), requests.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].text, (json{{"n", requests[i]}}));
    EXPECT_TRUE(std::equal(answers[i].bytes.begin(), answers[i].bytes.end(), bytes.begin(), bytes.begin() + requests[i].get<int>())) << i;
  }
  EXPECT_TRUE(client.is_connected());
  EXPECT_TRUE(comes_true([&] { return server.counts().answer_bytes == 0; }));
}

TEST(Control, TellsWhenAConnectionIsGone) {
  auto options = options_at();
  std::promise<std::uint64_t> gone;
  options.gone = [&](std::uint64_t connection) { gone.set_value(connection); };
  ControlServer server(options, echo);
  auto client = std::make_unique<ControlClient>(server.addresses(), options.key, long_enough);
  const auto number = client->ask(1, long_enough)["by"].get<std::uint64_t>();
  client.reset();
  EXPECT_EQ(gone.get_future().get(), number);
}

TEST(Control, ThrowsWhatTheHandlerThrows) {
  const auto options = options_at();
  ControlServer server(options, echo);
  ControlClient client(server.addresses(), options.key, long_enough);
  const auto error = error_of([&] { return client.ask("fail", long_enough); });
  EXPECT_EQ(error.code(), base::Errc::no_space);
  EXPECT_STREQ(error.what(), "no room for the job 'x\xef\xbf\xbd'");
  EXPECT_EQ(error.hint(), "take another stager");
  const auto broken = error_of([&] { return client.ask("break", long_enough); });
  EXPECT_EQ(broken.code(), base::Errc::io);
  EXPECT_STREQ(broken.what(), "a bug");
  const auto too_long = error_of([&] { return client.ask(std::string(2 << 20, 'x'), long_enough); });
  EXPECT_EQ(too_long.code(), base::Errc::invalid_argument);
  const auto long_answer = error_of([&] { return client.ask(std::string(default_message_bytes_max - 12, 'x'), long_enough); });
  EXPECT_EQ(long_answer.code(), base::Errc::io);
  json deep = 1;
  for (int i = 0; i < 1000; ++i) deep = json::array({deep});
  EXPECT_EQ(error_of([&] { return client.ask(deep, long_enough); }).code(), base::Errc::invalid_argument);
  EXPECT_EQ(client.ask(1, long_enough)["asked"], 1);   // it goes on
}

TEST(Control, IsForThoseWhoHaveTheKey) {
  const TemporaryDirectory directory;
  const auto options = options_at({"127.0.0.1:0", "unix:" + directory.path + "/control"});
  ControlServer server(options, echo);
  for (const std::string& address : server.addresses()) {
    const auto error = error_of([&] { return ControlClient({address}, wire::make_key(), long_enough).address(); });
    EXPECT_EQ(error.code(), base::Errc::permission);
    EXPECT_EQ(error.what(), "no connection to the staging service: " + address + " (it has another key)");
    EXPECT_NE(error.hint().find("key file"), std::string::npos);
  }
}

TEST(Control, FindsTheServiceBehindOneOfItsAddresses) {
  const auto options = options_at();
  ControlServer server(options, echo), other(options_at(), echo);
  const auto nobody = [] {   // a port that no process listens at
    ControlServer gone(options_at(), echo);
    return gone.addresses().front();
  }();
  const std::string good = server.addresses().front();
  EXPECT_EQ(ControlClient({nobody, other.addresses().front(), good}, options.key, long_enough).address(), good);
  const auto refused = error_of([&] { return ControlClient({nobody}, options.key, long_enough).address(); });
  EXPECT_EQ(refused.code(), base::Errc::io);
  EXPECT_NE(std::string(refused.what()).find(nobody), std::string::npos);
}

TEST(Control, NamesTheServiceThatDoesNotAnswer) {
  const OwnedSocket deaf = listen_at("127.0.0.1:0");
  const std::string address = addresses_of(deaf).front();
  const auto error = error_of([&] { return ControlClient({address}, wire::make_key(), 0.1).address(); });
  EXPECT_EQ(error.code(), base::Errc::timeout);
  EXPECT_NE(std::string(error.what()).find(address), std::string::npos);

  std::promise<void> done;
  const auto is_done = done.get_future().share();
  const auto options = options_at();
  ControlServer server(options, [&](const json& request, const Peer&) { return request == "wait" ? (is_done.wait(), request) : request; });
  ControlClient client(server.addresses(), options.key, long_enough);
  const auto late = error_of([&] { return client.ask("wait", 0.05); });
  EXPECT_EQ(late.code(), base::Errc::timeout);
  EXPECT_NE(std::string(late.what()).find(server.addresses().front()), std::string::npos);
  EXPECT_EQ(client.ask("next", long_enough), "next");
  done.set_value();
  EXPECT_EQ(client.ask("next", long_enough), "next");   // the late answer is nobody's
}

TEST(Control, EndsWithTheService) {
  const auto options = options_at();
  auto server = std::make_unique<ControlServer>(options, echo);
  ControlClient client(server->addresses(), options.key, long_enough);
  EXPECT_EQ(client.ask(1, long_enough)["asked"], 1);
  server.reset();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(error_of([&] { return client.ask(1, long_enough); }).code(), base::Errc::io);
}

TEST(Control, StopsWhenRunningHandlersAreDone) {
  const TemporaryDirectory directory;
  const std::string address = "unix:" + directory.path + "/control";
  std::promise<void> started, done;
  const auto is_done = done.get_future().share();
  const auto options = options_at({address});
  ControlServer server(options, [&](const json& request, const Peer&) {
    started.set_value();
    is_done.wait();
    return request;
  });
  ControlClient client({address}, options.key, long_enough), idle({address}, options.key, long_enough);
  auto answer = std::async(std::launch::async, [&] { return client.ask(std::string(900'000, 'x'), long_enough); });
  started.get_future().wait();
  auto stopping = std::async(std::launch::async, [&] { server.stop(); });
  // The doors are closed while the handler runs.
  EXPECT_TRUE(comes_true([&] { return !std::filesystem::exists(directory.path + "/control"); }));
  EXPECT_EQ(error_of([&] { return ControlClient({address}, options.key, long_enough).address(); }).code(), base::Errc::not_found);
  EXPECT_EQ(stopping.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  done.set_value();
  EXPECT_EQ(answer.get(), std::string(900'000, 'x'));
  stopping.get();
  EXPECT_EQ(server.counts().connections, 0u);
  server.stop();
}

}  // namespace
}  // namespace glean::staging
