// SPDX-License-Identifier: BSD-3-Clause
#include "session.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>

#include "base/clock.hpp"
#include "base/keys.hpp"
#include "base/log.hpp"
#include "captured_file.hpp"
#include "left_open.hpp"
#include "frontends/posix/gathered_files.hpp"
#include "frontends/posix/interposition.hpp"
#include "frontends/posix/other_sessions.hpp"
#include "passed_handle.hpp"
#include "pool/lamport_clock.hpp"
#include "pool/published.hpp"
#include "session/agreement.hpp"
#include "session/byte_opening.hpp"
#include "session/replaced.hpp"
#include "start_up.hpp"

namespace glean::mpiio {
namespace {

// Never deleted: calls may come when static objects are gone.
std::atomic<Session*> the_session{nullptr};

void say(int rank, const std::string& text) {
  if (rank == 0) base::log(base::LogLevel::warning, "{}: MPI-IO passes through", text);
}

}  // namespace

Counters& Session::passed_through() {
  static Counters counters;
  return counters;
}

Counters& Session::captured() {
  static Counters counters;
  return counters;
}

Session::Session(std::shared_ptr<session::Core> core) : core_(std::move(core)) {
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &orders_key_, nullptr);
}

Session* Session::current() noexcept { return the_session.load(std::memory_order_acquire); }

void Session::begin() noexcept {
  if (current() != nullptr || !come_alive()) return;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  wait_for_all_ranks();
  const auto error = session::caught([&] {
    auto core = std::make_shared<session::Core>(MPI_COMM_WORLD, std::map<std::string, std::string>{}, session::Core::Program::unmodified);
    auto* made = new Session(std::move(core));
    made->end_with_mpi();
    if (made->core_->has_pool()) posix::begin_interposition(*made->core_);
    posix::begin_gathering(*made->core_);
    MPI_Comm parents = MPI_COMM_NULL;
    PMPI_Comm_get_parent(&parents);
    if (parents != MPI_COMM_NULL) is_connected();
    announce(*made->core_);
    the_session.store(made, std::memory_order_release);
  });
  if (error) say(rank, error->what());
}

// MPI_Finalize begins with the attributes of MPI_COMM_SELF, the last one first: libraries that close their files there, as HDF5
// does, have done so when it comes to ours. MPI works until then, and it does not matter how MPI_Finalize was called.
void Session::end_with_mpi() {
  const auto on_delete = [](MPI_Comm, int, void* session, void*) {
    static_cast<Session*>(session)->end();
    return MPI_SUCCESS;
  };
  int key = MPI_KEYVAL_INVALID;
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, nullptr);
  PMPI_Comm_set_attr(MPI_COMM_SELF, key, this);
  // A child of the program has no part in it.
  pthread_atfork(nullptr, nullptr, [] { the_session.store(nullptr); });
}

void Session::end_without_mpi() noexcept {
  wait_for_files();
  Session* session = the_session.exchange(nullptr);
  if (session == nullptr) return;
  posix::leave_gathering();
  posix::end_interposition();
  session->core_->leave();
}

void Session::is_connected() noexcept {
  posix::expect_other_sessions();
  posix::find_other_sessions();
}

namespace {

// After all that a program does at its end, by atexit() or in destructors of static objects: it may close files there, and finalize MPI.
[[gnu::destructor]] void end_with_process() noexcept { Session::end_without_mpi(); }

}  // namespace

void Session::wait_for_files() noexcept {
  const Session* session = current();
  if (session == nullptr || !session->core_->has_pool()) return;
  session::Core& core = *session->core_;
  const std::uint64_t began = base::now_ns();
  double next_word = 5;
  const auto tell = [&] {
    const double seconds = base::seconds(base::now_ns() - began);
    if (seconds < next_word) return;
    base::log(base::LogLevel::warning, "the program ends when what it has written is in its files, {:.0f} s so far", seconds);
    next_word += 5;
  };
  const auto late = session::caught([&] {
    const auto open_are_written = session::ByteOutput::write_open_and_kept(core);
    pool::Draining draining{core.pool(), pool::no_rank};
    pool::OutputSet closed = draining.outputs().closed;
    session::wait_until(core, [&] {
      tell();
      closed &= draining.outputs().closed;
      return closed == 0 && open_are_written();
    }, "the files");
  });
  if (late) base::log(base::LogLevel::error, "the program ends, and `glean recover` completes its files: {}", late->what());
}

void Session::end() noexcept {
  if (current() != this) return;
  std::vector<std::shared_ptr<CapturedFile>> left;
  {
    const std::unique_lock lock(files_lock_);
    for (auto& [fh, handle] : handles_) {
      if (handle.captured) left.push_back(std::move(handle.captured));
    }
    handles_.clear();
    handle_changes_.fetch_add(1, std::memory_order_release);
  }
  const std::vector<LeftOpen> left_open = close_left_open(left);
  left.clear();
  StandInHandle::close_spare();
  if (core_->has_pool()) posix::end_gathering(*core_);
  posix::end_interposition();
  const auto error = session::caught([&] {
    report_calls();
    core_->datasets() = datasets().gather(core_->comm());
    core_->close();
  });
  the_session.store(nullptr);
  tell_of(left_open);
  if (!error) return;
  if (core_->rank() == 0) base::log(base::LogLevel::error, "{}", error->what());
  core_->leave();
}

std::vector<Session::CallsOfRank>& Session::others() {
  static auto& all = *new std::vector<CallsOfRank>;   // calls may come after destructors of statics
  return all;
}

void Session::also_report(CallsOfRank of_this_rank) { others().push_back(of_this_rank); }

