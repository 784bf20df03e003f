// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <sys/un.h>

#include <atomic>
#include <fstream>
#include <future>

#include "staging/test_service.hpp"
#include "wire/channel.hpp"

namespace glean::staging {
namespace {

// Speaks the protocol by hand, with the key.
class RawClient {
 public:
  RawClient(const std::string& address, const wire::Key& key) : stranger_(address), channel_(wire::Side::connects, key, 1 << 20) {}
  void say_next() { stranger_.say(channel_.take_output()); }
  void ask(std::span<const std::byte> message) {
    channel_.send(message);
    say_next();
  }
  // Takes what comes, until the condition is met.
  template <class Condition>
  [[nodiscard]] bool hears(Condition condition) {
    while (!condition(channel_)) {
      const auto bytes = stranger_.hear();
      std::span<const std::byte> left = bytes;
      if (left.empty() || channel_.receive(left)) return false;
    }
    return true;
  }
  [[nodiscard]] const Stranger& stranger() const { return stranger_; }

 private:
  Stranger stranger_;
  wire::Channel channel_;
};

TEST(ControlLimits, SendAwayAStrangerThatProvesNothing) {
  auto options = options_at();
  options.proof_seconds = 0.05;
  ControlServer server(options, echo);
  ControlClient client(server.addresses(), options.key, long_enough);
  const std::string address = server.addresses().front();
  const Stranger silent(address);
  RawClient polite(address, options.key);
  polite.say_next();
  EXPECT_TRUE(silent.is_sent_away());
  EXPECT_TRUE(polite.stranger().is_sent_away());
  EXPECT_EQ(client.ask(1, long_enough)["asked"], 1);   // one that has proved itself stays
  EXPECT_EQ(server.counts().unproved, 0u);
  EXPECT_EQ(server.counts().connections, 1u);
}

TEST(ControlLimits, SendTheOldestStrangerAwayFirst) {
  auto options = options_at();
  options.unproved_max = 3;
  options.proof_seconds = long_enough;
  ControlServer server(options, echo);
  std::vector<Stranger> strangers;
  for (int i = 0; i < 4; ++i) strangers.emplace_back(server.addresses().front());
  EXPECT_TRUE(strangers.front().is_sent_away());
  EXPECT_EQ(ControlClient(server.addresses(), options.key, long_enough).ask(1, long_enough)["asked"], 1);
  EXPECT_TRUE(strangers[1].is_sent_away());
  EXPECT_EQ(server.counts().unproved, 2u);
}

TEST(ControlLimits, LetThoseStayLongerThatSpeakTheProtocol) {
  auto options = options_at();
  options.unproved_max = 3;
  ControlServer server(options, echo);
  RawClient slow(server.addresses().front(), options.key);
  slow.say_next();
  EXPECT_TRUE(slow.hears([](const wire::Channel& channel) { return channel.has_output(); }));
  std::vector<Stranger> strangers;
  for (int i = 0; i < 10; ++i) strangers.emplace_back(server.addresses().front());
  EXPECT_TRUE(strangers[7].is_sent_away());
  slow.say_next();
  EXPECT_TRUE(slow.hears([](const wire::Channel& channel) { return channel.is_open(); }));
}

TEST(ControlLimits, SendAwayWhatIsTooManyInAll) {
  auto options = options_at();
  options.connections_max = 2;
  ControlServer server(options, echo);
  ControlClient one(server.addresses(), options.key, long_enough), other(server.addresses(), options.key, long_enough);
  EXPECT_EQ(one.ask(1, long_enough)["asked"], 1);
  EXPECT_EQ(other.ask(1, long_enough)["asked"], 1);
  const auto error = error_of([&] { return ControlClient(server.addresses(), options.key, 0.1).address(); });
  EXPECT_EQ(error.code(), base::Errc::timeout);
  EXPECT_EQ(one.ask(2, long_enough)["asked"], 2);
}

TEST(ControlLimits, LeaveRequestsInTheSocketThatAreTooManyAtOnce) {
  std::promise<void> done;
  const auto is_done = done.get_future().share();
  std::atomic<int> running{0};
  auto options = options_at();
  options.threads = 8;
  options.requests_max = 3;
  ControlServer server(options, [&](const nlohmann::json& request, const Peer&) {
    ++running;
    is_done.wait();
    return request;
  });
  ControlClient client(server.addresses(), options.key, long_enough);
  std::vector<std::future<nlohmann::json>> all;
  for (int i = 0; i < 10; ++i) all.push_back(std::async(std::launch::async, [&, i] { return client.ask(i, long_enough); }));
  EXPECT_TRUE(comes_true([&] { return running == 3; }));
  ControlClient other(server.addresses(), options.key, long_enough);
  auto of_other = std::async(std::launch::async, [&] { return other.ask("x", long_enough); });
  EXPECT_TRUE(comes_true([&] { return running >= 4; }));
  EXPECT_EQ(running, 4);   // three of the first, and the one of the other
  done.set_value();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)].get(), i);
  EXPECT_EQ(of_other.get(), "x");
}

