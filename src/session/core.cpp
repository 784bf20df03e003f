// SPDX-License-Identifier: BSD-3-Clause
#include "session/core.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/job_end.hpp"
#include "base/keys.hpp"
#include "base/log.hpp"
#include "service/recovery.hpp"
#include "session/agreement.hpp"
#include "session/arrival.hpp"
#include "session/backend.hpp"
#include "session/byte_opening.hpp"
#include "session/byte_output.hpp"
#include "session/staging.hpp"
#include "topology/discover/discover.hpp"

namespace glean::session {
namespace {

// The sessions of this process.
std::mutex sessions_lock;
std::vector<Core*> sessions;

constexpr double ending_seconds = 5;   // that a process that was killed keeps a session from beginning, at most

// Unique on the node for as long as the pool lives; `glean doctor` looks for the prefix.
std::string new_pool_name() {
  return "/glean." + std::to_string(getuid()) + "." + std::to_string(getpid()) + "." + std::to_string(base::now_ns());
}

// A job that was aborted when all its files were complete has left nothing that is of use.
void look_for_remains() {
  std::vector<std::string> left;
  for (const std::string& pool : service::pool_names()) {
    const bool is_free = service::wait_while_it_ends(pool, ending_seconds, [&](int process) {
      base::log(base::LogLevel::info, "process {} was killed and is not gone yet: waiting for its pool {}", process, pool.substr(1));
    });
    if (is_free && service::remove_if_finished(pool)) continue;
    const auto remains = service::look_at(pool);
    if (remains.in_use_by != 0 || !remains.problem.empty()) continue;   // or another session is just making it
    left.push_back(pool.substr(1));
  }
  if (left.empty()) return;
  const std::string others = left.size() == 1 ? "" : fmt::format(" and {} more", left.size() - 1);
  base::log(base::LogLevel::warning, "jobs that ended early have left {}{} in /dev/shm: `glean recover` completes what they hold",
            left.front(), others);
}

// Whose pool it is, for a process that finds it.
void label(pool::PoolHeader& header) {
  std::string text = program_invocation_short_name;
  for (const char* variable : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID"}) {
    if (const char* job = std::getenv(variable)) text += fmt::format(", job {}", job);
  }
  text.resize(std::min(text.size(), header.job.size() - 1));
  std::copy(text.begin(), text.end(), header.job.begin());
}

// From now on; says what it cannot use.
std::uint64_t job_end(const base::JobEnd& setting) {
  const base::KnownEnd end = base::find_job_end(setting, base::realtime_ns(), std::getenv(base::slurm_end_variable));
  if (!end.ignored.empty()) {
    base::log(base::LogLevel::warning, "the end of the job is not known, {} does not count: {}", end.source, end.ignored);
  }
  return end.realtime_ns;
}

void check_communicator(MPI_Comm comm) {
  if (!mpi_runs()) {
    throw base::Error(base::Errc::invalid_state, "a session needs MPI: call MPI_Init before, and MPI_Finalize after it");
  }
  int between_groups = 0;
  if (comm != MPI_COMM_NULL) MPI_Comm_test_inter(comm, &between_groups);
  if (comm == MPI_COMM_NULL || between_groups != 0) {
    throw base::Error(base::Errc::invalid_argument, "a session needs a communicator of one group of ranks, not " +
                                                        std::string(between_groups ? "between two" : "MPI_COMM_NULL"));
  }
}

}  // namespace

Core::Core(MPI_Comm comm, const std::map<std::string, std::string>& settings, Program program) : program_(program) {
  check_communicator(comm);
  begin_realtime_seconds_ =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  application_comm_ = comm;
  if (program == Program::knows) arrive(comm, [&] { return settings; });   // the others have come together in MPI_Init
  MPI_Comm_dup(comm, &comm_);
  // Whatever the program has chosen for its own calls: ours do not look at what they return.
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &ranks_);
  is_root_ = rank_ == 0;
  watch_calls();
  try {
    join(settings);
  } catch (const Broken& broken) {   // MPI keeps the communicators
    const base::Error error = broken.error;
    release();
    throw base::Error(error);
  } catch (...) {
    release();
    if (with_writers_) with_writers_->release();
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
    if (job_comm_ != MPI_COMM_NULL) MPI_Comm_free(&job_comm_);
    throw;
  }
  is_set_up_ = true;
  figures_.setup_ns = base::now_ns() - begin_ns_;
  const std::lock_guard lock(sessions_lock);
  sessions.push_back(this);
}

