// SPDX-License-Identifier: BSD-3-Clause
#include "service/staged_job.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "pool/futex.hpp"
#include "pool/published.hpp"
#include "service/left_output.hpp"

namespace glean::service {
namespace {

constexpr double still_seconds_max = 5;   // nothing has moved for so long after the stager was told to end

std::string new_pool_name() {
  return "/glean." + std::to_string(getuid()) + "." + std::to_string(getpid()) + "." + std::to_string(base::now_ns());
}

}  // namespace

pool::Pool StagedJob::make_pool(const Options& options, const pool::NodeShare& share) {
  pool::Pool pool = pool::Pool::create(new_pool_name(), options.plan, 0, share);
  try {
    if (!pool.claim_drain()) {
      throw base::Error(base::Errc::io, "cannot lock the pool's shared memory", "record locks have to work in /dev/shm");
    }
    pool::PoolHeader& header = pool.header();
    header.keeps_until_durable = options.keeps ? 1 : 0;
    header.is_made_anew = options.is_anew ? 1 : 0;
    options.label.copy(header.job.data(), header.job.size() - 1);
    if (!options.spill_directory.empty()) spill_to(pool, options.spill_directory, options.spill_budget_bytes);
    note(pool, options.place);
  } catch (...) {
    pool.remove();
    throw;
  }
  return pool;
}

StagedJob::StagedJob(pool::Pool pool, Begins begins, const std::vector<std::string>& directories, bool runs_programs,
                     std::unique_ptr<transport::Messages> messages)
    : pool_(std::move(pool)), spill_(pool_, calls_) {
  try {
    pool_.fault_in(0, 1);   // other jobs are in this process: memory that is not there is an error of this one, not a signal
    if (begins == Begins::as_killed_one) take_place(pool_);
    const std::set<int> left_clients = nodes::Exchange::clients_that_have_left(pool_);
    begin(pool_.plan(), directories, runs_programs, std::move(messages));
    node_->exchange().do_without(left_clients);
    if (begins == Begins::as_killed_one) node_->exchange().go_on();
    else if (pool_.header().is_made_anew != 0) node_->exchange().begin_anew();
  } catch (...) {
    if (begins == Begins::as_killed_one) give_up_place(pool_);
    else pool_.remove();
    throw;
  }
}

void StagedJob::begin(const plan::NodePlan& plan, const std::vector<std::string>& directories, bool runs_programs,
                      std::unique_ptr<transport::Messages> messages) {
  engine_ = std::make_unique<drain::Engine>(pool_, plan, calls_, drain::Ranks::working, drain::Process::own);
  outputs_ = std::make_unique<StagedOutputs>(pool_, *engine_, directories, nullptr,
                                            runs_programs ? StagedOutputs::Programs::any : StagedOutputs::Programs::none);
  node_ = std::make_unique<Node>(pool_, *engine_, std::move(messages));
  node_->exchange().serve(*outputs_, &spill_);
}

StagedJob::~StagedJob() = default;

void StagedJob::wake() { pool::futex_signal(pool_.header().progress); }

void StagedJob::end_soon() {
  ends_soon_.store(true);
  pool::futex_signal(pool_.header().progress);
}

bool StagedJob::run() {
  bool is_over = false;
  try {
    node_->run([&] { return node_->exchange().is_over() || ends_soon_.load(); },
               [&](double still_seconds) { return node_->exchange().is_over() || still_seconds > still_seconds_max; });
    is_over = node_->exchange().is_over();
    if (!is_over) problem_ = "the stager was told to end before all clients had left";
  } catch (const base::Error& error) {
    problem_ = error.what();
    is_over = node_->exchange().have_clients_left() && !holds_any(pool_);   // those that are gone needed nothing more of it
    if (is_over) problem_.clear();
    else tell_of_loss(pool_, error);
  }
  beside_.reset();
  node_->part();
  engine_->stop(is_over ? drain::Engine::Unfinished::discard : drain::Engine::Unfinished::leave);
  if (is_over && what_is_kept().empty()) {
    pool_.remove();
    return true;
  }
  give_up_place(pool_);
  if (!is_over) return false;
  problem_ = what_is_kept();
  only_lacks_storage_ = true;
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    const pool::OutputSlot& slot = pool_.slot(index);
    if (slot.state != pool::OutputState::open) continue;
    const store::FileNames names = names_of(pool_, index).names;
    // A client publishes what ranks make; and one in place may have been written again by another job.
    if (pool::is_made_by_ranks(slot) || names.working_path == names.final_path) only_lacks_storage_ = false;
  }
  return false;
}

namespace {

// What its nodes publish these see themselves.
bool is_closed_and_not_published(const pool::OutputSlot& slot) {
  return !pool::is_made_by_ranks(slot) && slot.state.load(std::memory_order_acquire) == pool::OutputState::open &&
         slot.nodes.job_closed.load(std::memory_order_acquire) != 0 && slot.error.load(std::memory_order_acquire) == 0;
}

}  // namespace

bool StagedJob::is_draining(const std::string& final_path) const {
  const std::uint64_t mark = pool::path_mark(final_path);
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    const pool::OutputSlot& slot = pool_.slot(index);
    if (slot.path_mark.load(std::memory_order_acquire) == mark && is_closed_and_not_published(slot)) return true;
  }
  return false;
}

std::vector<std::string> StagedJob::draining_paths() const {
  std::vector<std::string> paths;
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    if (!is_closed_and_not_published(pool_.slot(index))) continue;
    std::string path = names_of(pool_, index).names.final_path;
    if (!path.empty()) paths.push_back(std::move(path));   // empty: it has just become another one
  }
  return paths;
}

// By all stagers of the job, for another try. Empty: nothing.
std::string StagedJob::what_is_kept() const {
  std::string text;
  for (const drain::OutputTrace& output : engine_->trace().outputs) {
    if (output.state == "postponed") text += fmt::format("{}'{}' is not published: {}", text.empty() ? "" : "; ", output.path, output.note);
  }
  return text;
}

}  // namespace glean::service
