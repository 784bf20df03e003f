// SPDX-License-Identifier: BSD-3-Clause
#include "session/core.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "base/log.hpp"
#include "pool/futex.hpp"
#include "session/agreement.hpp"
#include "topology/discover/discover.hpp"

namespace glean::session {
namespace {

constexpr std::uint64_t nap_ns = 100'000'000;

struct PoolName {
  bool wanted;
  char text[64];
};

// Unique on the node for as long as the pool lives; `glean doctor` looks for the prefix.
std::string new_pool_name() {
  return "/glean." + std::to_string(getuid()) + "." + std::to_string(getpid()) + "." + std::to_string(base::now_ns());
}

bool any_rule_captures(const base::Settings& settings) {
  return std::any_of(settings.rules.begin(), settings.rules.end(), [](const base::Rule& rule) {
    return std::any_of(rule.values.begin(), rule.values.end(),
                       [](const auto& value) { return value.first == "mode" && value.second == "threaded"; });
  });
}

std::string join(const std::vector<int>& ranks) {
  std::string text;
  for (const int rank : ranks) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return text;
}

}  // namespace

Core::Core(MPI_Comm comm, const std::map<std::string, std::string>& settings) {
  MPI_Comm_dup(comm, &comm_);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &ranks_);
  begin_realtime_seconds_ =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  struct Shared {
    double deadline_seconds;
    base::LogLevel log_level;
    bool captures;
  };
  try {
    const auto shared = on_root<Shared>(comm_, [&](Shared& value) {
      configuration_ = base::load_configuration(settings, base::process_environment());
      const auto& loaded = configuration_.settings;
      value = {loaded.pool.deadline_seconds, loaded.log_level,
               loaded.output.mode == base::Mode::threaded || any_rule_captures(loaded)};
    });
    deadline_seconds_ = shared.deadline_seconds;
    base::set_log_level(shared.log_level);
    set_up_pool(shared.captures);
  } catch (...) {
    engine_.reset();
    recorder_.reset();
    if (pool_ && is_root()) pool_->remove();
    MPI_Comm_free(&comm_);
    throw;
  }
}

void Core::set_up_pool(bool wanted) {
  if (!wanted) return;
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node);
  int node_ranks = 0;
  MPI_Comm_size(node, &node_ranks);
  MPI_Comm_free(&node);
  int smallest = 0;
  MPI_Allreduce(&node_ranks, &smallest, 1, MPI_INT, MPI_MIN, comm_);
  if (smallest != ranks_) {
    if (is_root()) {
      base::log(base::LogLevel::warning,
                "the session spans several nodes; this version captures on one node only, so outputs pass through");
    }
    return;
  }
  const auto name = on_root<PoolName>(comm_, [&](PoolName& value) {
    plan_ = plan::make_plan(topology::discover_node(), {.ranks_on_node = ranks_}, settings());
    const std::string text = new_pool_name();
    pool_ = std::make_unique<pool::Pool>(pool::Pool::create(text, plan_, ranks_));
    pool_->header().aggregator_pid = getpid();
    std::copy(text.begin(), text.end(), value.text);
  });
  agree(comm_, caught([&] {
    if (!pool_) pool_ = std::make_unique<pool::Pool>(pool::Pool::attach(name.text));
    pool_->fault_in(rank_, ranks_);
  }));
  pool_->map_all();   // after agree(): every part exists
  recorder_ = std::make_unique<pool::Recorder>(*pool_, rank_, deadline_seconds_, [this] { return diagnose(); });
  if (is_root()) engine_ = std::make_unique<drain::Engine>(*pool_, plan_, calls_);
}

Core::~Core() {
  recorder_.reset();
  engine_.reset();
  if (pool_ && is_root()) pool_->remove();
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (comm_ != MPI_COMM_NULL && finalized == 0) MPI_Comm_free(&comm_);
}

pool::OutputKey Core::claim_slot() {
  const std::uint64_t deadline = base::now_ns() + static_cast<std::uint64_t>(deadline_seconds_ * 1e9);
  for (;;) {
    const std::uint32_t seen = pool_->header().progress.load(std::memory_order_acquire);
    forget_finished();
    for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
      pool::OutputSlot& slot = pool_->slot(index);
      if (slot.state.load(std::memory_order_acquire) != pool::OutputState::free) continue;
      slot.steps_staged = slot.steps_written = slot.steps_synchronized = slot.synchronize_up_to = 0;
      slot.range_errors = 0;
      slot.error_claimed = slot.error = 0;
      for (int rank = 0; rank < ranks_; ++rank) pool_->rank_progress(index, rank) = 0;
      slot.generation.fetch_add(1, std::memory_order_relaxed);
      slot.state.store(pool::OutputState::open, std::memory_order_release);
      return {index, slot.generation};
    }
    if (base::now_ns() > deadline) {
      throw base::Error(base::Errc::timeout, "all " + std::to_string(pool::output_slots) +
                                                 " places for outputs are taken: " + diagnose(),
                        "close outputs, or wait for them, before opening more");
    }
    pool::futex_wait(pool_->header().progress, seen, nap_ns);
  }
}