void Core::join(const std::map<std::string, std::string>& settings) {
  struct Shared {
    double deadline_seconds;
    base::LogLevel log_level;
    bool captures, needs_writers, writes_collectively;
    int ranks_per_node, files;
    base::ExchangeOver exchange;
    bool stages, leaves_when_staged;
  };
  const auto shared = on_root<Shared>(comm_, [&](Shared& value) {
    configuration_ = base::load_configuration(settings, base::process_environment());
    const auto& loaded = configuration_.settings;
    value = {loaded.pool.deadline_seconds, loaded.log_level, loaded.any_captures(),
             program_ == Program::knows && loaded.any_needs_writers(),
             loaded.any_writes_collectively(), loaded.topology.ranks_per_node, loaded.plan.files, loaded.exchange,
             loaded.any_stages(), loaded.any_stages() && loaded.staging.end == base::StagingEnd::staged &&
                                       loaded.staging.keep == base::StagingKeep::staged};
  });
  deadline_seconds_ = shared.deadline_seconds;
  base::set_log_level(shared.log_level);
  if (shared.leaves_when_staged) until_ = Level::staged;
  if (shared.needs_writers) set_aside_writers(shared.ranks_per_node);
  if (is_writer_) return serve_as_writer(shared.exchange);
  const int ranks_per_node = std::max(0, shared.ranks_per_node - (shared.needs_writers ? 1 : 0));   // of those that are left
  const bool in_parts = shared.files != 1;
  const bool calls_alone = !shared.captures && program_ == Program::knows;
  if (shared.captures || shared.writes_collectively || in_parts || calls_alone) nodes_ = std::make_unique<Nodes>(comm_, ranks_per_node);
  watch_calls();
  if (!shared.captures && !in_parts) return calls_alone ? call_without_pool() : void();
  const auto set_up = [&] {
    if (nodes_->count() > 1 || program_ == Program::unmodified) bring_settings(settings);
    if (in_parts) split_into_parts(ranks_per_node);
    if (!shared.captures) return calls_alone ? call_without_pool() : void();
    const auto failed = caught([&] { set_up_pool(shared.stages); });
    if (in_parts) agree(job_comm(), failed);
    else if (failed) throw base::Error(*failed);
  };
  if (!shared.needs_writers) return set_up();
  start_writer(caught(set_up));
}

// Launchers do not bring all of the environment to other nodes.
void Core::bring_settings(const std::map<std::string, std::string>& settings) {
  const auto program = from_root(comm_, settings), environment = from_root(comm_, base::process_environment());
  agree(comm_, caught([&] {
    const bool needs_them = nodes_->is_aggregator() || program_ == Program::unmodified;
    if (needs_them && !is_root()) configuration_ = base::load_configuration(program, environment);
  }));
}

