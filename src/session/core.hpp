// SPDX-License-Identifier: BSD-3-Clause
//
// What the ranks of a session share: communicator, settings, the node's pool, the drain.
#pragma once

#include <mpi.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/config.hpp"
#include "capture/full_pool_policy.hpp"
#include "glean/glean.hpp"
#include "capture/pace.hpp"
#include "plan/collective.hpp"
#include "plan/node_plan.hpp"
#include "pool/journal.hpp"
#include "report/report.hpp"
#include "session/collective_calls.hpp"
#include "session/exchange_thread.hpp"
#include "session/file_plans.hpp"
#include "session/node_drain.hpp"
#include "session/nodes.hpp"
#include "session/one_at_a_time.hpp"
#include "session/parts.hpp"
#include "session/past_outputs.hpp"
#include "session/pool_outputs.hpp"
#include "session/step_times.hpp"

namespace glean::staging {
class RemoteFiles;
}

namespace glean::session {

class StagersOfJob;

class Backend;

struct PoolName {
  char text[64];
};

class Core {
 public:
  // `unmodified`: the program knows nothing of it. No rank is set aside to write, and all ranks have the settings.
  enum class Program { knows, unmodified };
  // Collective over `comm`, which is duplicated; throws on all ranks or none. Blocks while the pool's memory is touched. Ranks that do not
  // come are waited for as long as the deadline (session/arrival.hpp).
  Core(MPI_Comm comm, const std::map<std::string, std::string>& settings, Program program = Program::knows);
  // Without close() or leave() before, what was captured is lost. Local.
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // The oldest that is open and has this application_comm(); nullptr: none. Local.
  [[nodiscard]] static Core* open_on(MPI_Comm application_comm);
  // The first rank of the session that is `one`; nothing if none is. Collective, one reduction.
  [[nodiscard]] std::optional<int> first_of_ranks(bool one);

  // The ranks that write the same files: all, or those of a part.
  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] const Parts& parts() const { return parts_; }
  [[nodiscard]] int rank() const { return rank_; }            // of the session
  [[nodiscard]] bool is_root() const { return is_root_; }     // of comm()
  [[nodiscard]] const base::Settings& settings() const { return configuration_.settings; }   // on the aggregators of nodes, or all
  [[nodiscard]] const Nodes& nodes() const { return *nodes_; }   // where something is captured or written collectively
  // The plan of a file that is about to be made, where something is written collectively. On the root. Local, blocks for the storage.
  [[nodiscard]] plan::CollectivePlan plan_collective(const std::string& file) const;
  // The identity of the next output that the program calls so: the same in all parts, and no other's. Local.
  [[nodiscard]] std::string new_output_id(const std::string& path) {
    return parts_.session + ", output " + path + ", time " + std::to_string(++opened_[path]);
  }
  [[nodiscard]] bool closed() const { return closed_; }
  // Set aside to drain, which it has done when the constructor returns.
  [[nodiscard]] bool is_writer() const { return is_writer_; }
  // The ranks without writers: the program's communicator if there are none, MPI_COMM_NULL on a writer.
  [[nodiscard]] MPI_Comm application_comm() const { return application_comm_; }
  // The program asks which ranks were set aside, or uses the communicator of the others. Local.
  void note_question();
  // Throws invalid_state where ranks were set aside and the program has not asked: it would compute on them too. Local.
  void require_question(const char* call) const;
  [[nodiscard]] double deadline_seconds() const { return deadline_seconds_; }
  // Throws invalid_state when no collective call can be made any more. Local.
  void require_usable(const char* call) const;

  // Of shared memory, for files that are gathered in containers: on the aggregator of a node. Local.
  [[nodiscard]] base::Bytes gathered_bytes() const { return plan_.gathered_bytes; }

