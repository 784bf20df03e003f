// SPDX-License-Identifier: BSD-3-Clause
//
// A staging service, and jobs that ask it and connect over TCP, all in one process.
#include "cli/staging_service.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <future>

#include "base/clock.hpp"
#include "base/test_error.hpp"
#include "pool/pool.hpp"
#include "staging/control_client.hpp"
#include "staging/file_requests.hpp"
#include "store/posix/temporary_directory.hpp"
#include "transport/tcp/handshake.hpp"
#include "transport/tcp/test_proxy.hpp"
#include "virtual_nodes.hpp"

namespace glean::tests {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double limit_seconds = 60;

using base::error_of;

class Staged : public testing::Test {
 protected:
  void SetUp() override {
    options_.listen = {"127.0.0.1:0"};
    options_.directories = {directory()};
    options_.key = wire::make_key();
    options_.memory_bytes = 16 * base::MiB;
    options_.job_memory_bytes = 8 * base::MiB;
  }
  ~Staged() override {
    nodes_.clear();
    for (auto& service : services_) {
      service->refuse_jobs();
      static_cast<void>(service->wait_until_idle(limit_seconds));
      for (const std::string& left : service->left_in_memory()) pool::Pool::attach(left).remove();
    }
  }
  void start_services(int number) {
    for (int n = 0; n < number; ++n) {
      services_.push_back(std::make_unique<cli::StagingService>(options_));
      asking_.push_back(std::make_unique<staging::ControlClient>(services_.back()->addresses(), options_.key, limit_seconds));
    }
  }
  [[nodiscard]] json ask(const json& request, std::size_t service = 0) { return asking_[service]->ask(request, limit_seconds); }
  [[nodiscard]] json status(std::size_t service = 0) { return ask({{"ask", "status"}}, service); }
  [[nodiscard]] static staging::JoinRequest request(const std::string& session, int clients = 1, int stagers = 1, int index = 0) {
    return {.session = session, .label = "a test", .clients = clients, .stagers = stagers, .index = index, .chunk_bytes = 4 * base::KiB,
            .request_bytes = 4 * base::KiB};
  }
  [[nodiscard]] staging::JoinAnswer join(const staging::JoinRequest& request, std::size_t service = 0) {
    return staging::join_answer_from(ask(staging::to_json(request), service));
  }
  void begin(const std::string& session, const std::map<int, std::string>& doors, std::size_t service = 0) {
    static_cast<void>(ask(staging::to_json(staging::BeginRequest{session, doors}), service));
  }