void Core::set_up_pool(bool stages) {
  const auto session = on_root<PoolName>(comm_, [&](PoolName& value) {
    const std::string text = new_pool_name();
    std::copy(text.begin(), text.end(), value.text);
  });
  PoolName name{};
  auto failed = caught([&] {
    if (!nodes_->is_aggregator()) return;
    const int journals = nodes_->ranks() + (nodes_->count() > 1 || stages ? 1 : 0);
    const bool gathers = program_ == Program::unmodified && settings().any_gathers();
    plan_ = plan::plan_node(topology::discover_node(), {.ranks_on_node = journals, .gathers_files = gathers}, settings());
  });
  if (nodes_->is_aggregator() && nodes_->count() > 1) {
    // What a node sends must find room in a chunk of any other.
    const base::Bytes mine = failed ? 0 : plan_.chunk_bytes;
    reduce_all(nodes_->aggregators(), &mine, &plan_.chunk_bytes, 1, MPI_UINT64_T, MPI_MIN);
    broadcast(nodes_->aggregators(), 0, &plan_.request_bytes, sizeof plan_.request_bytes);
  }
  agree(comm_, failed);
  if (stages) ask_stagers(session.text);
  agree(comm_, !is_root() ? std::nullopt : caught([&] {
    if (stages) file_plans_.emplace(settings(), stagers_, nodes_->count(), plan_);
    else file_plans_.emplace(settings(), nodes_->count(), parts_, plan_);
  }));
  failed = caught([&] {
    name = on_root<PoolName>(nodes_->comm(), [&](PoolName& value) {
      make_pool(session.text);
      const std::string& text = pool_->name();
      std::copy(text.begin(), text.end(), value.text);
    });
    if (!pool_) pool_ = std::make_unique<pool::Pool>(pool::Pool::attach(name.text));
    if (!pool_->claim_rank(nodes_->rank())) {
      throw base::Error(base::Errc::io, "cannot lock the pool's shared memory", "record locks have to work in /dev/shm");
    }
    pool::Journal& journal = pool_->journal(nodes_->rank());
    journal.job_rank = static_cast<std::uint32_t>(rank_);
    journal.has_joined = 1;
    pool_->fault_in(nodes_->rank(), nodes_->ranks());
    const auto keep_draining = [this] { this->keep_draining(); };
    collective_ = std::make_unique<CollectiveCalls>(call_places_in(*pool_), nodes_->rank(), deadline_seconds_,
                                     program_ == Program::knows ? CollectiveCalls::AtDeadline::fail : CollectiveCalls::AtDeadline::log,
                                     [] { poll_messages(); });
    outputs_ = std::make_unique<PoolOutputs>(*pool_, comm_, *collective_, nodes_->rank(), deadline_seconds_, past_, keep_draining);
    recorder_ = std::make_unique<pool::Recorder>(*pool_, nodes_->rank(), deadline_seconds_,
                                                 [this] { return outputs_->diagnose(); }, keep_draining);
    pace_ = std::make_unique<capture::Pace>(*pool_, *recorder_, nodes_->rank(), deadline_seconds_, [] { poll_messages(); });
    full_pool_policy_ = std::make_unique<capture::FullPoolPolicy>(*pool_, *recorder_, nodes_->rank(), rank_calls_);
    if (!with_writers_) start_drain();
  });
  agree(comm_, failed);
  pool_->map_all();   // after agree(): every part exists
  pool_budget_bytes_ = pool_->header().pool_bytes;
  if (is_shared() && !with_writers_) join_nodes();
}

void Core::start_drain() {
  if (!nodes_->is_aggregator()) return;
  drain_ = std::make_unique<NodeDrain>(*pool_, plan_, settings().drain, deadline_seconds_, settings().view);
}

void Core::make_pool(const std::string& session) {
  look_for_remains();
  const int nodes = nodes_->count() + stagers_;
  if (nodes > 1 && !with_writers_ && settings().drain.place == base::DrainPlace::process) {
    if (is_root()) base::log(base::LogLevel::warning, "drain.place = \"process\" is for one node: threads drain on several");
    configuration_.settings.drain.place = base::DrainPlace::threads;
  }
  const pool::NodeShare share{session, nodes, nodes_->self(), stagers_};
  pool_ = std::make_unique<pool::Pool>(pool::Pool::create(new_pool_name(), plan_, nodes_->ranks(), share));
  label(pool_->header());
  prepare_to_spill();
  pool_->header().job_end_realtime_ns = job_end(settings().job.end);
  pool_->header().keeps_until_durable = stagers_ != 0 && settings().staging.keep == base::StagingKeep::durable ? 1 : 0;
}

void Core::prepare_to_spill() {
  if (!settings().any_spills()) return;
  const auto refuse = [&](const std::string& why) {
    throw base::Error(base::Errc::invalid_config, "spill.directory = '" + settings().spill.directory + "': " + why);
  };
  std::error_code error;
  const std::string directory = std::filesystem::canonical(settings().spill.directory, error).string();
  auto& place = pool_->header().spill_directory;
  if (error) refuse(error.message());
  if (!std::filesystem::is_directory(directory, error)) refuse("it is no directory");
  if (access(directory.c_str(), W_OK | X_OK) != 0) refuse("no file can be made there");
  if (directory.size() + pool_->name().size() + 32 > place.size()) refuse("the name is too long");
  directory.copy(place.data(), directory.size());
  pool_->header().spill_budget_bytes = settings().spill.budget_bytes;
}