void Session::report_calls() {
  std::vector<report::CallFigures> calls;
  const auto captured_values = captured().values(), passed_values = passed_through().values();
  for (std::size_t i = 0; i < call_names.size(); ++i) {
    calls.push_back({std::string(call_names[i]), captured_values[i], passed_values[i]});
  }
  for (const CallsOfRank of_this_rank : others()) {
    for (auto& call : of_this_rank()) calls.push_back(std::move(call));
  }
  std::vector<std::uint64_t> sums;
  for (const auto& call : calls) sums.insert(sums.end(), {call.captured, call.passed_through});
  PMPI_Reduce(core_->is_root() ? MPI_IN_PLACE : sums.data(), sums.data(), static_cast<int>(sums.size()), MPI_UINT64_T, MPI_SUM, 0,
              core_->comm());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (sums[2 * i] + sums[2 * i + 1] != 0) core_->calls().push_back({calls[i].name, sums[2 * i], sums[2 * i + 1]});
  }
}

Datasets& Session::datasets() {
  static Datasets& all = *new Datasets;   // calls may come after destructors of statics
  return all;
}

bool Session::captures(std::string_view filename) const {
  return core_->has_pool() && base::captures(core_->settings().for_output(filename).mode);
}

std::string Session::absolute(const std::string& filename) {
  std::error_code gone;   // the directory that the program is in
  const auto path = std::filesystem::absolute(filename, gone);
  return gone ? filename : path.string();
}

void Session::explain_missing(const std::string& filename) const {
  static std::atomic<bool> has_been_said = false;
  if (!core_->is_root()) return;
  const std::string path = absolute(filename);
  const auto copy = session::replaced_by(*core_, path);
  if (!copy || has_been_said.exchange(true)) return;
  base::log(base::LogLevel::error, "'{}' cannot be opened: '{}' took its place (setting `format`); with `also` both would be there",
            path, *copy);
}

bool Session::compares(std::string_view filename) const {
  return core_->settings().for_output(filename).read_back == base::ReadBack::compare;
}

bool Session::closes_durably(std::string_view filename) const {
  return core_->settings().for_output(filename).close == base::Close::durable;
}

bool Session::is_on_several_nodes() const { return core_->has_pool() && core_->pool().is_shared(); }

// Others are in no session, or in another: programs that are connected to this one. Ranks of one node have its numbers.
bool Session::orders_by(MPI_Comm comm) {
  void* known = nullptr;
  int is_known = 0;
  PMPI_Comm_get_attr(comm, orders_key_, &known, &is_known);
  if (is_known != 0) return known != nullptr;
  int between_groups = 0;
  PMPI_Comm_test_inter(comm, &between_groups);
  const bool orders = between_groups == 0 && session::are_in_session(*core_, comm) && !session::are_on_this_node(*core_, comm);
  PMPI_Comm_set_attr(comm, orders_key_, orders ? this : nullptr);
  return orders;
}

int Session::barrier(MPI_Comm comm) {
  Session* session = comm == MPI_COMM_NULL ? nullptr : current();
  if (session == nullptr || !session->is_on_several_nodes() || !session->orders_by(comm)) {
    const int code = PMPI_Barrier(comm);
    posix::find_other_sessions();   // what they had closed before is known now
    return code;
  }
  const pool::Pool& pool = session->core_->pool();
  std::uint64_t tick = pool::proposed_tick(pool);
  const int code = PMPI_Allreduce(MPI_IN_PLACE, &tick, 1, MPI_UINT64_T, MPI_MAX, comm);
  if (code == MPI_SUCCESS) pool::raise_tick(pool, tick);
  return code;
}

// A thread finds the handle of its last call without a lock, as long as no handle has come or gone since.
const Session::Handle& Session::find(MPI_File fh) {
  static const Handle unknown;
  thread_local struct {
    MPI_File fh = MPI_FILE_NULL;
    std::uint64_t changes = 0;
    const Handle* handle = &unknown;
  } last;
  const Session* session = current();
  if (session == nullptr) return unknown;
  if (last.fh == fh && last.changes == session->handle_changes_.load(std::memory_order_acquire)) return *last.handle;
  const std::shared_lock lock(session->files_lock_);
  const auto found = session->handles_.find(fh);
  last = {fh, session->handle_changes_.load(std::memory_order_relaxed), found == session->handles_.end() ? &unknown : &found->second};
  return *last.handle;
}

void Session::add(MPI_File fh, Handle handle) {
  const std::unique_lock lock(files_lock_);
  handles_[fh] = std::move(handle);
  handle_changes_.fetch_add(1, std::memory_order_release);
}

void Session::remove(MPI_File fh) {
  const std::unique_lock lock(files_lock_);
  handles_.erase(fh);
  handle_changes_.fetch_add(1, std::memory_order_release);
}

std::shared_ptr<Target> Session::find_target(const std::string& path) {
  const std::shared_lock lock(files_lock_);
  const auto found = targets_.find(path);
  auto target = found == targets_.end() ? nullptr : found->second.lock();
  return target && target->handles > 0 ? target : nullptr;
}

void Session::add_target(const std::shared_ptr<Target>& target) {
  const std::unique_lock lock(files_lock_);
  std::erase_if(targets_, [](const auto& entry) { return entry.second.expired(); });
  targets_[target->path] = target;
}

bool Session::is_written_by_mpi(const std::string& path) {
  const std::shared_lock lock(files_lock_);
  return std::any_of(handles_.begin(), handles_.end(), [&](const auto& one) {
    const auto& watched = one.second.watched;
    return watched && watched->is_written && watched->path == path;
  });
}

}  // namespace glean::mpiio
