// SPDX-License-Identifier: BSD-3-Clause
#include "session/byte_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "pool/description.hpp"
#include "pool/futex.hpp"
#include "pool/lamport_clock.hpp"
#include "pool/published.hpp"
#include "pool/ranks_of_output.hpp"
#include "pool/wait.hpp"
#include "session/agreement.hpp"
#include "session/byte_opening.hpp"
#include "session/captured_so_far.hpp"
#include "session/core.hpp"
#include "store/posix/file_space.hpp"

namespace glean::session {

void tell_drain(Core& core) {
  core.recorder().ring_the_drain();
  pool::futex_signal(core.pool().header().progress);   // the exchange sleeps on it
}

namespace {

// That all its ranks have closed, is not written in place, and has not yet been published.
std::optional<FoundOutput> find_unpublished(const Core& core, const std::string& path) {
  if (!any_is_open(core.pool()) || core.pool().is_shared()) return std::nullopt;   // others may be renaming it
  const std::string final_path = store::resolved_path(path);
  const auto found = find_output(core.pool(), final_path);
  // A rank that opens one that is written in place looks it up by the name under which it is waited for.
  if (!found || !found->is_closed || found->working_path == final_path) return std::nullopt;
  return pool::ranks_of_output(core.pool(), found->key.slot).any_abandoned ? std::nullopt : found;
}

constexpr std::uint64_t parting_nap_ns = 10'000'000;

// That all ranks of the node have closed, and is neither published nor refused.
bool any_is_draining(const pool::Pool& pool) {
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    const pool::OutputSlot& slot = pool.slot(index);
    if (is_open(slot) && !pool::is_kept(slot) && is_closed_by_all(pool, index)) return true;
  }
  return false;
}

// Null while another rank, or thread, keeps it, or when the file is just being published.
std::unique_ptr<ByteOutput::KeptName> try_keep_name(const Core& core, const FoundOutput& output) {
  if (!pool::keep_name(core.pool(), output.key, core.nodes().rank())) return nullptr;
  return std::make_unique<ByteOutput::KeptName>(core, output.key, output.working_path);
}

// Of an output that all ranks have closed.
void ask_for_all_writes(const Core& core, const FoundOutput& output) {
  pool::OutputSlot& slot = core.pool().slot(output.key.slot);
  const std::uint64_t all = pool::writes_begun(slot);
  pool::raise(slot.writes.read_up_to, all);
  pool::raise(slot.writes.write_up_to, all);
}

// False: it is published, or has failed.
bool wait_for_all_writes(Core& core, const FoundOutput& output, const std::string& path) {
  const pool::OutputSlot& slot = core.pool().slot(output.key.slot);
  const std::uint64_t all = pool::writes_begun(slot);
  const auto is_there = [&] { return is_current(core.pool(), output.key) && slot.error.load() == 0; };
  const WaitsForWrites waits(core.pool().slot(output.key.slot));
  wait_until(core, [&] { return !is_there() || slot.writes.written.load(std::memory_order_acquire) >= all; }, "'" + path + "'");
  return is_there();
}

// What ranks have captured so far is in its working file then. False: `gives_up` said so before the ranks had come that it waits for.
bool write_captured(Core& core, pool::OutputKey key, const std::string& path, const std::function<bool()>& gives_up) {
  const std::uint32_t own = core.pool().rank_progress(key.slot, core.nodes().rank()).load(std::memory_order_acquire);
  const bool takes_part = (own & pool::rank_absent) == 0;
  const auto collective_count =
      takes_part ? core.pace().wait_for_ranks(key.slot, gives_up) : pool::least_collective_count(core.pool(), key.slot);
  if (!collective_count) return false;
  const std::lock_guard lock(core.one_at_a_time());
  write_up_to(core, key, *collective_count, path);
  return true;
}

}  // namespace

void write_up_to(Core& core, pool::OutputKey key, std::uint32_t collective_count, const std::string& path) {
  const CapturedSoFar captured(core, key, collective_count);
  captured.want_to_read();
  captured.want_written();
  const WaitsForWrites waits(core.pool().slot(key.slot));
  tell_drain(core);
  wait_until(core, [&] { return captured.is_written(); }, "'" + path + "'");
}