plan::CollectivePlan Core::plan_collective(const std::string& file) const {
  const std::string directory = std::filesystem::absolute(file).parent_path().string();
  return plan::plan_collective(topology::discover_storage(directory), ranks_, nodes_->count(), settings().drain.request_bytes);
}

plan::FileShare Core::share_of(const std::string& path, const store::FileLayout& layout) {
  if (file_plans_->learns() && drain_) file_plans_->learn(drain_->trace().outputs);
  return file_plans_->share_of(path, layout);
}

void Core::release() noexcept {
  leave_nodes();
  full_pool_policy_.reset();
  pace_.reset();
  recorder_.reset();
  outputs_.reset();
  // The process that completes what is left removes the pool then.
  const bool is_left = drain_ && drain_->leaves_the_pool();
  drain_.reset();
  if (collective_) collective_->release();
  if (!pool_) return;
  pool_high_water_bytes_ = pool_->high_water_bytes();
  if (nodes_->is_aggregator() && !is_left) pool_->remove();
  if (transfers_are_left_) static_cast<void>(pool_.release());   // what it writes to must stay mapped
  pool_.reset();
}

Core::~Core() {
  release();
  const std::lock_guard lock(sessions_lock);
  std::erase(sessions, this);
}

Core* Core::open_on(MPI_Comm application_comm) {
  const std::lock_guard lock(sessions_lock);
  const auto found = std::find_if(sessions.begin(), sessions.end(), [&](const Core* core) {
    return !core->closed_ && core->application_comm_ == application_comm;
  });
  return found == sessions.end() ? nullptr : *found;
}

void Core::require_usable(const char* call) const {
  if (is_writer_) {
    throw base::Error(base::Errc::invalid_state, std::string(call) + ": this rank was set aside to write, and the session is closed",
                      "where is_writer() is true, a program ends");
  }
  if (closed_) throw base::Error(base::Errc::invalid_state, std::string(call) + ": the session is closed");
  if (!mpi_runs()) {
    throw base::Error(base::Errc::invalid_state, std::string(call) + ": MPI is finalized",
                      "close the session before MPI_Finalize");
  }
}

void Core::wait(Level level, double seconds) {
  std::optional<base::Error> error;
  if (outputs_) error = outputs_->wait(nullptr, level, seconds, std::nullopt).error;
  for (Backend* backend : direct_) {
    if (backend->failure()) continue;
    const auto failed = caught([&] { backend->wait(level, seconds, std::nullopt); });
    if (!error) error = failed;
  }
  if (error) throw base::Error(*error);
}

void Core::close() {
  if (closed_) return;
  require_usable("closing the session");
  try {
    if (collective_) collective_->require_whole();
    close_together();
  } catch (const Broken& broken) {
    const base::Error error = broken.error;
    leave_broken();
    throw base::Error(error);
  }
}