std::shared_ptr<LiveOutput> Core::add(pool::OutputKey key, const std::string& path) {
  outputs_.push_back(std::make_shared<LiveOutput>(LiveOutput{.key = key, .path = path, .failure = {}}));
  return outputs_.back();
}

void Core::report_progress(const LiveOutput& output, std::uint32_t flags) {
  pool_->rank_progress(output.key.slot, rank_).store(output.steps_ended | flags, std::memory_order_release);
  recorder_->ring_the_drain();
}

std::optional<base::Error> Core::undelivered_error() {
  for (auto& output : outputs_) {
    const pool::OutputSlot& slot = pool_->slot(output->key.slot);
    const std::uint32_t error = slot.error.load(std::memory_order_acquire);
    if (!output->closed || output->delivered || error == 0) continue;
    output->delivered = true;
    output->failure = base::Error(static_cast<base::Errc>(error - 1),
                                  "'" + output->path + "' was closed but could not be completed and is not published: " +
                                      slot.message.data(), slot.hint.data());
    return output->failure;
  }
  return std::nullopt;
}

bool Core::reached(const LiveOutput& output, Level level) const {
  const pool::OutputSlot& slot = pool_->slot(output.key.slot);
  if (slot.generation.load(std::memory_order_acquire) != output.key.generation) return true;   // long published
  const auto state = slot.state.load(std::memory_order_acquire);
  if (state == pool::OutputState::published || state == pool::OutputState::free) return true;
  const std::uint64_t steps = output.steps_ended;
  switch (level) {
    case Level::captured: return true;
    case Level::staged: return slot.steps_staged.load(std::memory_order_acquire) >= steps;
    case Level::written: return slot.steps_written.load(std::memory_order_acquire) >= steps;
    case Level::durable:
      return !output.closed && slot.steps_synchronized.load(std::memory_order_acquire) >= steps;
  }
  return true;
}

void Core::wait_for(LiveOutput& output, Level level, double seconds) {
  if (output.failure) throw base::Error(*output.failure);
  pool::PoolHeader& header = pool_->header();
  pool::OutputSlot& slot = pool_->slot(output.key.slot);
  const bool patient = seconds < 0;
  const auto limit = static_cast<std::uint64_t>((patient ? deadline_seconds_ : seconds) * 1e9);
  if (level == Level::durable && !output.closed) {
    std::uint64_t wanted = slot.synchronize_up_to.load(std::memory_order_relaxed);
    while (wanted < output.steps_ended && !slot.synchronize_up_to.compare_exchange_weak(wanted, output.steps_ended)) {}
  }
  std::uint64_t since = base::now_ns();
  std::uint64_t written = header.written_bytes.load(std::memory_order_relaxed);
  for (bool rung = false;; rung = true) {
    const std::uint32_t seen = header.progress.load(std::memory_order_acquire);
    if (slot.generation.load(std::memory_order_acquire) == output.key.generation) {
      if (const std::uint32_t error = slot.error.load(std::memory_order_acquire); error != 0) {
        output.delivered = true;
        output.failure = base::Error(static_cast<base::Errc>(error - 1), "'" + output.path + "': " + slot.message.data(),
                                     slot.hint.data());
        throw base::Error(*output.failure);
      }
    }
    if (reached(output, level)) return;
    if (!rung) pool::futex_signal(header.work);
    const std::uint64_t now = base::now_ns();
    if (const auto latest = header.written_bytes.load(std::memory_order_relaxed); patient && latest != written) {
      written = latest;
      since = now;
    }
    if (now - since > limit) {
      throw base::Error(base::Errc::timeout,
                        "waited " + std::to_string(seconds < 0 ? deadline_seconds_ : seconds) + " s" +
                            (patient ? " without progress" : "") + " for '" + output.path + "': " + diagnose(output),
                        "the output goes on draining; wait again, or raise pool.deadline");
    }
    pool::futex_wait(header.progress, seen, nap_ns);
  }
}

