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
#include "base/log.hpp"
#include "drain/recovery.hpp"
#include "session/agreement.hpp"
#include "session/backend.hpp"
#include "topology/discover/discover.hpp"

namespace glean::session {
namespace {

struct PoolName {
  char text[64];
};

// Unique on the node for as long as the pool lives; `glean doctor` looks for the prefix.
std::string new_pool_name() {
  return "/glean." + std::to_string(getuid()) + "." + std::to_string(getpid()) + "." + std::to_string(base::now_ns());
}

void warn_of_remains() {
  for (const std::string& pool : drain::pool_names()) {
    const auto remains = drain::look_at(pool);
    if (remains.in_use_by != 0 || !remains.problem.empty()) continue;   // or another session is just making it
    base::log(base::LogLevel::warning, "a killed job has left {} in /dev/shm: `glean recover` completes what it holds",
              pool.substr(1));
  }
}

// Whose pool it is, for whoever finds it.
void label(pool::PoolHeader& header) {
  std::string text = program_invocation_short_name;
  for (const char* variable : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID"}) {
    if (const char* job = std::getenv(variable)) text += fmt::format(", job {}", job);
  }
  text.resize(std::min(text.size(), header.job.size() - 1));
  std::copy(text.begin(), text.end(), header.job.begin());
}

bool any_rule_captures(const base::Settings& settings) {
  return std::any_of(settings.rules.begin(), settings.rules.end(), [](const base::Rule& rule) {
    return std::any_of(rule.values.begin(), rule.values.end(),
                       [](const auto& value) { return value.first == "mode" && value.second == "threaded"; });
  });
}

// From now on; says what it cannot use.
std::uint64_t job_end(const base::JobEnd& setting) {
  const base::KnownEnd end = base::find_job_end(setting, base::realtime_ns(), std::getenv(base::slurm_end_variable));
  if (!end.ignored.empty()) {
    base::log(base::LogLevel::warning, "the end of the job is not known, {} does not count: {}", end.source, end.ignored);
  }
  return end.realtime_ns;
}

bool mpi_runs() {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return initialized != 0 && finalized == 0;
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

Core::Core(MPI_Comm comm, const std::map<std::string, std::string>& settings) {
  check_communicator(comm);
  begin_realtime_seconds_ =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  MPI_Comm_dup(comm, &comm_);
  // Whatever the program has chosen for its own calls: ours do not look at what they return.
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &ranks_);
  try {
    join(settings);
  } catch (...) {
    release();
    MPI_Comm_free(&comm_);
    throw;
  }
  figures_.setup_ns = base::now_ns() - begin_ns_;
}

void Core::join(const std::map<std::string, std::string>& settings) {
  struct Shared {
    double deadline_seconds;
    base::LogLevel log_level;
    bool captures;
  };
  const auto shared = on_root<Shared>(comm_, [&](Shared& value) {
    configuration_ = base::load_configuration(settings, base::process_environment());
    const auto& loaded = configuration_.settings;
    value = {loaded.pool.deadline_seconds, loaded.log_level,
             loaded.output.mode == base::Mode::threaded || any_rule_captures(loaded)};
  });
  deadline_seconds_ = shared.deadline_seconds;
  base::set_log_level(shared.log_level);
  if (!shared.captures) return;
  if (is_one_node()) {
    set_up_pool();
  } else if (is_root()) {
    base::log(base::LogLevel::warning,
              "the session spans several nodes; this version captures on one node only, so outputs pass through");
  }
}

bool Core::is_one_node() const {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node);
  int node_ranks = 0, smallest = 0;
  MPI_Comm_size(node, &node_ranks);
  MPI_Comm_free(&node);
  MPI_Allreduce(&node_ranks, &smallest, 1, MPI_INT, MPI_MIN, comm_);
  return smallest == ranks_;
}

void Core::set_up_pool() {
  const auto name = on_root<PoolName>(comm_, [&](PoolName& value) {
    plan_ = plan::make_plan(topology::discover_node(), {.ranks_on_node = ranks_}, settings());
    warn_of_remains();
    const std::string text = new_pool_name();
    pool_ = std::make_unique<pool::Pool>(pool::Pool::create(text, plan_, ranks_));
    label(pool_->header());
    prepare_to_spill();
    pool_->header().job_end_realtime_ns = job_end(settings().job.end);
    std::copy(text.begin(), text.end(), value.text);
  });
  agree(comm_, caught([&] {
    if (!pool_) pool_ = std::make_unique<pool::Pool>(pool::Pool::attach(name.text));
    if (!pool_->claim_rank(rank_)) {
      throw base::Error(base::Errc::io, "cannot lock the pool's shared memory", "record locks have to work in /dev/shm");
    }
    pool_->fault_in(rank_, ranks_);
    const auto keep_draining = [this] { this->keep_draining(); };
    outputs_ = std::make_unique<PoolOutputs>(*pool_, comm_, deadline_seconds_, past_, keep_draining);
    recorder_ = std::make_unique<pool::Recorder>(*pool_, rank_, deadline_seconds_,
                                                 [this] { return outputs_->diagnose(); }, keep_draining);
    ladder_ = std::make_unique<drain::Ladder>(*pool_, *recorder_, rank_, rank_calls_);
    if (!is_root()) return;
    drain_ = std::make_unique<NodeDrain>(*pool_, plan_, settings().drain);
    watch_ = std::make_unique<CallWatch>(*pool_, deadline_seconds_);
  }));
  pool_->map_all();   // after agree(): every part exists
  pool_budget_bytes_ = pool_->header().pool_bytes;
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

void Core::release() noexcept {
  ladder_.reset();
  recorder_.reset();
  outputs_.reset();
  // A helper still needs the pool if something is left, and removes it then.
  const bool is_left = drain_ && drain_->is_helper() && pool_->header().session_state != pool::SessionState::closed;
  watch_.reset();
  drain_.reset();
  if (!pool_) return;
  pool_high_water_bytes_ = pool_->high_water_bytes();
  if (is_root() && !is_left) pool_->remove();
  pool_.reset();
}

Core::~Core() { release(); }

void Core::require_usable(const char* call) const {
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
    const auto verdict = outputs_->wait(nullptr, Level::durable, -1, std::nullopt);
    error = verdict.error;
    if (verdict.timed_out) {
      figures_.blocked_ns += spent();
      throw base::Error(*error);
    }
  }
  auto in_call = this->in_call(Call::close);
  closed_ = true;
  // No rank captures any more: all were in the wait above.
  if (ladder_) figures_.ladder = ladder_->figures();
  ladder_.reset();
  recorder_.reset();
  if (drain_) drain_->finish();
  figures_.closing_ns += spent();
  figures_.blocked_ns += spent();
  const auto reported = caught([&] { write_report(); });
  in_call.reset();
  release();
  if (reported && error) base::log(base::LogLevel::error, "{}", reported->what());
  const auto agreed = caught([&] { agree(comm_, error ? std::nullopt : reported); });
  MPI_Comm_free(&comm_);
  if (error) throw base::Error(*error);
  if (agreed) throw base::Error(*agreed);
}

void Core::leave() noexcept {
  if (closed_) return;
  closed_ = true;
  const auto error = caught([&] {
    if (!outputs_) return;
    outputs_->abandon_open();
    recorder_->ring_the_drain();
    // A helper completes what all ranks have closed, and needs nobody to wait for it.
    if (!is_root() || drain_->is_helper()) return;
    for (const std::string& text : outputs_->wait_alone()) base::log(base::LogLevel::error, "{}", text);
  });
  if (error) base::log(base::LogLevel::error, "leaving the session: {}", error->what());
  if (drain_ && !drain_->is_helper()) drain_->finish();
  release();
}

Statistics Core::statistics() const {
  Statistics statistics;
  statistics.blocked_seconds = base::seconds(figures_.blocked_ns);
  statistics.captured_bytes = figures_.captured_bytes;
  statistics.puts = figures_.puts;
  statistics.steps_dropped = figures_.steps_dropped;
  const drain::Ladder::Figures ladder = ladder_ ? ladder_->figures() : figures_.ladder;
  statistics.spilled_bytes = ladder.spilled_bytes;
  statistics.synchronous_bytes = ladder.synchronous_bytes;
  statistics.pool_budget_bytes = pool_budget_bytes_;
  statistics.pool_high_water_bytes = pool_ ? pool_->high_water_bytes() : pool_high_water_bytes_;
  return statistics;
}

void Core::write_report() {
  report::Report report;
  report.ranks.resize(static_cast<std::size_t>(ranks_));
  MPI_Gather(&figures_, sizeof figures_, MPI_BYTE, report.ranks.data(), sizeof figures_, MPI_BYTE, 0, comm_);
  if (!is_root()) return;
  report.begin_ns = begin_ns_;
  report.begin_realtime_seconds = begin_realtime_seconds_;
  report.run_seconds = base::seconds(base::now_ns() - begin_ns_);
  if (pool_) {
    report.plan = plan_;
    report.spill_budget_bytes = pool_->header().spill_budget_bytes;
    report.spill_high_water_bytes = pool_->header().spill_high_water_bytes;
    report.pool_high_water_bytes = pool_->high_water_bytes();
  }
  if (drain_) report.drain = drain_->trace();
  report.passthrough = passthrough_;
  if (settings().report.table) fmt::print(stderr, "{}", report::to_table(report));
  if (const std::string& file = settings().report.file; !file.empty()) {
    errno = 0;
    std::ofstream out(file);
    out << report::to_json(report);
    if (!out.flush()) throw base::system_error(errno == 0 ? EIO : errno, "cannot write the report '" + file + "'");
  }
}

}  // namespace glean::session