void Core::close_together() {
  const std::uint64_t begin = base::now_ns();
  const auto spent = [&] { return base::now_ns() - begin; };
  while (!direct_.empty()) {
    Backend* backend = direct_.front();
    delist(backend);
    backend->abandon();
  }
  std::optional<base::Error> error;
  if (outputs_) {
    for (const std::string& path : outputs_->abandon_open()) {
      if (is_root()) base::log(base::LogLevel::warning, "'{}' was not closed and is not published", path);
    }
    recorder_->ring_the_drain();
    const auto verdict = outputs_->wait(nullptr, until_, -1, std::nullopt, Call::close);
    error = verdict.error;
    if (verdict.timed_out) {
      figures_.blocked_ns += spent();
      throw base::Error(*error);
    }
    if (verdict.drain_is_lost) {   // the nodes cannot complete anything together any more
      figures_.blocked_ns += spent();
      leave();
      throw base::Error(*error);
    }
  } else if (collective_) {
    const InCall in_call(collective(), Call::close, "");
    come_together();
  }
  InCall in_call(collective(), Call::end, "");
  in_call.set_busy(has_pool() && nodes_->is_aggregator());
  const auto unfinished = has_pool() && nodes_->is_aggregator() ? caught([&] { ByteOutput::finish_all(*this); }) : std::nullopt;
  closed_ = true;
  // No rank captures any more: all were in the wait above.
  const auto left = caught([&] { finish_exchange(unfinished); });
  if (left) drain_->leave_unfinished(left->what());
  leave_nodes();
  if (full_pool_policy_) figures_.full_pool = full_pool_policy_->figures();
  full_pool_policy_.reset();
  pace_.reset();
  recorder_.reset();
  if (drain_ && !left) drain_->finish(until_ == Level::staged ? drain::Engine::Unfinished::leave : drain::Engine::Unfinished::discard);
  figures_.closing_ns += spent();
  figures_.blocked_ns += spent();
  in_call.set_busy(false);
  const auto reported = caught([&] { write_report(); });
  release();
  if (reported && error) base::log(base::LogLevel::error, "{}", reported->what());
  const auto agreed = caught([&] { agree(job_comm(), error ? std::nullopt : unfinished ? unfinished : reported); });
  if (nodes_) nodes_->release();
  if (job_nodes_) job_nodes_->release();
  MPI_Comm_free(&comm_);
  if (job_comm_ != MPI_COMM_NULL) MPI_Comm_free(&job_comm_);
  if (error) throw base::Error(*error);
  if (agreed) throw base::Error(*agreed);
}

Statistics Core::statistics() const {
  Statistics statistics;
  statistics.blocked_seconds = base::seconds(figures_.blocked_ns);
  statistics.captured_bytes = figures_.captured_bytes;
  statistics.puts = figures_.puts;
  statistics.steps_dropped = figures_.steps_dropped;
  const capture::FullPoolPolicy::Figures full_pool = full_pool_policy_ ? full_pool_policy_->figures() : figures_.full_pool;
  statistics.spilled_bytes = full_pool.spilled_bytes;
  statistics.synchronous_bytes = full_pool.synchronous_bytes;
  statistics.pool_budget_bytes = pool_budget_bytes_;
  statistics.pool_high_water_bytes = pool_ ? pool_->high_water_bytes() : pool_high_water_bytes_;
  return statistics;
}

void Core::write_report() {
  report::Report report;
  report.ranks.resize(static_cast<std::size_t>(ranks_));
  gather_bytes(job_comm(), &figures_, report.ranks.data(), sizeof figures_);
  report.steps = step_times_.of_all(job_comm(), begin_ns_);
  if (drain_) report.drain = trace_of_all_nodes();
  if (rank_ != 0) return;
  tell_notices(report.ranks);
  report.mode = base::find_key("mode")->print(settings());
  report.nodes = nodes_ ? job_nodes().count() : 1;
  report.begin_ns = begin_ns_;
  report.begin_realtime_seconds = begin_realtime_seconds_;
  report.run_seconds = base::seconds(base::now_ns() - begin_ns_);
  if (pool_) {
    report.plan = plan_;
    report.spill_budget_bytes = pool_->header().spill_budget_bytes;
    report.spill_high_water_bytes = pool_->header().spill_high_water_bytes;
    report.pool_high_water_bytes = pool_->high_water_bytes();
  }
  report.passthrough = passthrough_;
  report.calls = calls_;
  report.datasets = datasets_;
  report.gathered = gathered_;
  if (file_plans_) report.tuning = file_plans_->changes();
  if (settings().report.table) fmt::print(stderr, "{}", report::to_table(report));
  // What a program writes with the library comes first, also under `glean run`.
  static std::string reported;   // by another session of this process
  const bool says_nothing = report.drain.outputs.empty() && report.passthrough.empty() && report.gathered.files == 0;
  if (const std::string& file = settings().report.file; !file.empty() && !(says_nothing && reported == file)) {
    reported = file;
    errno = 0;
    std::ofstream out(file);
    out << report::to_json(report);
    if (!out.flush()) throw base::system_error(errno == 0 ? EIO : errno, "cannot write the report '" + file + "'");
  }
}

}  // namespace glean::session
