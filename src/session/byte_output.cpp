// SPDX-License-Identifier: BSD-3-Clause
#include "session/byte_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <vector>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "drain/checksums.hpp"
#include "drain/description.hpp"
#include "pool/description.hpp"
#include "pool/futex.hpp"
#include "pool/published.hpp"
#include "session/agreement.hpp"
#include "session/core.hpp"

namespace glean::session {
namespace {

constexpr std::uint64_t nap_ns = 50'000'000;

void raise_to(pool::Atomic<std::uint64_t>& word, std::uint64_t value) {
  std::uint64_t found = word.load(std::memory_order_relaxed);
  while (found < value && !word.compare_exchange_weak(found, value)) {}
}

bool is_open(const pool::OutputSlot& slot) { return slot.state.load(std::memory_order_acquire) == pool::OutputState::open; }

// Waits as long as anything is written. Local.
template <class Condition>
void wait_until(Core& core, Condition holds, const std::string& what) {
  pool::PoolHeader& header = core.pool().header();
  const auto limit = static_cast<std::uint64_t>(core.deadline_seconds() * 1e9);
  std::uint64_t since = base::now_ns(), written = header.written_bytes.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint32_t seen = header.progress.load(std::memory_order_acquire);
    if (holds()) return;
    const std::uint64_t now = base::now_ns();
    if (const auto latest = header.written_bytes.load(std::memory_order_relaxed); latest != written) {
      written = latest;
      since = now;
    }
    if (now - since > limit) {
      throw base::Error(base::Errc::timeout,
                        fmt::format("waited {} for {}, and nothing was written", base::exact_seconds(core.deadline_seconds()), what),
                        "the storage may hang; raise pool.deadline if it is only slow");
    }
    core.keep_draining();
    if (core.root_is_gone() && core.pool().drainer() == 0) {
      throw base::Error(base::Errc::io, "the processes that drain " + what + " are gone");
    }
    pool::futex_signal(header.work);
    pool::futex_wait(header.progress, seen, nap_ns);
  }
}

// One process of the node looks for an output and makes a new one at a time.
class Opening {
 public:
  explicit Opening(pool::Pool& pool) : word_(pool.header().opening) {
    for (;;) {
      std::uint32_t holder = 0;
      const auto mine = static_cast<std::uint32_t>(getpid());
      if (word_.compare_exchange_strong(holder, mine)) return;
      if (kill(static_cast<pid_t>(holder), 0) != 0 && errno == ESRCH && word_.compare_exchange_strong(holder, mine)) return;
      usleep(50);
    }
  }
  ~Opening() { word_.store(0); }
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;

 private:
  pool::Atomic<std::uint32_t>& word_;
};

bool is_closed_by_all(const pool::Pool& pool, std::uint32_t index) {
  for (int rank = 0; rank < static_cast<int>(pool.header().ranks); ++rank) {
    if ((pool.rank_progress(index, rank).load(std::memory_order_acquire) & pool::rank_closed) == 0) return false;
  }
  return true;
}

bool is_abandoned(const pool::Pool& pool, std::uint32_t index) {
  for (int rank = 0; rank < static_cast<int>(pool.header().ranks); ++rank) {
    if ((pool.rank_progress(index, rank).load(std::memory_order_acquire) & pool::rank_abandoned) != 0) return true;
  }
  return false;
}

struct Found {
  pool::OutputKey key;
  std::string working_path;
  bool is_closed = false;   // by all ranks
};

// The output of that name that is not finished, if there is one.
std::optional<Found> find(const pool::Pool& pool, const std::string& final_path) {
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    const pool::OutputSlot& slot = pool.slot(index);
    if (!is_open(slot)) continue;
    const pool::OutputKey key{index, slot.generation.load(std::memory_order_acquire)};
    try {
      const auto names = drain::OutputDescription::decode_names(pool::read_description(pool, key).bytes).names;
      if (names.final_path != final_path) continue;
      const bool is_closed = is_closed_by_all(pool, index);
      const bool is_current = is_open(slot) && slot.generation.load(std::memory_order_acquire) == key.generation;
      if (is_current) return Found{key, names.working_path, is_closed};
    } catch (const base::Error&) {
      continue;   // it is being described, or has just been finished
    }
  }
  return std::nullopt;
}

bool any_is_open(const pool::Pool& pool) {
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    if (is_open(pool.slot(index))) return true;
  }
  return false;
}

