// SPDX-License-Identifier: BSD-3-Clause
//
// The staging service: jobs that are staged ask it for a stager each, and it runs them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/bytes.hpp"
#include "cli/stager_files.hpp"
#include "plan/node_plan.hpp"
#include "service/staged_job.hpp"
#include "staging/control_server.hpp"
#include "staging/job_requests.hpp"
#include "staging/place_search.hpp"
#include "transport/tcp/messages.hpp"
#include "wire/key.hpp"

namespace glean::cli {

using base::Bytes;

class StagingService {
 public:
  enum class Tone { plain, problem };
  struct Options {
    std::vector<std::string> listen;        // as ControlServer has it
    std::vector<std::string> directories;   // where jobs may write: absolute, without symbolic links; at least one
    std::vector<std::string> also_called;   // as clients may call them that ask for files: absolute
    wire::Key key{};
    Bytes memory_bytes = 0;                 // of the pools of all jobs
    Bytes job_memory_bytes = 0;             // of one, at most; the smallest is smallest_job_memory
    int drain_threads = 1;                  // of each job
    bool runs_programs = false;             // analyses and triggers that jobs ask for
    std::string spill_directory;            // where jobs go on when their pool is nearly full: absolute; empty: nowhere
    Bytes spill_budget_bytes = 0;           // of each job
    double connect_seconds = 30;            // that a job has to connect all of its nodes
    // What goes on beside the drain of each job, of which it gets the name; none: nothing.
    std::function<std::shared_ptr<void>(const std::string& job, drain::Engine& engine, pool::Pool& pool)> beside{};
    std::function<void(const std::string& line, Tone tone)> tell = [](const std::string&, Tone) {};   // what becomes of jobs. Any thread.
  };
  static constexpr Bytes smallest_job_memory = 4 * base::MiB;

  // Listens, and takes jobs from now on. Throws base::Error.
  explicit StagingService(Options options);
  // Ends the jobs that run, as end_jobs_soon() does; waits for them.
  ~StagingService();
  StagingService(const StagingService&) = delete;
  StagingService& operator=(const StagingService&) = delete;

  [[nodiscard]] const std::vector<std::string>& addresses() const { return server_->addresses(); }
  // Goes on with jobs of a service with the same key on this host whose process was killed, while their other nodes wait for that.
  void go_on_with_left_jobs();
  // What `glean stage status` asks for. Any thread.
  [[nodiscard]] nlohmann::json status();
  // From now on no job is taken. Jobs that have joined and do not run yet are forgotten.
  void refuse_jobs();
  // Jobs that run take nothing more, and leave in memory what cannot be completed.
  void end_jobs_soon();
  // Whether no job is here. Blocks until there is none, at most so long.
  bool wait_until_idle(double seconds);
  // How many jobs have begun and are over.
  [[nodiscard]] std::uint64_t jobs_over();
  // Pools of jobs that are over which hold data, until `glean recover` has completed them.
  [[nodiscard]] std::vector<std::string> left_in_memory();
  // Tries what the storage has refused once more, of jobs that had no other stager. Blocks.
  void try_what_is_kept();

 private:
  using Clock = std::chrono::steady_clock;
  enum class State { joined, connecting, running, ending };
  struct Job {
    staging::JoinRequest asked;
    plan::NodePlan plan;
    State state = State::joined;
    std::uint64_t joined_by = 0;              // the client whose connection keeps it until it begins
    std::optional<transport::TcpDoor> door;   // until it begins
    std::map<int, std::string> neighbours;    // from then on
    std::set<int> gone;                       // neighbours that have left
    Clock::time_point since = Clock::now();   // of the join; of the begin from then on
    std::optional<staging::JobPlaces> places;   // of a job that keeps: how another process takes a place
    std::string taken_door;           // of a place that this process has taken of a stager that is lost; empty: it has its own
    std::optional<pool::Pool> own_pool;       // from when it begins until it runs
    bool is_left = false;                     // by a process that was killed, in whose place this one is
    std::unique_ptr<service::StagedJob> staged;
    std::thread thread;
    [[nodiscard]] int self() const { return asked.clients + asked.index; }
    [[nodiscard]] transport::Tree tree() const { return {asked.clients + asked.stagers, asked.stagers}; }
    [[nodiscard]] std::string name() const;
    [[nodiscard]] std::string key() const { return taken_door.empty() ? asked.session : key_of_place(asked); }   // in jobs_
  };
  [[nodiscard]] static std::string key_of_place(const staging::JoinRequest& asked) {
    return asked.session + " " + std::to_string(asked.index);
  }
  struct Files {
    std::uint64_t published = 0, failed = 0, open = 0;
    std::uint64_t kept = 0;   // in memory, because the storage of a stager refuses them
  };
  struct Ended {
    std::string session, label, key;
    double seconds = 0;
    Files files;
    Bytes written_bytes = 0;
    Bytes spilled_bytes = 0;   // at a time, at most
    std::string problem;     // empty: all is done
    std::string left_pool;   // with what could not be completed; empty: nothing is left
    bool only_lacks_storage = false;   // what is there
  };
  struct LeftPool {
    std::string name;
    Bytes bytes = 0;
    std::uint64_t kept_files = 0;   // that the storage refuses
    int stagers = 1;                // of its job, which have a pool each
    bool only_lacks_storage = false;
  };