TEST(ControlLimits, CountAnswersThatAreNotTaken) {
  auto options = options_at();
  options.requests_max = 3;
  constexpr std::size_t large = 1'000'000;   // more than what sockets keep, together
  ControlServer server(options, [](const nlohmann::json& request, const Peer&) { return Answer(request, std::vector<std::byte>(large)); });
  {
    RawClient lazy(server.addresses().front(), options.key);
    lazy.say_next();
    ASSERT_TRUE(lazy.hears([](const wire::Channel& channel) { return channel.has_output(); }));
    lazy.say_next();
    ASSERT_TRUE(lazy.hears([](const wire::Channel& channel) { return channel.is_open(); }));
    for (std::uint64_t i = 0; i < 30; ++i) lazy.ask(encode_control(ControlMessage::Kind::request, i, "1"));
    EXPECT_TRUE(comes_true([&] { return server.counts().answer_bytes >= large; }));
    EXPECT_LE(server.counts().answer_bytes, 3 * (large + 100));
  }
  EXPECT_TRUE(comes_true([&] { return server.counts().answer_bytes == 0; }));
}

TEST(ControlLimits, SendAwayAClientThatTakesNothingOfItsAnswers) {
  auto options = options_at();
  options.untaken_seconds = 0.5;
  constexpr std::size_t large = 1'000'000;
  ControlServer server(options, [](const nlohmann::json& request, const Peer&) { return Answer(request, std::vector<std::byte>(large)); });
  RawClient lazy(server.addresses().front(), options.key);
  lazy.say_next();
  ASSERT_TRUE(lazy.hears([](const wire::Channel& channel) { return channel.has_output(); }));
  lazy.say_next();
  ASSERT_TRUE(lazy.hears([](const wire::Channel& channel) { return channel.is_open(); }));
  for (std::uint64_t i = 0; i < 30; ++i) lazy.ask(encode_control(ControlMessage::Kind::request, i, "1"));
  EXPECT_TRUE(comes_true([&] { return server.counts().answer_bytes >= large; }));
  EXPECT_TRUE(comes_true([&] { return server.counts().connections == 0 && server.counts().answer_bytes == 0; }));
}

TEST(ControlLimits, RefuseMessagesThatAreCutOrOfNoKind) {
  const std::string bytes = "some bytes";
  const auto message = encode_control(ControlMessage::Kind::answer_with_bytes, 7, "{}", std::as_bytes(std::span(bytes)));
  const ControlMessage whole = decode_control(message);
  EXPECT_EQ(whole.text, "{}");
  EXPECT_EQ(whole.bytes.size(), bytes.size());
  EXPECT_EQ(message.size(), control_message_overhead + 2 + bytes.size());
  for (std::size_t size = 0; size < control_message_overhead + 2; ++size) {
    EXPECT_EQ(error_of([&] { return decode_control(std::span(message).first(size)).number; }).code(), base::Errc::io) << size;
  }
  for (int kind = 4; kind < 256; ++kind) {
    auto changed = message;
    changed[0] = static_cast<std::byte>(kind);
    EXPECT_EQ(error_of([&] { return decode_control(changed).number; }).code(), base::Errc::io) << kind;
  }
  auto too_long = message;   // a text of which not all is there
  std::fill(too_long.begin() + 9, too_long.begin() + 17, std::byte{0xff});
  EXPECT_EQ(error_of([&] { return decode_control(too_long).number; }).code(), base::Errc::io);
}