  // Clients with a rank each, and all services as their stagers.
  void start_job(const std::string& session, int clients) {
    const int stagers = static_cast<int>(services_.size()), nodes = clients + stagers;
    const transport::Tree tree(nodes, stagers);
    share_ = {.machine = plan::plain_machine(stagers), .nodes = stagers, .first = clients, .window_bytes = 4 * base::KiB,
              .request_bytes = 4 * base::KiB, .publisher = clients};
    std::map<int, std::string> doors;
    for (int index = 0; index < stagers; ++index) {
      const auto answer = join(request(session, clients, stagers, index), static_cast<std::size_t>(index));
      EXPECT_EQ(answer.chunk_bytes, 4 * base::KiB);
      doors[clients + index] = answer.door;
    }
    for (std::size_t service = 0; service < services_.size(); ++service) begin(session, doors, service);
    std::vector<std::future<std::unique_ptr<transport::Messages>>> connecting;
    for (int client = 0; client < clients; ++client) {
      const int stager = *tree.parent_of(client);
      std::string door = doors[stager];
      if (fate_of_) door = proxies_.emplace_back(std::make_unique<transport::Proxy>(door, fate_of_))->addresses();
      connecting.push_back(std::async(std::launch::async, [&, client, stager, door] {
        return transport::make_tcp_messages(transport::TcpDoor(), client, tree, {{stager, door}},
                                            staging::key_of_job(options_.key, session), limit_seconds);
      }));
    }
    for (int client = 0; client < clients; ++client) {
      nodes_.push_back(std::make_unique<VirtualNode>(pool::roomy_plan(), 1, client, pool::NodeShare{session, nodes, client, stagers},
                                                     connecting[static_cast<std::size_t>(client)].get(), nullptr, calls_));
    }
  }
  // On all clients; the first one asks the stagers.
  [[nodiscard]] bool open(const VirtualOutput& output) {
    for (const auto& node : nodes_) {
      pool::Recorder recorder(node->made.pool, 0, 60, [] { return "a rank"; });
      store::OutputDescription description = output.description;
      description.share = share_;
      description.names = {output.description.names.final_path + ".part", output.description.names.final_path};
      auto header = output.file();
      header.resize(description.layout.header_bytes);
      description.metadata = {{0, header}};
      node->keys.push_back(node->describe(recorder, description));
      pool::SlotNodes& known = node->made.pool.slot(node->keys.back().slot).nodes;
      if (node == nodes_.front()) known.at_stagers = pool::AtStagers::asked;
      known.job_output = 1;
      node->engine.adopt_now();
    }
    return comes([&] {
      const json jobs = status().at("jobs");
      return !jobs.empty() && jobs.at(0).at("files").at("open") == 1;
    });
  }
  // Runs the clients until it holds.
  template <class Condition>
  [[nodiscard]] bool comes(Condition condition) {
    for (const std::uint64_t begin = base::now_ns(); !condition();) {
      bool moved = false;
      for (const auto& node : nodes_) moved = node->exchange.progress() || moved;
      if (!moved) usleep(100);
      if (base::now_ns() - begin > static_cast<std::uint64_t>(limit_seconds * 1e9)) return false;
    }
    return true;
  }
  void put_all(const VirtualOutput& output) {
    for (const auto& node : nodes_) {
      pool::Recorder recorder(node->made.pool, 0, 60, [] { return "a rank"; },
                              [&] { for (const auto& each : nodes_) each->exchange.progress(); });
      for (std::uint64_t step = 0; step < output.steps; ++step) node->put_step(recorder, node->keys.back(), 0, output, step);
    }
  }
  void leave() {
    ASSERT_TRUE(comes([&] {
      return std::all_of(nodes_.begin(), nodes_.end(), [](const auto& node) { return node->exchange.may_leave(); });
    }));
    for (const auto& node : nodes_) node->exchange.leave();
  }
  [[nodiscard]] bool are_over(std::uint64_t jobs) {
    return comes([&] {
      return std::all_of(services_.begin(), services_.end(), [&](const auto& service) { return service->jobs_over() == jobs; });
    });
  }
  // Jobs of three clients, one after the other; the clients end before the files are written.
  void run_jobs(int jobs);
  // The job that is over, as the service tells of it.
  [[nodiscard]] json ended(std::size_t service = 0) {
    for (const std::uint64_t begin = base::now_ns(); services_[service]->jobs_over() == 0;) {
      if (base::now_ns() - begin > static_cast<std::uint64_t>(limit_seconds * 1e9)) return {};
      usleep(1000);
    }
    return status(service).at("finished").at("last").at(0);
  }
  [[nodiscard]] std::string directory() const { return fs::canonical(directory_ / ".").string(); }