// What was flushed before is in earlier ticks.
void wait_until_durable(Core& core, pool::OutputKey key, const std::string& path) {
  pool::OutputSlot& slot = core.pool().slot(key.slot);
  const std::uint64_t tick = pool::tick_of(slot);
  pool::raise(slot.writes.wanted_tick, tick);   // it may be a later one than what was flushed
  pool::raise(slot.writes.wanted_durable_tick, tick);
  const WaitsForWrites waits(slot);
  tell_drain(core);
  const auto is_over = [&] { return !is_current(core.pool(), key) || slot.error.load() != 0; };
  wait_until(core, [&] { return is_over() || slot.writes.job_durable_tick.load(std::memory_order_acquire) >= tick; },
             "'" + path + "' on the stagers' storage");
}

void keep_nothing(Core& core, pool::OutputKey key, const std::string& path) {
  const bool is_kept = core.pool().is_staged() && core.pool().header().keeps_until_durable.load(std::memory_order_acquire) != 0;
  if (is_kept) wait_until_durable(core, key, path);
}

std::unique_ptr<ByteOutput> ByteOutput::open(std::shared_ptr<Core> core, MPI_Comm comm, const std::string& path, Existing existing,
                                             const StripingHints& of_program, Where where) {
  const MadeOutput made = open_output(*core, comm, path, existing, of_program, where);
  return std::unique_ptr<ByteOutput>(new ByteOutput(std::move(core), path, made));
}

std::optional<std::string> ByteOutput::find_open(const Core& core, const std::string& path) {
  if (!any_is_open(core.pool())) return std::nullopt;
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && status.st_nlink > 1) {   // by another name it is known when the drain has opened it
    pool::Draining draining(core.pool(), core.nodes().rank());
    draining.wait_until_opened(draining.outputs().open, 1);
  }
  const auto found = find_output(core.pool(), store::resolved_path(path));
  return found && !found->is_closed ? std::optional(found->working_path) : std::nullopt;
}

ByteOutput::KeptName::KeptName(const Core& core, pool::OutputKey key, std::string working_path)
    : core_(core), key_(key), working_path_(std::move(working_path)) {}

ByteOutput::KeptName::~KeptName() { pool::release_name(core_.pool(), key_); }

bool ByteOutput::is_unpublished(const Core& core, const std::string& path) { return find_unpublished(core, path).has_value(); }

std::unique_ptr<ByteOutput::KeptName> ByteOutput::keep_unpublished(Core& core, const std::string& path) {
  const auto found = find_unpublished(core, path);
  if (!found) return nullptr;
  ask_for_all_writes(core, *found);
  auto kept = try_keep_name(core, *found);
  if (!kept) return nullptr;
  core.pool().slot(found->key.slot).other_handles.fetch_or(pool::looked_at);
  // From here on the slot is another output's only if this one has failed.
  return wait_for_all_writes(core, *found, path) ? std::move(kept) : nullptr;
}

void ByteOutput::write_unpublished(Core& core, const std::string& path) {
  const auto found = find_unpublished(core, path);
  if (!found) return;
  ask_for_all_writes(core, *found);
  static_cast<void>(wait_for_all_writes(core, *found, path));
}

void ByteOutput::expect_reading() {
  pool::raise(core_->pool().slot(key_.slot).writes.read_up_to, std::numeric_limits<std::uint64_t>::max());
}

void ByteOutput::finish(Core& core, const std::string& path) {
  if (!any_is_open(core.pool())) return;
  const std::string final_path = store::resolved_path(path);
  wait_until(core, [&] {
    const auto found = find_output(core.pool(), final_path);
    return !found || !found->is_closed;
  }, "'" + path + "'");
}

void ByteOutput::finish_all(Core& core) {
  wait_until(core, [&] { return !any_is_draining(core.pool()); }, "what all ranks have closed");
}

bool ByteOutput::finish_all_within(Core& core, double seconds) {
  pool::PoolHeader& header = core.pool().header();
  pool::Wait wait(header.progress, seconds, parting_nap_ns);
  wait.restart_with([&] { return header.written_bytes.load() + header.job_written_bytes.load(); }).meanwhile([&] { core.keep_draining(); });
  const auto cannot = [&] { return header.lost_nodes.load(std::memory_order_acquire) != 0; };
  return wait.until([&] { return cannot() || !any_is_draining(core.pool()); }) && !any_is_draining(core.pool());
}