  // The pool and what lies in it; none where nothing can be captured. Not after the session is closed.
  [[nodiscard]] bool has_pool() const { return pool_ != nullptr; }
  [[nodiscard]] pool::Pool& pool() { return *pool_; }
  [[nodiscard]] const pool::Pool& pool() const { return *pool_; }
  [[nodiscard]] pool::Recorder& recorder() { return *recorder_; }
  [[nodiscard]] capture::Pace& pace() { return *pace_; }
  // Where several threads of the program call: held by the thread that uses a raw output, and never while waiting for other ranks.
  [[nodiscard]] OneAtATime& one_at_a_time() { return one_at_a_time_; }
  [[nodiscard]] capture::FullPoolPolicy& full_pool_policy() { return *full_pool_policy_; }
  [[nodiscard]] PoolOutputs& outputs() { return *outputs_; }
  // The collective calls; nullptr where an unmodified program captures nothing.
  [[nodiscard]] CollectiveCalls* collective() { return collective_.get(); }
  // In a collective call: returns when all ranks of comm() are in it. Throws timeout on all of them when ranks do not come for so many
  // seconds; < 0: the deadline. No message on one node. Collective, blocks.
  void come_together(double seconds = -1);
  // In a collective call: the least of each word of all ranks of comm(). No message on one node. Collective, blocks.
  [[nodiscard]] FourWords least_of_all(const FourWords& mine);
  // Sees to it that the node is drained, and that data moves between nodes. In a collective call it throws Broken when that cannot be
  // completed any more. Local; on a node's aggregator one system call, elsewhere nothing.
  void keep_draining() {
    if (collective_) collective_->check();
    if (drain_) drain_->keep_alive();
    if (exchange_) exchange_->move_blocks();
  }
  // Moves blocks as long as data moves in calls, 100 ms at most: what this node has for others is on its way then, if they take it.
  void move_data();
  // How a file that is about to be written is shared out among the nodes. On the root. Local.
  [[nodiscard]] plan::FileShare share_of(const std::string& path, const store::FileLayout& layout);
  // What is for one node only is not done on several, and said. On the root. Local.
  void restrict_to_what_several_nodes_can(base::OutputSettings& settings, const std::string& path) const;
  // On several nodes: tells all aggregators of an output that the root has made; returns it as bytes.
  [[nodiscard]] std::vector<std::byte> description_from_root(const std::vector<std::byte>& of_root);
  // Waits until the drain of this node has made the file, or opened it: it stays open, whatever becomes of its name. Throws what that
  // fails with. Blocks.
  void open_on_this_node(pool::OutputKey key);
  // Of mode staged, on the root's node: all stagers open the output, too, or it fails. Local, does not wait for them.
  void open_at_stagers(pool::OutputKey key, pool::AtStagers ask);
  // The files that the stagers see, which this host may not; nullptr: not of mode staged.
  [[nodiscard]] staging::RemoteFiles* files_of_stagers() const { return files_of_stagers_.get(); }
  // Until all stagers have an output open, or it has failed. Throws io when they are lost, timeout. Blocks.
  void wait_for_stagers(pool::OutputKey key);
  // The ranks of this session are on several nodes, or stagers write for them.
  [[nodiscard]] bool is_shared() const { return nodes_->count() + stagers_ > 1; }
  // Then that it exists: from now on the nodes exchange what they have of it.
  void share(std::uint64_t job_output, pool::OutputKey key);

  // Warns once in a job, whichever ranks meet it: at once where rank 0 does, else when the session is closed. Local.
  enum class Notice : std::uint64_t { files_not_on_all_nodes = 1, no_dropping_of_bytes = 2, pnetcdf_past_mpi_io = 4, no_stripes = 8 };
  void notice(Notice what);
  // In the log of this process, each text once in a session.
  void warn_once(const std::string& text, base::LogLevel level = base::LogLevel::warning);
  // That a file is written in place and not replaced, because of `why` (store::why_written_in_place()): once for files for the same reason
  // in directories whose paths differ in numbers only. Local.
  void warn_in_place(const std::string& path, const std::string& why);

  [[nodiscard]] bool root_is_gone() const { return outputs_ && outputs_->root_is_gone(); }
  [[nodiscard]] bool has_lost_a_rank() const { return outputs_ && outputs_->has_lost_a_rank(); }

  // Open outputs that do not use the pool, in the order in which all ranks have created them. Local.
  void enlist(Backend* backend) { direct_.push_back(backend); }
  void delist(Backend* backend) noexcept { std::erase(direct_, backend); }
  [[nodiscard]] const std::vector<Backend*>& direct() const { return direct_; }
  // What became of the outputs that are finished.
  [[nodiscard]] PastOutputs& past() { return past_; }

  // Waits for all outputs. Collective, blocks.
  void wait(Level level, double seconds);
  // Completes what was closed, gives up what was not, reports, and gives the pool back. Collective, blocks. After a
  // timeout the session is still open, and this can be called again; of one that is broken (session/collective_calls.hpp) this is leave().
  void close();
  // Ends the session of this rank without the others: completes what all ranks have closed. For when MPI is finalized or
  // the other ranks are somewhere else. Local, blocks on rank 0.
  void leave() noexcept;

  // -- what the report needs
  report::RankFigures& figures() { return figures_; }
  StepTimes& step_times() { return step_times_; }
  std::vector<report::PassthroughFigures>& passthrough() { return passthrough_; }
  std::vector<report::CallFigures>& calls() { return calls_; }            // on rank 0
  std::vector<report::DatasetFigures>& datasets() { return datasets_; }   // on rank 0
  report::GatheredFigures& gathered() { return gathered_; }               // on rank 0
  [[nodiscard]] Statistics statistics() const;

