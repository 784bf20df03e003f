// SPDX-License-Identifier: BSD-3-Clause
//
// A stager that is lost, of a job whose nodes keep what is not durable, as the other nodes see it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "nodes/exchange.hpp"
#include "nodes/openings.hpp"
#include "pool/futex.hpp"
#include "store/posix/temporary_directory.hpp"
#include "transport/local_messages.hpp"
#include "virtual_ranks.hpp"

namespace glean::tests::lost_stager_test {
namespace {

constexpr int clients = 2, stagers = 3, nodes = clients + stagers;

// Messages over a network in which a process may end.
class MortalMessages final : public transport::Messages {
 public:
  explicit MortalMessages(std::unique_ptr<transport::Messages> whole) : whole_(std::move(whole)) {}
  [[nodiscard]] int self() const override { return whole_->self(); }
  [[nodiscard]] int peers() const override { return whole_->peers(); }
  [[nodiscard]] transport::Tree tree() const override { return whole_->tree(); }
  void send(int peer, std::span<const std::byte> head, std::span<const std::byte> body, Token token) override {
    sent_to_.insert(peer);
    whole_->send(peer, head, body, token);
  }
  using Messages::send;
  [[nodiscard]] std::optional<Arrival> arrival() override { return whole_->arrival(); }
  void receive_body(int peer, std::span<std::byte> target, Token token) override { whole_->receive_body(peer, target, token); }
  [[nodiscard]] std::vector<Token> completed() override { return whole_->completed(); }
  [[nodiscard]] std::vector<int> take_replaced() override { return std::exchange(lost_, {}); }

  void lose(int peer) { lost_.push_back(peer); }
  [[nodiscard]] bool has_sent_to(int peer) const { return sent_to_.contains(peer); }

 private:
  std::unique_ptr<transport::Messages> whole_;
  std::vector<int> lost_;
  std::set<int> sent_to_;
};

struct KeepingNode {
  KeepingNode(transport::LocalNetwork& network, int number, store::SystemCalls& calls, int of_stagers = stagers)
      : made(number < clients ? 1 : 0, pool::roomy_plan(), pool::NodeShare{"kept", clients + of_stagers, number, of_stagers}),
        messages(network.messages(number)), engine(keeping(made.pool), pool::roomy_plan(), calls), exchange(made.pool, engine, messages) {}

  static pool::Pool& keeping(pool::Pool& pool) {
    pool.header().keeps_until_durable = 1;
    return pool;
  }
  [[nodiscard]] pool::OutputSlot& slot() { return made.pool.slot(key.slot); }

  pool::TestPool made;
  MortalMessages messages;
  drain::Engine engine;
  nodes::Exchange exchange;
  pool::OutputKey key;
};

class LostStager : public testing::Test {
 protected:
  // All have the output open; the root, which makes the file, first.
  LostStager() : output_(VirtualOutput::random(random_, clients, 1, file())) {
    output_.description.share = {.machine = plan::plain_machine(stagers), .nodes = stagers, .first = clients,
                                 .window_bytes = 4 * base::KiB, .request_bytes = 4 * base::KiB, .publisher = clients};
    auto header = output_.file();
    header.resize(output_.description.layout.header_bytes);
    output_.description.metadata = {{0, header}};
    for (int number = 0; number < nodes; ++number) nodes_.push_back(std::make_unique<KeepingNode>(network_, number, calls_));
    open(node(clients));
    for (int number = 0; number < nodes; ++number) {
      if (number != clients) open(node(number));
    }
  }
  void open(KeepingNode& node) {
    node.key = node.made.claim_slot();
    pool::Recorder recorder(node.made.pool, 0, 60, [] { return "a rank"; });
    recorder.describe(node.key, output_.description.encode_names(), pool::Recorder::More::follow);
    recorder.describe(node.key, output_.description.encode_layout(), pool::Recorder::More::none);
    node.engine.adopt_now();
    node.slot().nodes.job_output = 1;
  }
  [[nodiscard]] std::string file() const { return (std::filesystem::canonical(directory_ / ".") / "out").string(); }
  [[nodiscard]] KeepingNode& node(int number) { return *nodes_[static_cast<std::size_t>(number)]; }

  // Its process ends; of the others only its neighbours see that.
  void lose(int stager) {
    lost_ = stager;
    for (const int neighbour : transport::Tree(nodes, stagers).neighbours_of(stager)) node(neighbour).messages.lose(stager);
  }
  // The rank of that node puts the step.
  void put(KeepingNode& node) {
    pool::Recorder recorder(node.made.pool, 0, 60, [] { return "a rank"; });
    for (const VirtualPut& put : output_.puts) {
      if (put.rank == node.messages.self()) VirtualRanks::put(node.made, recorder, node.key, output_, put);
    }
  }
  void close(KeepingNode& node) {
    pool::Recorder recorder(node.made.pool, 0, 60, [] { return "a rank"; });
    VirtualRanks(node.made).report(recorder, node.key, 0, 1 | pool::rank_closed);
  }
  static void wait_for_room(KeepingNode& node) {
    node.made.pool.header().waiting_for_space.fetch_add(1);
    pool::futex_signal(node.made.pool.header().work);
  }
  // Moves on all nodes that are not lost. False: it does not hold within that time.
  template <class Condition>
  [[nodiscard]] bool comes(double seconds, Condition condition) {
    const std::uint64_t end = base::now_ns() + static_cast<std::uint64_t>(1e9 * seconds);
    while (!condition()) {
      if (base::now_ns() > end) return false;
      for (const auto& each : nodes_) {
        if (each->messages.self() != lost_) each->exchange.progress();
      }
      usleep(100);
    }
    return true;
  }

