// SPDX-License-Identifier: BSD-3-Clause
//
// What a process finds in the pool of a stager that was killed.
#include "service/stager_place.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "nodes/exchange.hpp"
#include "nodes/heads.hpp"
#include "nodes/openings.hpp"
#include "pool/test_pool.hpp"
#include "service/staged_outputs.hpp"
#include "store/posix/temporary_directory.hpp"
#include "transport/local_messages.hpp"
#include "virtual_ranks.hpp"

namespace glean::tests::stager_place_test {
namespace {

constexpr int clients = 1;
constexpr std::uint64_t job_output = std::uint64_t{1} << 32 | 3;

struct NoMore final : nodes::Openings {
  std::optional<pool::OutputKey> open(Asked&, pool::Recorder&) override { return std::nullopt; }
};

class KilledStager : public testing::Test {
 protected:
  [[nodiscard]] pool::OutputSlot& slot(pool::OutputKey key) { return made_.pool.slot(key.slot); }
  [[nodiscard]] std::uint64_t noted_end() const {
    return made_.pool.header().place.ended[job_output % pool::output_slots].load();
  }

  store::TemporaryDirectory directory_;
  pool::TestPool made_{0, pool::roomy_plan(), pool::NodeShare{"killed", clients + 1, clients, 1}};
};

// It has the file, and no node has heard that: the client asks again, and must not find the file removed under its hands.
TEST_F(KilledStager, HasTheOutputThatItHasJustOpened) {
  std::mt19937 random(7);
  const std::string path = std::filesystem::canonical(directory_ / ".").string() + "/new.nc";
  VirtualOutput output = VirtualOutput::random(random, 1, 1, path);
  output.description.share = {.machine = plan::plain_machine(1), .nodes = 1, .first = clients, .window_bytes = 4 * base::KiB,
                              .request_bytes = 4 * base::KiB, .publisher = clients};
  auto bytes = output.description.encode_names();
  const auto layout = output.description.encode_layout();
  bytes.insert(bytes.end(), layout.begin(), layout.end());
  nodes::Openings::Asked asked{.description = bytes, .makes_file = true, .job_output = job_output};

  store::SystemCalls calls;
  drain::Engine engine(made_.pool, pool::roomy_plan(), calls);
  service::StagedOutputs outputs(made_.pool, engine, {std::filesystem::path(path).parent_path().string()});
  pool::Recorder recorder(made_.pool, 0, 30, [] { return "the test"; });
  const auto key = outputs.open(asked, recorder);
  ASSERT_TRUE(key);
  engine.stop(drain::Engine::Unfinished::leave);
  slot(*key).nodes.job_parts_durable = 1;

  service::take_place(made_.pool);
  EXPECT_EQ(slot(*key).state.load(), pool::OutputState::open);
  EXPECT_EQ(slot(*key).nodes.job_output.load(), job_output);
  EXPECT_EQ(slot(*key).error.load(), 0U);
  EXPECT_EQ(slot(*key).nodes.job_parts_durable.load(), 0U);   // else it is published before the nodes can be told of that
}

TEST_F(KilledStager, ForgetsTheOutputThatItWasJustOpening) {
  const auto key = made_.pool.claim_slot(0);
  ASSERT_TRUE(key);
  slot(*key).nodes.job_output = job_output;
  service::take_place(made_.pool);
  EXPECT_EQ(slot(*key).state.load(), pool::OutputState::free);
  EXPECT_EQ(noted_end(), 0U);   // it is to come yet
}

// It has no clients of its own, and never hears from those of the other stager.
TEST(StagerWithoutClients, IsNeededUntilItIsToldThatAllHaveLeft) {
  NoMore no_more;
  constexpr int above = clients, self = above + 1;
  pool::TestPool made(0, pool::roomy_plan(), pool::NodeShare{"two stagers", clients + 2, self, 2});
  transport::LocalNetwork network(clients + 2, 0, 2);
  const auto other = network.messages(above), own = network.messages(self);
  store::SystemCalls calls;
  drain::Engine engine(made.pool, pool::roomy_plan(), calls);
  nodes::Exchange exchange(made.pool, engine, *own);
  exchange.serve(no_more);
  while (exchange.progress()) continue;
  EXPECT_FALSE(exchange.have_clients_left());
  EXPECT_FALSE(service::have_clients_left(made.pool));

  other->send(self, nodes::bytes_of(nodes::FarewellHead{.kind = nodes::MessageKind::end}));
  while (exchange.progress()) continue;
  EXPECT_TRUE(exchange.have_clients_left());
  EXPECT_TRUE(service::have_clients_left(made.pool));
}

// The process before had heard of it, and was killed before it passed that on.
TEST(StagerBelowAnother, TellsItsClientsThatAnOutputIsPublished) {
  NoMore no_more;
  constexpr int client = 1, above = 2, self = 3;   // the other client hangs on the other stager
  pool::TestPool made(0, pool::roomy_plan(), pool::NodeShare{"below", 4, self, 2});
  transport::LocalNetwork network(4, 0, 2);
  const auto below = network.messages(client), root = network.messages(above), own = network.messages(self);
  const pool::OutputKey key = made.claim_slot();
  pool::OutputSlot& slot = made.pool.slot(key.slot);
  slot.nodes.job_output = job_output;
  slot.nodes.job_published = 1;
  store::SystemCalls calls;
  drain::Engine engine(made.pool, pool::roomy_plan(), calls);
  nodes::Exchange exchange(made.pool, engine, *own);
  exchange.serve(no_more);
  exchange.go_on();
  const nodes::ProgressHead said{.job_output = job_output, .progress = {.closed = 1, .part_durable = 1}};
  below->send(self, nodes::bytes_of(said));
  while (exchange.progress()) continue;

  slot.state = pool::OutputState::published;   // its drain has heard of it, too
  while (exchange.progress()) continue;
  const auto answer = below->arrival();
  ASSERT_TRUE(answer);
  EXPECT_EQ(nodes::head_of<nodes::ProgressHead>(answer->head).kind, nodes::MessageKind::job_progress);
  EXPECT_NE(nodes::head_of<nodes::ProgressHead>(answer->head).progress.published, 0U);
}

// The drain begins before the exchange with other nodes does.
class QuickDrain : public KilledStager {
 protected:
  // What a client hears that says how far it is.
  [[nodiscard]] std::vector<std::byte> answer_after(const std::function<void(pool::OutputSlot&)>& drain) {
    NoMore no_more;
    transport::LocalNetwork network(clients + 1, 0, 1);
    const auto client = network.messages(0), own = network.messages(clients);
    store::SystemCalls calls;
    drain::Engine engine(made_.pool, pool::roomy_plan(), calls);
    const pool::OutputKey key = made_.pool.claim_slot(0).value();
    slot(key).nodes.job_output = job_output;
    drain(slot(key));
    nodes::Exchange exchange(made_.pool, engine, *own);
    exchange.serve(no_more);
    exchange.go_on();
    client->send(clients, nodes::bytes_of(nodes::ProgressHead{.job_output = job_output, .progress = {}}));
    while (exchange.progress()) continue;
    EXPECT_EQ(slot(key).state.load(), pool::OutputState::free);
    const auto arrival = client->arrival();
    return arrival ? arrival->head : std::vector<std::byte>();
  }
};

TEST_F(QuickDrain, HasPublishedWhatNoNodeKnows) {
  const auto answer = answer_after([](pool::OutputSlot& slot) { slot.state = pool::OutputState::published; });
  ASSERT_EQ(answer.size(), sizeof(nodes::ProgressHead));
  EXPECT_EQ(nodes::head_of<nodes::ProgressHead>(answer).kind, nodes::MessageKind::job_progress);
  EXPECT_NE(nodes::head_of<nodes::ProgressHead>(answer).progress.published, 0U);
}

TEST_F(QuickDrain, HasFailedWhatNoNodeKnows) {
  const auto answer = answer_after([](pool::OutputSlot& slot) {
    pool::fail(slot, static_cast<std::uint32_t>(base::Errc::not_found), "it is gone", "");
    slot.state = pool::OutputState::failed;
  });
  ASSERT_GE(answer.size(), sizeof(nodes::FailureHead));
  const auto head = nodes::head_of<nodes::FailureHead>(answer);
  EXPECT_EQ(head.kind, nodes::MessageKind::failure);
  EXPECT_EQ(head.error, static_cast<std::uint32_t>(base::Errc::not_found));
}

}  // namespace
}  // namespace glean::tests::stager_place_test