 private:
  void join(const std::map<std::string, std::string>& settings);
  void bring_settings(const std::map<std::string, std::string>& settings);
  void split_into_parts(int ranks_per_node);
  void set_up_pool(bool stages);
  void start_drain();
  // core_writers.cpp
  void set_aside_writers(int ranks_per_node);
  void serve_as_writer(base::ExchangeOver exchange);
  void start_writer(const std::optional<base::Error>& failed);
  void wait_for_drain_to_open(pool::OutputKey key);
  void leave_together() const;
  void make_pool(const std::string& session);
  void join_nodes();
  void ask_stagers(const std::string& session);
  void join_stagers();
  void watch_calls();
  void call_without_pool();
  [[nodiscard]] bool is_alone_on_node() const { return collective_ && collective_->has_places() && nodes_->count() == 1; }
  void close_together();
  void leave_broken() noexcept;
  void finish_exchange(const std::optional<base::Error>& failed);
  void part_from_nodes();
  void leave_nodes() noexcept;
  [[nodiscard]] drain::DrainTrace trace_of_all_nodes() const;
  void prepare_to_spill();
  void release() noexcept;
  void write_report();
  void tell_notices(const std::vector<report::RankFigures>& ranks);
  // The communicator of all parts.
  [[nodiscard]] MPI_Comm job_comm() const { return job_comm_ != MPI_COMM_NULL ? job_comm_ : comm_; }
  [[nodiscard]] const Nodes& job_nodes() const { return job_nodes_ ? *job_nodes_ : *nodes_; }

  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Comm application_comm_ = MPI_COMM_NULL;
  std::unique_ptr<Nodes> with_writers_;   // until the writers drain
  bool is_writer_ = false, has_writers_ = false, has_asked_ = false;
  Program program_;
  int rank_ = 0;
  int ranks_ = 1;
  bool is_root_ = true;
  Parts parts_;
  MPI_Comm job_comm_ = MPI_COMM_NULL;      // where there are several parts
  std::unique_ptr<Nodes> job_nodes_;
  std::map<std::string, int> opened_;      // and there how often an output of that name was
  base::Configuration configuration_;
  double deadline_seconds_ = 300;
  plan::NodePlan plan_;
  std::optional<FilePlans> file_plans_;   // on the root
  std::unique_ptr<Nodes> nodes_;
  std::uint64_t begin_ns_ = base::now_ns();
  double begin_realtime_seconds_ = 0;
  std::unique_ptr<pool::Pool> pool_;
  std::unique_ptr<pool::Recorder> recorder_;
  std::unique_ptr<capture::Pace> pace_;
  OneAtATime one_at_a_time_;
  store::SystemCalls rank_calls_;
  std::unique_ptr<capture::FullPoolPolicy> full_pool_policy_;
  PastOutputs past_;
  std::unique_ptr<CollectiveCalls> collective_;   // stays when the pool is gone
  std::unique_ptr<PoolOutputs> outputs_;
  // On the aggregator of a node.
  std::unique_ptr<NodeDrain> drain_;
  // Where there are several nodes.
  std::unique_ptr<ExchangeThread> exchange_;
  Level until_ = Level::durable;                   // what the end of the session waits for
  int stagers_ = 0;                                // that write for this session
  std::unique_ptr<StagersOfJob> stagers_of_job_;   // on the root, until all are connected
  std::unique_ptr<staging::RemoteFiles> files_of_stagers_;
  Meanwhile meanwhile_;
  std::vector<Backend*> direct_;
  std::set<std::string> warned_;
  report::RankFigures figures_;
  StepTimes step_times_;
  std::vector<report::PassthroughFigures> passthrough_;
  std::vector<report::CallFigures> calls_;
  std::vector<report::DatasetFigures> datasets_;
  report::GatheredFigures gathered_;
  base::Bytes pool_budget_bytes_ = 0;       // stay when the pool is gone
  base::Bytes pool_high_water_bytes_ = 0;
  bool closed_ = false;
  bool is_set_up_ = false;                  // the constructor has come to its end
  bool transfers_are_left_ = false;         // MPI still knows of memory of the pool
};

// Adds the time of a call to the blocked time of this rank.
class Blocked {
 public:
  explicit Blocked(Core& core) : core_(core), begin_ns_(base::now_ns()) {}
  ~Blocked() { core_.figures().blocked_ns += base::now_ns() - begin_ns_; }
  Blocked(const Blocked&) = delete;
  Blocked& operator=(const Blocked&) = delete;

 private:
  Core& core_;
  std::uint64_t begin_ns_;
};

}  // namespace glean::session