// Of the session, by their place in `comm`.
std::vector<int> ranks_of(const Core& core, MPI_Comm comm) {
  MPI_Group group = MPI_GROUP_NULL, all = MPI_GROUP_NULL;
  int size = 0;
  MPI_Comm_size(comm, &size);
  MPI_Comm_group(comm, &group);
  MPI_Comm_group(core.comm(), &all);
  std::vector<int> mine(static_cast<std::size_t>(size)), ranks(mine.size());
  for (int rank = 0; rank < size; ++rank) mine[static_cast<std::size_t>(rank)] = rank;
  MPI_Group_translate_ranks(group, size, mine.data(), all, ranks.data());
  MPI_Group_free(&group);
  MPI_Group_free(&all);
  return ranks;
}

void make_working_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) throw base::system_error(errno, "cannot create '" + path + "'");
  ::close(descriptor);
}

bool all_are_in_use(const pool::Pool& pool) {
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    if (!is_open(pool.slot(index)) || is_closed_by_all(pool, index)) return false;
  }
  return true;
}

bool is_written_in_place(const store::FileNames& names) { return names.working_path == names.final_path; }

// A slot that could not be described.
void give_up(Core& core, pool::OutputKey key) {
  pool::forget_description(core.pool(), key);
  core.pool().slot(key.slot).state = pool::OutputState::free;
}

// A slot with the names of the output in it, chosen here; nothing while an earlier one of that name drains.
std::optional<pool::OutputKey> try_claim(Core& core, drain::OutputDescription& description, ByteOutput::Existing existing) {
  const Opening opening(core.pool());
  if (const auto earlier = find(core.pool(), description.names.final_path)) {
    if (earlier->is_closed) return std::nullopt;
    throw base::Error(base::Errc::invalid_state, "'" + description.display_path + "' is open already");
  }
  // Only now: an earlier output, of other ranks perhaps, may just have become that file.
  if (existing == ByteOutput::Existing::keep && access(description.names.final_path.c_str(), F_OK) == 0) {
    description.names = store::choose_names(description.display_path, base::Publish::in_place, false, {});
  }
  for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
    const auto key = core.pool().open_slot(index);
    if (!key) continue;
    pool::mark_path(core.pool().slot(index), description.names.final_path);
    try {
      core.recorder().describe(*key, description.encode_names(), pool::Recorder::More::follow);
    } catch (...) {
      give_up(core, *key);
      throw;
    }
    return key;
  }
  if (!all_are_in_use(core.pool())) return std::nullopt;
  throw base::Error(base::Errc::invalid_state, fmt::format("{} files are open already", pool::output_slots), "close some first");
}

struct Made {
  pool::OutputKey key;
  bool is_in_place;
  std::array<char, 4096> working_path;
};

void make(Core& core, const std::vector<int>& members, const std::string& path, ByteOutput::Existing existing, Made& made) {
  const std::lock_guard lock(core.one_at_a_time());
  const base::OutputSettings settings = core.settings().for_output(path);
  if (settings.full == base::WhenFull::drop) {
    core.warn_once("full = \"drop\" is for outputs with steps: when the pool is full, writes to files of bytes wait");
  }
  drain::OutputDescription description;
  description.display_path = path;
  description.is_bytes = true;
  description.checksums = settings.checksums;
  description.direct_io = core.settings().drain.direct_io;
  description.names = store::choose_names(path, base::Publish::rename, false, fmt::format("{}-{}", getpid(), base::now_ns()));
  const std::string& working = description.names.working_path;
  if (working.size() >= made.working_path.size()) throw base::Error(base::Errc::invalid_argument, "the name of '" + path + "' is too long");
  std::optional<pool::OutputKey> key;
  wait_until(core, [&] { return (key = try_claim(core, description, existing)).has_value(); }, "the output '" + path + "' before this one");
  for (int rank = 0; rank < static_cast<int>(core.pool().header().ranks); ++rank) {
    const bool is_member = std::find(members.begin(), members.end(), rank) != members.end();
    if (!is_member) core.pool().rank_progress(key->slot, rank) = 1 | pool::rank_closed | pool::rank_absent;
  }
  const bool in_place = is_written_in_place(description.names);
  try {
    struct stat status {};
    if (!in_place) make_working_file(working);
    if (stat(working.c_str(), &status) != 0) throw base::system_error(errno, "cannot open '" + path + "'");
    core.pool().slot(key->slot).size = static_cast<base::Bytes>(status.st_size);
    core.recorder().describe(*key, description.encode_layout(), pool::Recorder::More::none);
  } catch (...) {
    give_up(core, *key);
    if (!in_place) unlink(working.c_str());
    throw;
  }
  core.recorder().ring_the_drain();
  made.key = *key;
  made.is_in_place = in_place;
  working.copy(made.working_path.data(), working.size());
}

}  // namespace