  staging::Answer handle(const nlohmann::json& request, std::uint64_t client);
  nlohmann::json join(const staging::JoinRequest& request, std::uint64_t client);
  nlohmann::json begin(const staging::BeginRequest& request);
  nlohmann::json take(const staging::TakeRequest& request);
  void is_gone(std::uint64_t client);
  [[nodiscard]] service::StagerPlace::KeyMark mark_of(const std::string& session) const;
  [[nodiscard]] std::unique_ptr<Job> job_of(pool::Pool left) const;
  [[nodiscard]] static int index_of(const pool::Pool& pool);   // of a stager, in its job
  void leave(const std::string& pool, const std::string& why);
  [[nodiscard]] static std::map<int, std::string> neighbours_of(const Job& job, const std::map<int, std::string>& doors);
  [[nodiscard]] service::StagerPlace place_of(const Job& job) const;
  void make_pool(Job& job) const;
  void start(Job& job);
  void run(Job& job);
  void run_connected(Job& job, Ended& ended);
  [[nodiscard]] std::unique_ptr<staging::PlaceSearch> search_for(const Job& job, service::StagedJob& running) const;
  static void give_back(Job& job, Ended& ended);
  void has_ended(Job& job, Ended ended);

  // -- with the lock held
  [[nodiscard]] plan::NodePlan plan_for(const staging::JoinRequest& request, const topology::Node& node);
  [[nodiscard]] Bytes used_bytes();
  [[nodiscard]] Bytes promised_bytes() const;   // of jobs whose pools are not there yet
  void forget_completed_pools();
  [[nodiscard]] std::vector<std::thread> take_ended_threads() { return std::exchange(ended_threads_, {}); }

  void join_ended_threads();
  [[nodiscard]] StagerFiles::Options file_options();
  [[nodiscard]] bool is_draining(const std::string& final_path);
  [[nodiscard]] std::vector<std::string> draining_paths();
  [[nodiscard]] static Files files_of(const drain::DrainTrace& trace);
  [[nodiscard]] static double seconds_since(std::chrono::steady_clock::time_point then);
  [[nodiscard]] nlohmann::json to_json(const Job& job) const;
  [[nodiscard]] nlohmann::json to_json(const Ended& ended) const;

  const Options options_;
  const std::string host_;
  StagerFiles files_there_;
  const Clock::time_point started_ = Clock::now();

  std::mutex trying_;   // before the other one
  std::mutex mutex_;    // everything below
  std::condition_variable job_gone_;
  std::map<std::string, std::unique_ptr<Job>> jobs_;   // by session, and places that were taken by that and index
  std::set<std::string> refused_places_;               // those that look for one ask the same processes, and get the same answers
  std::vector<std::thread> ended_threads_;
  std::vector<LeftPool> left_;
  std::deque<Ended> last_;   // the newest comes last
  Files files_;              // of jobs that are over, as is what follows
  std::uint64_t over_ = 0, incomplete_ = 0;
  Bytes written_bytes_ = 0;
  Bytes high_water_bytes_ = 0;
  bool refuses_ = false, ends_soon_ = false;

  std::unique_ptr<staging::ControlServer> server_;   // last: what it calls is there
};

}  // namespace glean::cli