void Core::wait_for_all(Level level, double seconds) {
  if (!has_pool()) return;
  std::optional<base::Error> all;
  for (auto& output : outputs_) {
    if (output->delivered) continue;
    const auto error = caught([&] { wait_for(*output, level, seconds); });
    if (error) all = all ? base::Error(all->code(), std::string(all->what()) + "; " + error->what(), all->hint()) : error;
  }
  if (all) throw base::Error(*all);
}

void Core::forget_finished() {
  std::erase_if(outputs_, [&](const std::shared_ptr<LiveOutput>& output) {
    pool::OutputSlot& slot = pool_->slot(output->key.slot);
    if (!output->closed) return false;
    if (slot.generation.load(std::memory_order_acquire) != output->key.generation) return true;
    const auto state = slot.state.load(std::memory_order_acquire);
    const bool over = state == pool::OutputState::published || state == pool::OutputState::free ||
                      (output->delivered && state != pool::OutputState::open);
    if (over && is_root()) slot.state.store(pool::OutputState::free, std::memory_order_release);
    return over;
  });
}

std::string Core::diagnose(const LiveOutput& output) const {
  const pool::OutputSlot& slot = pool_->slot(output.key.slot);
  std::vector<int> behind, open;
  for (int rank = 0; rank < ranks_; ++rank) {
    const std::uint32_t progress = pool_->rank_progress(output.key.slot, rank).load(std::memory_order_acquire);
    if ((progress & pool::rank_steps) < output.steps_ended) behind.push_back(rank);
    if (output.closed && (progress & pool::rank_closed) == 0) open.push_back(rank);
  }
  if (!behind.empty()) {
    return "'" + output.path + "': rank(s) " + join(behind) + " have not ended step " +
           std::to_string(output.steps_ended - 1);
  }
  if (!open.empty()) return "'" + output.path + "': rank(s) " + join(open) + " have not closed it";
  return "'" + output.path + "': the drain has written " + std::to_string(slot.steps_written.load()) + " of " +
         std::to_string(output.steps_ended) + " steps, " + std::to_string(pool_->used_bytes() / base::MiB) +
         " MiB wait in the pool";
}

std::string Core::diagnose() const {
  std::string text;
  for (const auto& output : outputs_) {
    if (!output->delivered) text += (text.empty() ? "" : "; ") + diagnose(*output);
  }
  return text.empty() ? "no output is open" : text;
}

Statistics Core::statistics() const {
  Statistics statistics;
  statistics.blocked_seconds = base::seconds(figures_.blocked_ns);
  statistics.captured_bytes = figures_.captured_bytes;
  statistics.puts = figures_.puts;
  if (pool_) {
    statistics.pool_budget_bytes = pool_->header().pool_bytes;
    statistics.pool_high_water_bytes = pool_->high_water_bytes();
  }
  return statistics;
}

void Core::close() {
  if (closed_) return;
  const std::uint64_t begin = base::now_ns();
  for (auto& output : outputs_) {
    if (output->closed || output->delivered) continue;
    report_progress(*output, pool::rank_closed | pool::rank_abandoned);
    output->closed = output->delivered = true;
    if (is_root()) base::log(base::LogLevel::warning, "'{}' was not closed and is abandoned", output->path);
  }
  const auto error = caught([&] { wait_for_all(Level::durable, -1); });
  const std::optional<base::Error> agreed = caught([&] { agree(comm_, error); });
  if (agreed && agreed->code() == base::Errc::timeout) throw base::Error(*agreed);   // may be closed again
  figures_.blocked_ns += base::now_ns() - begin;
  closed_ = true;
  recorder_.reset();
  MPI_Barrier(comm_);   // nobody captures any more
  if (engine_) engine_->stop();
  const auto reported = caught([&] { write_report(); });
  if (pool_ && is_root()) pool_->remove();
  if (agreed) throw base::Error(*agreed);
  agree(comm_, reported);
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
    report.pool_high_water_bytes = pool_->high_water_bytes();
  }
  if (engine_) report.drain = engine_->trace();
  report.passthrough = passthrough_;
  if (settings().report.table) fmt::print(stderr, "{}", report::to_table(report));
  if (const std::string& file = settings().report.file; !file.empty()) {
    std::ofstream out(file);
    out << report::to_json(report);
    if (!out.flush()) throw base::Error(base::Errc::io, "cannot write the report '" + file + "'");
  }
}

}  // namespace glean::session