bool ByteOutput::can_capture(const Core& core, MPI_Comm comm) {
  int between_groups = 0;
  MPI_Comm_test_inter(comm, &between_groups);
  if (between_groups != 0 || !core.has_pool() || core.nodes().count() != 1 || core.parts().count != 1) return false;
  const auto ranks = ranks_of(core, comm);
  return std::find(ranks.begin(), ranks.end(), MPI_UNDEFINED) == ranks.end();
}

void ByteOutput::forget_checksums(const std::string& path) {
  store::SystemCalls calls;
  drain::forget_sums(calls, path);
}

std::unique_ptr<ByteOutput> ByteOutput::open(std::shared_ptr<Core> core, MPI_Comm comm, const std::string& path, Existing existing) {
  const auto members = ranks_of(*core, comm);
  MPI_Barrier(comm);   // who has not closed an earlier output of that name by now has it open
  const auto made = on_root<Made>(comm, [&](Made& value) { make(*core, members, path, existing, value); });
  return std::unique_ptr<ByteOutput>(new ByteOutput(std::move(core), made.key, path, made.working_path.data(), made.is_in_place));
}

std::optional<std::string> ByteOutput::find_open(const Core& core, const std::string& path) {
  if (!any_is_open(core.pool())) return std::nullopt;
  const auto found = find(core.pool(), store::resolved_path(path));
  return found && !found->is_closed ? std::optional(found->working_path) : std::nullopt;
}

ByteOutput::Unpublished::Unpublished(const Core& core, pool::OutputKey key, std::string working_path)
    : core_(core), key_(key), working_path_(std::move(working_path)) {}

ByteOutput::Unpublished::~Unpublished() {
  pool::OutputSlot& slot = core_.pool().slot(key_.slot);
  if (slot.generation.load(std::memory_order_acquire) != key_.generation) return;
  slot.name_lock.store(0, std::memory_order_release);
  pool::futex_signal(core_.pool().header().work);
}

std::unique_ptr<ByteOutput::Unpublished> ByteOutput::find_unpublished(Core& core, const std::string& path) {
  if (!any_is_open(core.pool())) return nullptr;
  const std::string final_path = store::resolved_path(path);
  const auto found = find(core.pool(), final_path);
  // Who opens one that is written in place looks it up by the name under which it is waited for.
  if (!found || !found->is_closed || found->working_path == final_path || is_abandoned(core.pool(), found->key.slot)) return nullptr;
  pool::OutputSlot& slot = core.pool().slot(found->key.slot);
  const std::uint64_t all = slot.writes_begun.load();
  raise_to(slot.read_up_to, all);
  raise_to(slot.write_up_to, all);
  std::uint32_t nobody = 0;
  if (!slot.name_lock.compare_exchange_strong(nobody, static_cast<std::uint32_t>(core.nodes().rank()) + 1)) return nullptr;
  auto unpublished = std::make_unique<Unpublished>(core, found->key, found->working_path);
  // From here on the slot is another output's only if this one has failed.
  const auto is_there = [&] {
    return is_open(slot) && slot.generation.load(std::memory_order_acquire) == found->key.generation && slot.error.load() == 0;
  };
  wait_until(core, [&] { return !is_there() || slot.writes_written.load(std::memory_order_acquire) >= all; }, "'" + path + "'");
  return is_there() ? std::move(unpublished) : nullptr;
}

void ByteOutput::finish(Core& core, const std::string& path) {
  if (!any_is_open(core.pool())) return;
  const std::string final_path = store::resolved_path(path);
  wait_until(core, [&] {
    const auto found = find(core.pool(), final_path);
    return !found || !found->is_closed;
  }, "'" + path + "'");
}

void ByteOutput::finish_all(Core& core) {
  const auto is_done = [&] {
    for (std::uint32_t index = 0; index < pool::output_slots; ++index) {
      if (is_open(core.pool().slot(index)) && is_closed_by_all(core.pool(), index)) return false;
    }
    return true;
  };
  wait_until(core, is_done, "what all ranks have closed");
}

ByteOutput::ByteOutput(std::shared_ptr<Core> core, pool::OutputKey key, std::string path, std::string working_path, bool is_in_place)
    : core_(std::move(core)), key_(key), slot_(core_->pool().slot(key.slot)), path_(std::move(path)),
      working_path_(std::move(working_path)), is_in_place_(is_in_place), full_(core_->settings().for_output(path_).full) {}

ByteOutput::~ByteOutput() {
  if (!closed_ && core_->has_pool()) leave(pool::rank_closed | pool::rank_abandoned);
}