  std::mt19937 random_{4};
  store::TemporaryDirectory directory_;
  store::SystemCalls calls_;
  VirtualOutput output_;
  transport::LocalNetwork network_{nodes, 0, stagers};
  std::vector<std::unique_ptr<KeepingNode>> nodes_;
  int lost_ = -1;
};

// Clients hang on the first two stagers; the third has none.
constexpr int root = clients, stager = clients + 2;

TEST_F(LostStager, AClientWithoutAConnectionToItGivesBackNothingBeforeItsPlaceIsTaken) {
  KeepingNode& client = node(0);
  const auto gives_back = [&] { return client.slot().nodes.kept_from_step != 0; };
  lose(stager);
  static_cast<void>(comes(0.2, [] { return false; }));   // all hear of it

  put(client);
  wait_for_room(client);
  EXPECT_FALSE(comes(2.5, gives_back));
  EXPECT_FALSE(client.messages.has_sent_to(stager));

  const nodes::PlaceHead place{.node = stager};   // by a process with the pool of the one before
  node(stager).messages.send(root, nodes::bytes_of(place));
  EXPECT_TRUE(comes(30, gives_back));   // ranks wait for a step that is not ended
  EXPECT_TRUE(client.messages.has_sent_to(stager));
}

// The root has heard of it, and is killed before it passes that on.
TEST_F(LostStager, TheProcessInItsPlaceSaysSoAgainWhereAStagerOnTheWayIsReplaced) {
  struct NoMore final : nodes::Openings {
    std::optional<pool::OutputKey> open(Asked&, pool::Recorder&) override { return std::nullopt; }
  } no_more;
  for (int number = root; number <= stager; ++number) node(number).exchange.serve(no_more);
  node(stager).exchange.begin_anew();
  while (node(root).messages.arrival()) continue;
  for (int client = 0; client < clients; ++client) {
    put(node(client));
    close(node(client));
  }
  const auto knows_all = [&] { return node(root).slot().nodes.job_closed != 0; };
  EXPECT_FALSE(comes(1, knows_all));

  node(stager).messages.lose(root);
  EXPECT_TRUE(comes(30, knows_all));
}

// None of its clients are left, so it says at once that they have left. The others have not heard of its part by that.
TEST_F(LostStager, AFileIsNotCompleteBeforeTheProcessInItsPlaceHasSaidSo) {
  lose(stager);
  static_cast<void>(comes(0.2, [] { return false; }));   // all hear of it
  node(stager).messages.send(root, nodes::bytes_of(nodes::FarewellHead{}));
  for (int client = 0; client < clients; ++client) {
    put(node(client));
    close(node(client));
  }
  EXPECT_FALSE(comes(1, [&] { return node(root).slot().nodes.job_closed != 0; }));

  nodes::ProgressHead said{.job_output = 1, .progress = {}};
  said.progress.closed = 1;
  node(stager).messages.send(root, nodes::bytes_of(said));
  EXPECT_TRUE(comes(30, [&] { return node(root).slot().nodes.job_closed != 0; }));
}

// Of a raw output, before it sends again: what another client has given back must not be missing behind what this one sends.
TEST_F(LostStager, AClientHearsOfTheLatestDurableTickThatAnyHasHeardOf) {
  for (int number = 0; number < nodes; ++number) node(number).slot().is_bytes = 1;
  node(0).slot().writes.job_durable_tick = 7;
  EXPECT_TRUE(comes(30, [&] { return node(1).slot().writes.job_durable_tick == 7; }));
}

// Before it has heard of any output.
TEST(AStagerWithoutClients, LooksForThePlaceOfOneBelowIt) {
  constexpr int of_stagers = 4, above = clients + 1, below = clients + 3;
  store::SystemCalls calls;
  transport::LocalNetwork network(clients + of_stagers, 0, of_stagers);
  KeepingNode node(network, above, calls, of_stagers);
  std::vector<int> sought;
  node.exchange.find_places_with({.seek = [&](int lost) { sought.push_back(lost); },
                                  .end = [](int) {},
                                  .take_found = [] { return std::vector<std::pair<int, std::string>>(); }});
  node.messages.lose(below);
  node.exchange.progress();
  EXPECT_EQ(sought, std::vector<int>{below});
}

}  // namespace
}  // namespace glean::tests::lost_stager_test
