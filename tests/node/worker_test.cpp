// SPDX-License-Identifier: BSD-3-Clause
#include "drain/analyst.hpp"
#include "drain/consumers.hpp"
#include "drain/worker.hpp"

#include <gtest/gtest.h>

#include "virtual_ranks.hpp"
#include "store/posix/temporary_directory.hpp"

namespace glean::tests::worker_test {
namespace {

// Takes a few requests and then is no more, as io_uring can be.
class BreakingWriter final : public store::Writer {
 public:
  BreakingWriter(int accepted, bool in_submit) : accepted_(accepted), in_submit_(in_submit) {}
  [[nodiscard]] bool has_room() const override { return true; }
  [[nodiscard]] std::size_t in_flight() const override { return tags_.size(); }
  void submit(const store::WriteRequest& request) override {
    if (in_submit_ && static_cast<int>(tags_.size()) == accepted_) throw base::Error(base::Errc::io, "it is broken");
    tags_.push_back(request.tag);
  }
  void reap(Reap how, const std::function<void(const store::WriteCompletion&)>&) override {
    if (how == Reap::block) throw base::Error(base::Errc::io, "it is broken");
  }
  [[nodiscard]] store::WriteCounters counters() const override { return {.direct_requests = 5}; }

 private:
  int accepted_;
  bool in_submit_;
  std::vector<std::uint64_t> tags_;
};

class WorkerWhoseWriterBreaks : public testing::TestWithParam<bool> {};

TEST_P(WorkerWhoseWriterBreaks, LosesWhatIsInFlightAndWritesOnWithoutIt) {
  const store::TemporaryDirectory directory;
  pool::TestPool made(1);
  plan::NodePlan plan = pool::small_plan();
  plan.depth = 3;
  store::SystemCalls calls;
  std::mt19937 random(1);
  auto output = VirtualOutput::random(random, 1, 1, directory / "out.nc");
  output.create_working_file();
  drain::Jobs jobs;
  drain::ExchangeBlocks blocks;
  pool::DescriptionInPool description{output.description.encode_names(), true, {}};
  const auto layout = output.description.encode_layout();
  description.bytes.insert(description.bytes.end(), layout.begin(), layout.end());
  drain::SpillFiles spill(made.pool, calls);
  drain::Consumers consumers(made.pool);
  drain::Analyst analyst(consumers, made.pool, [](pool::OutputKey) {});
  drain::OutputDrain drain(made.pool, made.claim_slot(), description, calls, plan.request_bytes, jobs, blocks, spill, consumers, analyst,
                           drain::Ranks::working, false);
  int good = 0, bad = 0;
  drain::Worker worker(
      plan, calls, std::make_unique<BreakingWriter>(2, GetParam()), [](const drain::Job&, const store::Assembled&) { return true; },
      [&](const drain::Job&, const base::Error* error) { ++(error == nullptr ? good : bad); });
  store::VariableLayout variable;
  variable.external = mesh::Type::int8;
  const auto write = [&] {
    auto window = std::make_shared<store::Window>();
    window->extent = {0, plan.request_bytes};
    window->fills.push_back({&variable, {8, 16}, 0});
    worker.write({drain::Job::Kind::window, &drain, window, 0});
  };

  for (int i = 0; i < 3; ++i) write();
  if (worker.busy()) worker.wait();

  EXPECT_EQ(bad, 3);
  EXPECT_FALSE(worker.busy());
  for (int i = 0; i < 5; ++i) write();   // all buffers are there again
  while (worker.busy()) worker.wait();
  EXPECT_EQ(good, 5);
  EXPECT_EQ(worker.counters().direct_requests, 5u);
  EXPECT_EQ(worker.counters().buffered_requests, 5u);
}

INSTANTIATE_TEST_SUITE_P(Either, WorkerWhoseWriterBreaks, testing::Bool());

}  // namespace
}  // namespace glean::tests::worker_test