std::function<bool()> ByteOutput::write_open_and_kept(Core& core) {
  std::vector<CapturedSoFar> all;
  for (const pool::OutputKey key : open_and_kept(core.pool())) {
    all.emplace_back(core, key, pool::least_collective_count(core.pool(), key.slot)).want_written();
  }
  tell_drain(core);
  return [all = std::move(all)] {
    return std::all_of(all.begin(), all.end(), [](const CapturedSoFar& each) { return each.is_written(); });
  };
}

std::unique_ptr<ByteOutput::KeptName> ByteOutput::keep_open(Core& core, const std::string& final_path, Content content,
                                                            const std::function<bool()>& gives_up) {
  if (OneAtATime::is_taken_here()) return nullptr;
  const auto found = find_output(core.pool(), final_path);
  if (!found || found->is_closed || found->working_path == final_path) return nullptr;
  const std::uint32_t index = found->key.slot;
  const pool::OutputSlot& slot = core.pool().slot(index);
  const auto limit = base::now_ns() + static_cast<std::uint64_t>(core.deadline_seconds() * 1e9);
  const auto gives_up_waiting = [&] { return gives_up() || base::now_ns() > limit; };
  if (content == Content::captured && !write_captured(core, found->key, final_path, gives_up_waiting)) return nullptr;
  const std::lock_guard lock(core.one_at_a_time());
  // Others may look at it, too; or have closed it, and then it is somewhere else at any time.
  for (;;) {
    if (!is_current(core.pool(), found->key) || is_closed_by_all(core.pool(), index) || slot.error.load() != 0) return nullptr;
    auto kept = try_keep_name(core, *found);
    if (kept && content == Content::captured) core.pool().slot(index).other_handles.fetch_or(pool::looked_at);
    if (kept) return kept;
    if (gives_up_waiting()) return nullptr;
    sched_yield();
  }
}

void ByteOutput::fail_open(Core& core, const std::string& why) {
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    pool::OutputSlot& slot = core.pool().slot(index);
    if (is_open(slot) && slot.is_bytes != 0 && !is_closed_by_all(core.pool(), index)) {
      pool::fail(slot, static_cast<std::uint32_t>(base::Errc::invalid_state), why, "");
    }
  }
  core.recorder().ring_the_drain();
}

ByteOutput::ByteOutput(std::shared_ptr<Core> core, std::string path, const MadeOutput& made)
    : core_(std::move(core)), key_(made.key), slot_(core_->pool().slot(key_.slot)), path_(std::move(path)),
      working_path_(made.working_path), is_in_place_(made.is_in_place), is_at_stagers_(slot_.is_made_by_stagers.load() != 0),
      uncut_(made.uncut), full_(core_->settings().for_output(path_).full),
      longest_(std::min(store::longest_of_process(), store::always_possible)) {}

ByteOutput::~ByteOutput() {
  if (!closed_ && core_->has_pool()) leave(pool::rank_closed | pool::rank_abandoned);
}

void ByteOutput::wait_until_written(const pool::WriteStamp& stamp) {
  const auto is_written = [&] {
    if (!may_change_file()) return false;
    if (slot_.writes.written_before.load(std::memory_order_acquire) >= stamp.word()) return true;
    pool::raise(slot_.writes.write_up_to, pool::writes_begun(slot_));   // each time: later ones may be of an earlier count
    core_->recorder().ring_the_drain();
    return slot_.writes.written_before.load(std::memory_order_acquire) >= stamp.word();
  };
  wait_for_drain(is_written, "' as far as this write");
}

bool ByteOutput::claim_meaning(std::uint32_t count) { return pool::claim_meaning(core_->pool(), key_, count); }

void ByteOutput::say_meaning(std::span<const std::byte> meaning) { pool::say_meaning(core_->pool(), key_, meaning); }

std::uint32_t ByteOutput::collective_count() const { return core_->pace().collective_count(key_.slot); }

void ByteOutput::count_collective() { core_->pace().count_collective(key_.slot); }

std::uint32_t ByteOutput::wait_for_ranks() const { return core_->pace().wait_for_ranks(key_.slot); }

std::uint32_t ByteOutput::keep_pace(base::Bytes bytes, std::uint64_t writes) const {
  const std::uint32_t mine = collective_count();
  if (full_ == base::WhenFull::synchronous) static_cast<void>(wait_for_ranks());   // a rank that writes itself waits for what is before
  core_->pace().keep(key_.slot, bytes, writes);
  return mine;
}