TEST(ControlLimits, KeepFloodsOfJunkFromAGoodClient) {
  auto options = options_at();
  options.unproved_max = 16;
  ControlServer server(options, echo);
  const std::string address = server.addresses().front();
  std::atomic<bool> is_over{false};
  std::atomic<int> floods{0};
  std::vector<std::jthread> attackers;
  struct End {   // also when something throws
    std::atomic<bool>& is_over;
    ~End() { is_over = true; }
  } const end{is_over};
  for (int attacker = 0; attacker < 2; ++attacker) {
    attackers.emplace_back([&, attacker] {
      std::vector<Stranger> open;
      for (int i = 0; !is_over; ++i, ++floods) {
        const Stranger& each = open.emplace_back(address);
        std::vector<std::byte> junk(static_cast<std::size_t>(i % 7) * 100, static_cast<std::byte>(i + attacker));
        if (i % 3 == 0 && junk.size() > 16) {   // like a frame, and a long one
          const wire::FrameHeader header{wire::frame_mark, wire::frame_version, 1, 0, static_cast<std::uint32_t>(i % 2 == 0 ? 48 : -1), 0};
          std::memcpy(junk.data(), &header, sizeof header);
        }
        if (!junk.empty()) each.say(junk);
        if (open.size() > 50) open.erase(open.begin(), open.begin() + 40);
      }
    });
  }
  EXPECT_TRUE(comes_true([&] { return floods > 200; }));
  for (int i = 0; i < 5; ++i) {
    ControlClient client(server.addresses(), options.key, long_enough);
    for (int question = 0; question < 20; ++question) EXPECT_EQ(client.ask(question, long_enough)["asked"], question);
    EXPECT_LE(server.counts().unproved, 16u);
  }
}

TEST(ControlLimits, ReplaceTheSocketOfAServiceThatWasKilledOnly) {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/control";
  const auto options = options_at({"unix:" + path});
  {
    const OwnedSocket dead = listen_at("unix:" + path);
  }
  ASSERT_TRUE(std::filesystem::exists(path));
  ControlServer server(options, echo);
  EXPECT_EQ(std::filesystem::status(path).permissions() & std::filesystem::perms::all,
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_EQ(error_of([&] { return ControlServer(options, echo).addresses().size(); }).code(), base::Errc::exists);
  EXPECT_EQ(ControlClient(server.addresses(), options.key, long_enough).ask(1, long_enough)["asked"], 1);
  std::ofstream(directory.path + "/file") << "kept";
  EXPECT_EQ(error_of([&] { return listen_at("unix:" + directory.path + "/file").descriptor(); }).code(), base::Errc::exists);
  EXPECT_TRUE(std::filesystem::exists(directory.path + "/file"));
}

TEST(ControlLimits, NeedAddressesThatCanBeRead) {
  for (const std::string text : {"", "x", "127.0.0.1", "127.0.0.1:", "127.0.0.1:70000", "127.0.0.1:1x", ":1", "::1:80", "unix:"}) {
    EXPECT_EQ(error_of([&] { return listen_at(text).descriptor(); }).code(), base::Errc::invalid_argument) << text;
    EXPECT_EQ(error_of([&] { return ControlClient({text}, wire::make_key(), 1).address(); }).code(), base::Errc::invalid_argument) << text;
  }
  EXPECT_EQ(error_of([] { return resolve("unix:" + std::string(200, 'x')); }).code(), base::Errc::invalid_argument);
  EXPECT_EQ(error_of([] { return resolve("no-such-host.invalid:1"); }).code(), base::Errc::not_found);
  EXPECT_EQ(error_of([] { return ControlClient({}, wire::make_key(), 1).address(); }).code(), base::Errc::invalid_argument);
}

}  // namespace
}  // namespace glean::staging