  cli::StagingService::Options options_;
  store::TemporaryDirectory directory_;
  store::SystemCalls calls_;
  plan::FileShare share_;
  std::vector<std::unique_ptr<cli::StagingService>> services_;
  std::vector<std::unique_ptr<staging::ControlClient>> asking_;
  std::function<transport::Fate(int)> fate_of_;   // of connections of clients to stagers; none: there is no proxy between them
  std::vector<std::unique_ptr<transport::Proxy>> proxies_;
  std::vector<std::unique_ptr<VirtualNode>> nodes_;
};

void Staged::run_jobs(int jobs) {
  for (int job = 0; job < jobs; ++job) {
    const std::string path = directory() + "/out" + std::to_string(job);
    std::mt19937 random(static_cast<unsigned>(job));
    const VirtualOutput output = VirtualOutput::random(random, 3, 3, path);
    start_job("session" + std::to_string(job), 3);
    ASSERT_TRUE(open(output));
    put_all(output);
    const json running = status().at("jobs").at(0);
    EXPECT_EQ(running.at("state"), "running");
    EXPECT_EQ(running.at("label"), "a test");
    EXPECT_EQ(running.at("files").at("open"), 1);
    EXPECT_EQ(status().at("memory").at("used_bytes"), options_.job_memory_bytes);
    for (const auto& node : nodes_) {
      pool::Recorder recorder(node->made.pool, 0, 60, [] { return "a rank"; });
      node->close(recorder, node->keys.back(), 0, output);
    }
    leave();
    nodes_.clear();
    ASSERT_TRUE(are_over(static_cast<std::uint64_t>(job + 1)));
    EXPECT_TRUE(bytes_of_file(path) == output.file());
  }
  base::Bytes written = 0;
  for (std::size_t service = 0; service < services_.size(); ++service) {
    const json now = status(service);
    EXPECT_EQ(now.at("finished").at("jobs"), jobs);
    EXPECT_EQ(now.at("finished").at("incomplete"), 0);
    EXPECT_EQ(now.at("memory").at("used_bytes"), 0);
    EXPECT_EQ(now.at("memory").at("high_water_bytes"), options_.job_memory_bytes);
    EXPECT_EQ(now.at("jobs").size(), 0);
    written += now.at("finished").at("written_bytes").get<base::Bytes>();
  }
  EXPECT_GT(written, 0);
  EXPECT_EQ(status().at("finished").at("files").at("published"), jobs);
}

TEST_F(Staged, JobsGetTheirFilesAndTheServiceItsMemoryBack) {
  start_services(1);
  run_jobs(3);
}

TEST_F(Staged, SeveralServicesAreTheStagersOfAJob) {
  start_services(2);
  run_jobs(2);
}

TEST_F(Staged, AFileThatIsClosedIsNotThereBeforeItIsPublished) {
  start_services(1);
  const std::string path = directory() + "/out";
  std::mt19937 random(3);
  VirtualOutput output = VirtualOutput::random(random, 3, 3, path);
  start_job("session", 3);
  ASSERT_TRUE(open(output));
  put_all(output);
  const auto is_draining = [&] { return staging::file_status_from(ask(staging::to_json(staging::StatusRequest{path}))).is_draining; };
  const auto listed = [&] {
    const auto answer = staging::list_answer_from(ask(staging::to_json(staging::ListRequest{directory() + "/o*", ""})));
    return answer.files.size() == 1 && answer.files.front().path == path && answer.files.front().is_draining;
  };
  EXPECT_FALSE(is_draining());   // not all have closed it
  EXPECT_FALSE(listed());
  for (const auto& node : nodes_) {
    pool::Recorder recorder(node->made.pool, 0, 60, [] { return "a rank"; });
    node->close(recorder, node->keys.back(), 0, output);
  }
  bool was_draining = false, was_listed = false;
  ASSERT_TRUE(comes([&] {
    was_listed = was_listed || listed();
    was_draining = was_draining || is_draining();
    return fs::exists(path);
  }));
  EXPECT_TRUE(was_draining);
  EXPECT_TRUE(was_listed);
  leave();
  nodes_.clear();
  ASSERT_TRUE(are_over(1));
  EXPECT_FALSE(is_draining());
  EXPECT_TRUE(bytes_of_file(path) == output.file());
}

// All of them break again and again while the job runs.
TEST_F(Staged, ConnectionsThatBreakDoNotChangeTheFiles) {
  const std::uint64_t handshake_bytes = 2 * sizeof(transport::Hello) + 2 * sizeof(wire::Proof);
  fate_of_ = [&](int connection) -> transport::Fate {
    const auto how = connection % 2 == 0 ? transport::Fate::Is::closed : transport::Fate::Is::reset;
    return {how, handshake_bytes + 1000 + 377 * static_cast<std::uint64_t>(connection)};
  };
  start_services(2);
  run_jobs(2);
  for (const auto& proxy : proxies_) EXPECT_GT(proxy->connections(), 1);
}

TEST_F(Staged, RequestsThatCannotBeAreRefused) {
  start_services(1);
  const auto refused = [&](auto call) { return error_of(call).code(); };
  const auto error = error_of([&] { return ask({{"ask", "for the moon"}}); });
  EXPECT_EQ(error.code(), base::Errc::unsupported) << error.what();
  EXPECT_EQ(refused([&] { return ask("status"); }), base::Errc::unsupported);
  EXPECT_EQ(refused([&] { return ask(staging::to_json(staging::BeginRequest{"one", {}})); }), base::Errc::not_found);
  auto odd = request("one");
  odd.request_bytes = 4097;
  EXPECT_EQ(refused([&] { return join(odd); }), base::Errc::invalid_argument);

  static_cast<void>(join(request("one", 1, 2, 0)));
  EXPECT_EQ(refused([&] { return join(request("one", 1, 2, 1)); }), base::Errc::exists);
  EXPECT_EQ(refused([&] { return ask(staging::to_json(staging::BeginRequest{"one", {}})); }), base::Errc::invalid_argument);
  EXPECT_EQ(refused([&] { return ask(staging::to_json(staging::BeginRequest{"one", {{2, "nowhere"}}})); }), base::Errc::invalid_argument);

  // One more has room, and a third one has none.
  static_cast<void>(join(request("two")));
  const auto full = error_of([&] { return join(request("three")); });
  EXPECT_EQ(full.code(), base::Errc::no_space);
  EXPECT_NE(std::string(full.what()).find("16 MiB of its 16 MiB are in use"), std::string::npos) << full.what();
  EXPECT_NE(full.hint().find("--memory"), std::string::npos) << full.hint();

  services_.front()->refuse_jobs();
  EXPECT_EQ(refused([&] { return join(request("four")); }), base::Errc::invalid_state);
  EXPECT_TRUE(services_.front()->wait_until_idle(0)) << "those that had joined do not keep it";
}

TEST_F(Staged, AJobHasItsPlaceFromItsJoinOnForAsLongAsItIsConnected) {
  start_services(1);
  const auto leaves_without_a_begin = [&] {
    staging::ControlClient client(services_.front()->addresses(), options_.key, limit_seconds);
    static_cast<void>(client.ask(staging::to_json(request("one")), limit_seconds));
    EXPECT_EQ(error_of([&] { return join(request("one")); }).code(), base::Errc::exists);
  };
  for (int time = 0; time < 3; ++time) {   // no memory is lost, nor the session's name
    leaves_without_a_begin();
    EXPECT_TRUE(services_.front()->wait_until_idle(limit_seconds / 2)) << "a job whose client is gone keeps its place";
    EXPECT_EQ(status().at("memory").at("used_bytes"), 0);
  }
  EXPECT_EQ(error_of([&] { return ask(staging::to_json(staging::BeginRequest{"one", {}})); }).code(), base::Errc::not_found);
}

TEST_F(Staged, AJobWhoseNodesDoNotComeLeavesNothing) {
  options_.connect_seconds = 0.1;
  start_services(1);
  static_cast<void>(join(request("one", 2, 1, 0)));
  begin("one", {});
  EXPECT_EQ(error_of([&] { return ask(staging::to_json(staging::BeginRequest{"one", {}})); }).code() == base::Errc::exists ||
                services_.front()->jobs_over() == 1, true);
  const json job = ended();
  EXPECT_NE(job.at("problem").get<std::string>().find("node 0"), std::string::npos) << job;
  EXPECT_EQ(job.at("left_pool"), "");
  EXPECT_EQ(status().at("memory").at("used_bytes"), 0);
  EXPECT_EQ(status().at("finished").at("incomplete"), 1);
}

class StagedAndLeft : public Staged {
 protected:
  void start_unfinished() {
    start_services(1);
    std::mt19937 random(7);
    const VirtualOutput output = VirtualOutput::random(random, 2, 2, directory() + "/out");
    start_job("one", 2);
    ASSERT_TRUE(open(output));
    put_all(output);
  }
  // It is in use until it is completed.
  void expect_left(const json& job) {
    const auto pool = job.at("left_pool").get<std::string>();
    ASSERT_EQ(services_.front()->left_in_memory(), std::vector{pool}) << job;
    EXPECT_EQ(status().at("memory").at("used_bytes"), options_.job_memory_bytes);
    EXPECT_EQ(status().at("memory").at("left_bytes"), options_.job_memory_bytes);
    EXPECT_EQ(pool::Pool::process_using(pool), 0);
    pool::Pool::attach(pool).remove();
    EXPECT_EQ(services_.front()->left_in_memory().size(), 0);
    EXPECT_EQ(status().at("memory").at("used_bytes"), 0);
  }
};

TEST_F(StagedAndLeft, WhatAJobThatIsLostHasSentStaysInMemory) {
  start_unfinished();
  nodes_.clear();   // without a farewell
  const json job = ended();
  EXPECT_NE(job.at("problem"), "");
  expect_left(job);
}

TEST_F(StagedAndLeft, AJobThatDoesNotEndIsToldTo) {
  start_unfinished();
  services_.front()->refuse_jobs();
  EXPECT_FALSE(services_.front()->wait_until_idle(0));
  services_.front()->end_jobs_soon();
  ASSERT_TRUE(services_.front()->wait_until_idle(limit_seconds));
  const json job = ended();
  EXPECT_NE(job.at("problem").get<std::string>().find("told to end"), std::string::npos) << job;
  expect_left(job);
}

}  // namespace
}  // namespace glean::tests