void ByteOutput::write(const mesh::Pattern& place, base::Bytes first, const CopyOut& copy_out) {
  // What the journal has of it: offset and block, then count and stride of each level, in this order.
  box_.start.assign({place.offset, place.block_bytes});
  for (const auto& level : place.levels) box_.start.insert(box_.start.end(), {level.count, level.stride});
  const auto middle = box_.start.begin() + static_cast<std::ptrdiff_t>(box_.start.size() / 2);
  box_.count.assign(middle, box_.start.end());
  box_.start.erase(middle, box_.start.end());
  const base::Bytes bytes = place.bytes();
  if (bytes == 0) return;
  begin_change();
  const auto wait_for_turn = [this](std::uint64_t number) {
    want_written(number);
    wait_until(*core_, [&] { return failure() || slot_.writes_written.load(std::memory_order_acquire) >= number; },
               "'" + path_ + "' as far as this write");
  };
  const pool::CopyOut copy = [&](base::Bytes begin, base::Bytes count, std::byte* target) { copy_out(first + begin, {target, count}); };
  try {
    core_->ladder().write({key_, full_, &place, &box_, wait_for_turn}, copy);
  } catch (const base::Error& error) {
    // Those after it would wait for it for ever.
    core_->recorder().give_number_up();
    pool::fail(slot_, static_cast<std::uint32_t>(error.code()), fmt::format("rank {}: {}", core_->rank(), error.what()), error.hint());
    core_->recorder().ring_the_drain();
    throw;
  }
  raise_to(slot_.size, place.end());
  core_->figures().captured_bytes += bytes;
  ++core_->figures().puts;
  unannounced_bytes_ += bytes;
  if (unannounced_bytes_ < core_->pool().header().request_bytes) return;
  unannounced_bytes_ = 0;
  core_->keep_draining();
  core_->recorder().ring_the_drain();
}

void ByteOutput::throw_failure() const {
  if (const auto failed = failure()) throw base::Error(*failed);
}

// By whoever drains, before it would do so by itself.
void ByteOutput::want_written(std::uint64_t writes, Then then) {
  if (then == Then::read) raise_to(slot_.read_up_to, writes);
  raise_to(slot_.write_up_to, writes);
  core_->recorder().ring_the_drain();
}

bool ByteOutput::flush(Then then) {
  const std::uint64_t all = slot_.writes_begun.load();
  const bool waits = slot_.writes_written.load(std::memory_order_acquire) < all;
  if (waits) {
    want_written(all, then);
    wait_until(*core_, [&] { return failure() || slot_.writes_written.load(std::memory_order_acquire) >= all; }, "'" + path_ + "'");
  }
  throw_failure();
  return waits;
}

void ByteOutput::synchronize() {
  flush();
  const int descriptor = ::open(working_path_.c_str(), O_WRONLY | O_CLOEXEC);
  const int error = descriptor < 0 || fsync(descriptor) != 0 ? errno : 0;
  if (descriptor >= 0) ::close(descriptor);
  if (error != 0) throw base::system_error(error, "cannot synchronize '" + path_ + "'");
}

base::Bytes ByteOutput::size() const { return slot_.size.load(std::memory_order_acquire); }

void ByteOutput::begin_change() {
  if (is_in_place_ && !std::exchange(changed_, true)) forget_checksums(working_path_);
}

void ByteOutput::resize(base::Bytes size) {
  begin_change();
  const int result = truncate(working_path_.c_str(), static_cast<off_t>(size));
  if (result != 0) throw base::system_error(errno, "cannot set the size of '" + path_ + "'");
  slot_.size.store(size, std::memory_order_release);
}

pool::Atomic<std::uint64_t>& ByteOutput::shared_word() const { return slot_.shared_position; }

std::optional<base::Error> ByteOutput::failure() const {
  const std::uint32_t error = slot_.error.load(std::memory_order_acquire);
  if (error == 0 || slot_.generation.load(std::memory_order_acquire) != key_.generation) return std::nullopt;
  return base::Error(static_cast<base::Errc>(error - 1), "'" + path_ + "' cannot be completed: " + slot_.message.data(), slot_.hint.data());
}

void ByteOutput::close() { leave(pool::rank_closed); }

void ByteOutput::leave(std::uint32_t flags) {
  if (std::exchange(closed_, true)) return;
  core_->ladder().leave(key_);
  core_->pool().rank_progress(key_.slot, core_->nodes().rank()).store(1 | flags, std::memory_order_release);
  core_->keep_draining();
  core_->recorder().ring_the_drain();
}

}  // namespace glean::session