void ByteOutput::throw_failure() const {
  if (const auto failed = failure()) throw base::Error(*failed);
}

template <class Condition>
void ByteOutput::wait_for_drain(Condition holds, const char* what) {
  const WaitsForWrites waits(slot_);
  wait_until(*core_, [&] { return failure() || holds(); }, "'" + path_ + what);
}

bool ByteOutput::flush(std::uint32_t collective_count, Then then) {
  const CapturedSoFar captured(*core_, key_, collective_count);
  const bool waits = !captured.is_written();
  if (waits) {
    if (then == Then::read) captured.want_to_read();
    captured.want_written();
    tell_drain(*core_);
    wait_for_drain([&] { return captured.is_written(); }, "'");
  }
  throw_failure();
  return waits;
}

std::optional<std::string> ByteOutput::own_name() const {
  if (is_at_stagers_) return working_path_;
  if (is_working_file(slot_, working_path_)) return working_path_;
  return has_others() && pool::leads_to_file_of(slot_, path_) ? std::optional(path_) : std::nullopt;
}

std::optional<std::string> ByteOutput::find_working_file() const {
  if (auto name = own_name()) return name;
  const std::uint64_t of_drain = slot_.working_descriptor.load(std::memory_order_acquire);
  std::string held = fmt::format("/proc/{}/fd/{}", of_drain >> 32, of_drain & ~std::uint32_t{0});
  return is_working_file(slot_, held) ? std::optional(std::move(held)) : std::nullopt;
}

std::string ByteOutput::working_path() const { return find_working_file().value_or(working_path_); }

bool ByteOutput::has_its_name() const { return own_name().has_value(); }

