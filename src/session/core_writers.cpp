// SPDX-License-Identifier: BSD-3-Clause
//
// Mode `dedicated`, which is rbIO (seed 001, section 3): the last rank of each node does nothing but drain. To the others of its node
// it is what a helper process is, and with the writers of other nodes it exchanges what another one writes.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/log.hpp"
#include "base/units.hpp"
#include "pool/futex.hpp"
#include "pool/wait.hpp"
#include "service/serve.hpp"
#include "view/live/live_view.hpp"
#include "session/agreement.hpp"
#include "session/core.hpp"
#include "transport/mpi/messages.hpp"

namespace glean::session {
namespace {

constexpr std::uint64_t writer_nap_ns = 100'000'000;
constexpr std::uint32_t joined_and_asked = 2;   // Journal::has_joined
constexpr double first_words_seconds = 5;
constexpr const char* how_to_ask = "call is_writer() (C: glean_session_is_writer) as soon as there is a session, end there where it is "
                                   "true, and compute on application_comm(); mode = \"threaded\" sets no rank aside";

// A program that does not ask computes on the ranks that were set aside, too, and waits for them: no rank can go on.
class Questions {
 public:
  Questions(int node, double deadline_seconds) : node_(node), deadline_seconds_(deadline_seconds) {}

  void look(pool::Pool& pool) {
    if (has_asked_) return;
    for (int rank = 0; rank < static_cast<int>(pool.header().ranks); ++rank) {
      has_asked_ = has_asked_ || pool.journal(rank).has_joined.load(std::memory_order_relaxed) == joined_and_asked;
    }
    const double seconds = base::seconds(base::now_ns() - begin_ns_);
    if (has_asked_ || seconds < std::min(next_words_, deadline_seconds_)) return;
    next_words_ *= 2;
    const bool is_over = seconds >= deadline_seconds_;
    base::log(is_over ? base::LogLevel::error : base::LogLevel::warning,
              "mode = \"dedicated\": a rank of node {} was set aside to write, and for {:.0f} s the program has not asked which one: {}",
              node_, seconds, how_to_ask);
    if (!is_over) return;
    pool.remove();   // a program that has not asked has captured nothing
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }

 private:
  int node_;
  double deadline_seconds_, next_words_ = first_words_seconds;
  std::uint64_t begin_ns_ = base::now_ns();
  bool has_asked_ = false;
};

}  // namespace

void Core::note_question() {
  has_asked_ = true;
  if (has_writers_ && pool_) pool_->journal(nodes_->rank()).has_joined = joined_and_asked;
}

void Core::require_question(const char* call) const {
  if (!has_writers_ || is_writer_ || has_asked_) return;
  throw base::Error(base::Errc::invalid_state,
                    std::string(call) + ": mode = \"dedicated\" has set ranks aside to write, and the program has not asked which",
                    how_to_ask);
}

// The ranks go on without the writers. What must not be is found by all of them alike.
void Core::set_aside_writers(int ranks_per_node) {
  with_writers_ = std::make_unique<Nodes>(comm_, ranks_per_node);
  watch_calls();
  agree(comm_, caught([&] {
    if (with_writers_->ranks() > 1) return;
    throw base::Error(base::Errc::invalid_config,
                      fmt::format("mode = \"dedicated\": one rank of each node is set aside to write, and node {} has no other than "
                                  "rank {}", with_writers_->self(), rank_),
                      "mode = \"threaded\" sets no rank aside");
  }));
  has_writers_ = true;
  is_writer_ = with_writers_->rank() == with_writers_->ranks() - 1;
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(comm_, is_writer_ ? 1 : 0, is_writer_ ? with_writers_->self() : rank_, &part);
  MPI_Comm_free(&comm_);
  comm_ = part;
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_ARE_FATAL);
  watch_calls();
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &ranks_);
  application_comm_ = MPI_COMM_NULL;
  if (!is_writer_) MPI_Comm_dup(comm_, &application_comm_);   // for the program, which keeps it
}

// In the order of start_writer(). What goes wrong once all drain is no reason to end the program.
void Core::serve_as_writer(base::ExchangeOver exchange) {
  const auto pool = on_root<PoolName>(with_writers_->comm(), [](PoolName&) {});
  bool has_told = false;
  const auto tell = [&](const std::optional<base::Error>& failed) {
    has_told = true;
    const auto of_any = caught([&] { agree(comm_, failed); });
    agree(with_writers_->comm(), of_any);
    with_writers_->release();
    with_writers_.reset();
  };
  const auto failed = caught([&] {
    // A writer is in MPI all the time: so over MPI, too, its messages move in the background.
    const bool over_tcp = exchange == base::ExchangeOver::tcp && with_writers_->count() > 1;
    service::OtherNodes others{over_tcp ? connect_nodes(comm_, deadline_seconds_) : transport::make_mpi_messages(comm_),
                               deadline_seconds_, [this] { leave_together(); }};
    Questions questions(with_writers_->self(), deadline_seconds_);
    const service::BesideDrain beside = [this](drain::Engine& engine, pool::Pool& drained) {
      return std::make_shared<view::LiveView>(engine, drained, settings().view);
    };
    const int status = service::serve(pool.text, [&] { tell(std::nullopt); }, std::move(others),
                                    [&](pool::Pool& drained) { questions.look(drained); }, beside);
    if (status != 0) base::log(base::LogLevel::error, "not all that the ranks had captured could be completed");
  });
  if (!has_told) tell(failed);
  if (with_writers_) throw base::Error(*failed);
  if (failed) base::log(base::LogLevel::error, "the writer: {}", failed->what());
  closed_ = true;
}

// The writer waits no longer than `pool.deadline`: another writer may be gone, and then `comm_` is of no use any more.
void Core::leave_together() const {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(comm_, &request);
  const std::uint64_t begin_ns = base::now_ns();
  for (int done = 0; base::seconds(base::now_ns() - begin_ns) < deadline_seconds_;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  base::log(base::LogLevel::error, "not all writers have come to the end of the session within {}", base::exact_seconds(deadline_seconds_));
}

void Core::start_writer(const std::optional<base::Error>& failed) {
  static_cast<void>(on_root<PoolName>(with_writers_->comm(), [&](PoolName& value) {
    if (failed) throw base::Error(*failed);
    pool_->name().copy(value.text, sizeof value.text - 1);
  }));
  agree(with_writers_->comm(), std::nullopt);
  with_writers_->release();
  with_writers_.reset();
  configuration_.settings.drain.place = base::DrainPlace::process;
  agree(comm_, caught([&] { start_drain(); }));
}

// The drain is another process.
void Core::wait_for_drain_to_open(pool::OutputKey key) {
  pool::PoolHeader& header = pool_->header();
  const pool::OutputSlot& slot = pool_->slot(key.slot);
  pool::futex_signal(header.progress);   // a writer that exchanges messages sleeps on it
  recorder_->ring_the_drain();
  pool::Wait wait(header.progress, deadline_seconds_, writer_nap_ns);
  const bool has_opened = wait.until([&] {
    if (slot.working_inode.load(std::memory_order_acquire) != 0 || slot.error.load(std::memory_order_acquire) != 0) return true;
    if (const auto lost = outputs_->drain_is_lost()) throw base::Error(*lost);
    if (!drain_ && pool_->drainer() == 0) throw base::Error(base::Errc::io, "the process that drains is gone");
    keep_draining();
    return false;
  });
  if (has_opened) return;
  throw base::Error(base::Errc::timeout,
                    fmt::format("the process that drains node {} has not opened the file for {}", nodes_->self(), wait.text()));
}

}  // namespace glean::session