// `change` returns 0 or what failed, and so does this.
template <class Change>
int ByteOutput::change_working_file(Change change) const {
  const int file = ::open(working_path().c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return errno;
  struct stat status {};
  const bool is_it = fstat(file, &status) == 0 && is_working_file(slot_, status);   // now: its name may have been lost meanwhile
  const int error = is_it ? change(file) : ENOENT;
  ::close(file);
  return error;
}

void ByteOutput::keep_nothing() {
  session::keep_nothing(*core_, key_, path_);
  throw_failure();
}

void ByteOutput::synchronize() {
  if (core_->pool().is_staged()) {
    wait_until_durable(*core_, key_, path_);
    throw_failure();
  }
  if (is_at_stagers_) return;
  const int error = change_working_file([](int file) { return fsync(file) == 0 ? 0 : errno; });
  if (error != 0) throw base::system_error(error, "cannot synchronize '" + path_ + "'");
}

std::uint64_t ByteOutput::writes_made() const { return pool::writes_begun(slot_); }

void ByteOutput::promise(std::uint64_t writes) { pool::raise(slot_.synchronized_writes, writes + 1); }

std::optional<base::Bytes> ByteOutput::size_in_file() const {
  const auto path = find_working_file();
  struct stat status {};
  return path && stat(path->c_str(), &status) == 0 ? std::optional(static_cast<base::Bytes>(status.st_size)) : std::nullopt;
}

base::Bytes ByteOutput::captured_size() const {
  if (uncut_) return *uncut_;
  const base::Bytes in_file = is_at_stagers_ ? 0 : size_in_file().value_or(0);
  if (has_others()) return in_file;   // all is there, and others may have cut it
  return std::max(in_file, slot_.writes.size.load(std::memory_order_acquire));
}

base::Bytes ByteOutput::size(std::uint32_t collective_count) {
  const base::Bytes captured = captured_size();   // first: a rank that is ahead now may have made it longer before
  if (!core_->pool().is_shared() && !pool::any_is_past_collective_count(core_->pool(), key_.slot, collective_count)) return captured;
  if (uncut_) return captured;
  flush(collective_count);
  // What all nodes say, who have written what they had by then; but for what has been cut since.
  if (cut_to_) return *cut_to_;
  if (is_at_stagers_) return std::max(captured, slot_.nodes.job_highest_end.load(std::memory_order_acquire));
  if (const auto found = size_in_file()) return *found;
  throw base::system_error(ENOENT, "cannot find its size");
}

void ByteOutput::begin_change(By by) {
  if (by == By::mpi && (slot_.other_handles.load() & pool::written_past_it) == 0) slot_.other_handles.fetch_or(pool::written_past_it);
  if (is_in_place_ && !std::exchange(changed_, true) && has_its_name()) forget_checksums(working_path_);
}

// The stager that publishes the file gives it that size.
void ByteOutput::resize_at_stagers(base::Bytes size, bool cuts) {
  if (uncut_ && size == 0) {
    uncut_.reset();
    return;
  }
  check_end_at_stagers(size);
  if (cuts) cut_to_ = size;
  slot_.writes.size.store(size, std::memory_order_release);
}

void ByteOutput::check_end_at_stagers(base::Bytes end) const {
  if (uncut_) {
    throw base::Error(base::Errc::permission, "it is where only the stagers see it, and can be replaced, not changed",
                      "remove it first, or cut it to nothing before it is written");
  }
  if (cut_to_ && end > *cut_to_) {
    throw base::Error(base::Errc::unsupported, "it is where only the stagers see it, and was cut: it cannot become longer again",
                      "close it first");
  }
}

void ByteOutput::resize(base::Bytes size) {
  if (size < captured_size()) wait_for_drain([&] { return may_change_file(); }, "': what was closed before");
  begin_change(By::capture);
  const int error = change_working_file([&](int file) { return ftruncate(file, static_cast<off_t>(size)) == 0 ? 0 : errno; });
  if (error != 0) throw base::system_error(error, "cannot set its size to " + base::readable_bytes(size));
  slot_.writes.size.store(size, std::memory_order_release);
}

void ByteOutput::allocate(base::Bytes size) {
  begin_change(By::capture);
  const int error = change_working_file([&](int file) { return store::allocate_storage(file, size); });
  const bool is_only_longer = error == EOPNOTSUPP || error == ENOSYS;
  if (error != 0 && !is_only_longer) throw base::system_error(error, "cannot allocate " + base::readable_bytes(size) + " for it");
  if (size > captured_size()) resize(size);
}

void ByteOutput::was_resized(base::Bytes size) { slot_.writes.size.store(size, std::memory_order_release); }

std::uint64_t ByteOutput::move_shared(const pool::SharedMove& move) {
  pool::Pool& pool = core_->pool();
  if (!pool.is_shared()) return pool::move_shared(slot_.writes.shared_position, move);
  pool::SharedQuestion& question = pool.journal(core_->nodes().rank()).question;
  question.job_output = slot_.nodes.job_output.load(std::memory_order_acquire);
  question.move = move;
  const std::uint64_t number = question.asked.fetch_add(1, std::memory_order_release) + 1;
  pool::futex_signal(pool.header().progress);   // the exchange sleeps on it
  const auto is_answered = [&] { return question.answered.load(std::memory_order_acquire) == number; };
  wait_until(*core_, [&] { return failure() || is_answered(); }, "the shared pointer of '" + path_ + "'");
  throw_failure();
  return question.position.load(std::memory_order_relaxed);
}

std::optional<base::Error> ByteOutput::failure() const {
  const std::uint32_t error = slot_.error.load(std::memory_order_acquire);
  if (error == 0 || slot_.generation.load(std::memory_order_acquire) != key_.generation) return std::nullopt;
  slot_.told.store(1);   // the rank that asks tells the program
  return base::Error(static_cast<base::Errc>(error - 1), "'" + path_ + "' cannot be completed: " + slot_.message.data(), slot_.hint.data());
}

ByteOutput::Closing::Closing(Core& core) : closing_(core.pool().journal(core.nodes().rank()).closing) {
  closing_.fetch_add(1, std::memory_order_relaxed);
}

ByteOutput::Closing::~Closing() { closing_.fetch_sub(1, std::memory_order_relaxed); }

void ByteOutput::close() { leave(pool::rank_closed | (uncut_ ? pool::rank_abandoned : 0)); }

void ByteOutput::leave(std::uint32_t flags) {
  if (std::exchange(closed_, true)) return;
  core_->full_pool_policy().leave(key_);
  core_->pool().rank_progress(key_.slot, core_->nodes().rank()).store(1 | flags, std::memory_order_release);
  core_->keep_draining();
  core_->recorder().ring_the_drain();
}

}  // namespace glean::session
