// SPDX-License-Identifier: BSD-3-Clause
#include "pool/pool.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/error.hpp"
#include "pool/futex.hpp"
#include "pool/huge_pages.hpp"
#include "pool/message_log.hpp"
#include "pool/name_log.hpp"
#include "pool/spill.hpp"

namespace glean::pool {
namespace {

constexpr Bytes page = 4096;
// More than any node runs, or any setting allows.
constexpr std::uint32_t ranks_max = 1 << 22, drain_threads_max = 1024, drain_depth_max = 1024;
constexpr Bytes request_bytes_max = base::GiB;
constexpr Bytes received_share = 8;   // that part of the chunks is for what other nodes send

int checked(int descriptor, const char* action, const std::string& name) {
  if (descriptor < 0) throw base::system_error(errno, std::string("cannot ") + action + " the pool '" + name + "'");
  return descriptor;
}

// What lies in a pool says which files are written, so that of another user must not be followed.
int open_own(const std::string& name, int access = O_RDWR) {
  const int descriptor = checked(shm_open(name.c_str(), access, 0), "open", name);
  struct stat status {};
  if (fstat(descriptor, &status) == 0 && status.st_uid == geteuid()) return descriptor;
  close(descriptor);
  throw base::Error(base::Errc::permission, "the pool '" + name + "' belongs to another user", "they can recover it");
}

// To open and close it would end what this process has claimed.
bool is_mapped_here(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.ends_with(" /dev/shm" + name)) return true;
  }
  return false;
}

// Makes the pages exist.
void allocate(int descriptor, Bytes begin, Bytes end, const std::string& name) {
  int error = 0;
  do {
    error = posix_fallocate(descriptor, static_cast<off_t>(begin), static_cast<off_t>(end - begin));
  } while (error == EINTR);
  if (error == 0) return;
  const base::Error failure = base::system_error(error, "shared memory cannot hold the pool '" + name + "'");
  throw base::Error(failure.code(), failure.what(), "lower pool.budget, or enlarge /dev/shm");
}

void copy_text(char* target, std::size_t size, const std::string& text) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(target, text.data(), length);
  target[length] = '\0';
}

// Where everything lies.
struct Places {
  Bytes progress, journals, chunk_states, chunks;
  std::uint32_t chunk_count;
};

Places places(Bytes pool_bytes, Bytes ranks, Bytes journals, Bytes chunk_bytes, Bytes journal_bytes) {
  Places at{};
  at.progress = base::align_up(sizeof(PoolHeader), 64) + output_slots * sizeof(OutputSlot);
  at.journals = base::align_up(at.progress + 2 * output_slots * ranks * sizeof(RankProgress), page);
  at.chunk_states = at.journals + journals * journal_bytes;
  const Bytes rest = pool_bytes > at.chunk_states ? pool_bytes - at.chunk_states : 0;
  Bytes chunks = rest / (chunk_bytes + sizeof(ChunkState));
  at.chunks = base::align_up(at.chunk_states + chunks * sizeof(ChunkState), page);
  while (chunks > 0 && at.chunks + chunks * chunk_bytes > pool_bytes) --chunks;
  at.chunk_count = static_cast<std::uint32_t>(chunks);
  return at;
}

// Nothing in a pool is trusted that could lead out of it.
bool header_is_sound(const PoolHeader& header, Bytes bytes) {
  constexpr Bytes most = Bytes{1} << 48;
  if (header.pool_bytes != bytes || bytes > most || header.journals == 0 || header.ranks > ranks_max ||
      header.chunk_bytes < page || header.chunk_bytes % page != 0 || header.chunk_bytes > bytes ||
      header.journal_bytes <= sizeof(Journal) + record_alignment || header.journals < header.ranks ||
      header.journals - header.ranks > 1 || header.journal_bytes > bytes / header.journals ||
      header.journal_bytes % alignof(Journal) != 0 || header.drain_core_count > header.drain_cores.size() ||
      header.drain_threads == 0 || header.drain_threads > drain_threads_max || header.drain_depth == 0 ||
      header.drain_depth > drain_depth_max || header.request_bytes < page || header.request_bytes % page != 0 ||
      header.request_bytes > request_bytes_max) {
    return false;
  }
  const Places at = places(bytes, header.ranks, header.journals, header.chunk_bytes, header.journal_bytes);
  const bool shares = header.nodes != 0 && header.node < header.nodes && header.stagers < header.nodes &&
                      (header.nodes > 1) == (header.journals > header.ranks) && header.reserved_chunks <= header.chunk_count;
  return shares && at.chunk_count != 0 && header.chunk_count == at.chunk_count && header.progress_offset == at.progress &&
         header.journals_offset == at.journals && header.chunk_states_offset == at.chunk_states &&
         header.chunks_offset == at.chunks && at.chunks + at.chunk_count * header.chunk_bytes <= bytes;
}

}  // namespace

Pool::Pool(std::string name, int descriptor, Bytes bytes) : name_(std::move(name)), descriptor_(descriptor), bytes_(bytes) {}

void Pool::map(Access access) {
  base_ = map_for_huge_pages(descriptor_, bytes_, access == Access::look ? PROT_READ : PROT_READ | PROT_WRITE);
  if (base_ == nullptr) throw base::system_error(errno, "cannot map the pool '" + name_ + "'");
}

Pool Pool::create(const std::string& name, const plan::NodePlan& plan, int ranks, const NodeShare& share) {
  Pool pool(name, checked(shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600), "make", name), plan.pool_bytes);
  try {
    static_cast<void>(pool.claim_rank(0));   // no process may take it for the remains of a job
    if (ftruncate(pool.descriptor_, static_cast<off_t>(plan.pool_bytes)) != 0) {
      throw base::system_error(errno, "cannot size the pool '" + name + "'");
    }
    // What is touched must exist before: a full /dev/shm is an error, not a signal.
    allocate(pool.descriptor_, 0, std::min(base::align_up(sizeof(PoolHeader), page), plan.pool_bytes), name);
    pool.map();
    pool.lay_out(plan, ranks, share);
    return pool;
  } catch (...) {
    shm_unlink(name.c_str());
    throw;
  }
}

void Pool::lay_out(const plan::NodePlan& plan, int ranks, const NodeShare& share) {
  const auto rank_count = static_cast<Bytes>(ranks);
  const Bytes journals = rank_count + (share.nodes > 1 ? 1 : 0);
  const Places at = places(plan.pool_bytes, rank_count, journals, plan.chunk_bytes, plan.journal_bytes_per_rank);
  const Bytes reserved = share.nodes > 1 ? std::max<Bytes>(2, at.chunk_count / received_share) : 0;
  // Every rank may sit on a chunk that it has half filled, and one holds descriptions.
  if (at.chunk_count <= rank_count + reserved) {
    throw base::Error(base::Errc::invalid_config, "the pool budget of " + std::to_string(plan.pool_bytes) +
                                                      " bytes leaves no room for data of " + std::to_string(ranks) +
                                                      " ranks", "raise pool.budget");
  }
  PoolHeader& header = this->header();
  header.version = pool_version;
  header.ranks = static_cast<std::uint32_t>(ranks);
  header.journals = static_cast<std::uint32_t>(journals);
  copy_text(header.session.data(), header.session.size(), share.session);
  header.nodes = static_cast<std::uint32_t>(share.nodes);
  header.node = static_cast<std::uint32_t>(share.node);
  header.stagers = static_cast<std::uint32_t>(share.stagers);
  header.reserved_chunks = static_cast<std::uint32_t>(reserved);
  header.pool_bytes = plan.pool_bytes;
  header.chunk_bytes = plan.chunk_bytes;
  header.chunk_count = at.chunk_count;
  header.journal_bytes = plan.journal_bytes_per_rank;
  header.progress_offset = at.progress;
  header.journals_offset = at.journals;
  header.chunk_states_offset = at.chunk_states;
  header.chunks_offset = at.chunks;
  header.request_bytes = plan.request_bytes;
  header.drain_threads = static_cast<std::uint32_t>(plan.drain_threads);
  header.drain_depth = static_cast<std::uint32_t>(plan.depth);
  header.drain_core_count = static_cast<std::uint32_t>(std::min(plan.drain_cores.size(), header.drain_cores.size()));
  std::copy_n(plan.drain_cores.begin(), header.drain_core_count, header.drain_cores.begin());
  header.created_realtime_ns = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count());

  // Everything up to the data is small.
  allocate(descriptor_, 0, header.chunks_offset, name_);

  for (std::uint32_t index = 0; index < header.journals; ++index) journal(static_cast<int>(index)).job_rank = index;

  // Low chunks on top of the stack, so that a small job touches little memory.
  for (std::uint32_t chunk = 0; chunk < header.chunk_count; ++chunk) {
    chunk_state(chunk).next_free.store(chunk + 1 < header.chunk_count ? chunk + 2 : 0, std::memory_order_relaxed);
  }
  header.free_chunks.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  header.magic = pool_magic;   // last: a process that sees it sees the rest
}

Pool Pool::attach(const std::string& name, Access access) {
  const int descriptor = open_own(name, access == Access::look ? O_RDONLY : O_RDWR);
  struct stat status {};
  const bool known = fstat(descriptor, &status) == 0;
  Pool pool(name, descriptor, known ? static_cast<Bytes>(status.st_size) : 0);
  if (pool.bytes_ < sizeof(PoolHeader)) throw base::Error(base::Errc::io, "'" + name + "' is too small to be a pool");
  pool.map(access);
  if (access == Access::look) close(std::exchange(pool.descriptor_, -1));
  const PoolHeader& header = pool.header();
  if (header.magic != pool_magic || header.version != pool_version) {
    throw base::Error(base::Errc::io, "'" + name + "' is not a pool of version " + std::to_string(pool_version));
  }
  if (!header_is_sound(header, pool.bytes_)) throw base::Error(base::Errc::io, "the header of '" + name + "' is damaged");
  return pool;
}

Pool::Pool(Pool&& other) noexcept
    : name_(std::move(other.name_)), descriptor_(std::exchange(other.descriptor_, -1)), is_drainer_(other.is_drainer_),
      own_rank_(other.own_rank_),
      base_(std::exchange(other.base_, nullptr)), bytes_(other.bytes_) {}

Pool::~Pool() {
  if (base_ != nullptr) munmap(base_, bytes_);
  if (descriptor_ >= 0) close(descriptor_);
}

void Pool::fault_in(int part, int parts) {
  const Bytes blocks = bytes_ / huge_page;
  const Bytes begin = blocks * static_cast<Bytes>(part) / static_cast<Bytes>(parts) * huge_page;
  const Bytes end = part + 1 == parts ? bytes_ : blocks * static_cast<Bytes>(part + 1) / static_cast<Bytes>(parts) * huge_page;
  if (end == begin) return;
  make_huge_pages(descriptor_, base_ + begin, begin, end);
  allocate(descriptor_, begin, end, name_);
  madvise(base_ + begin, end - begin, MADV_POPULATE_WRITE);   // an old kernel populates on first use instead
}

void Pool::map_all() { madvise(base_, bytes_, MADV_POPULATE_WRITE); }

void Pool::remove() noexcept {
  if (base_ != nullptr) remove_spill_files(*this);
  shm_unlink(name_.c_str());
  NameLog::remove(name_);
  remove_messages(name_);
}

int Pool::process_using(const std::string& name) {
  if (is_mapped_here(name)) return getpid();
  const Pool pool(name, open_own(name), 0);
  return pool.claimed_by(0, 0);
}

bool Pool::is_removed() const {
  struct stat status {};
  return fstat(descriptor_, &status) == 0 && status.st_nlink == 0;
}

plan::NodePlan Pool::plan() const {
  const PoolHeader& header = this->header();
  plan::NodePlan plan;
  plan.pool_bytes = header.pool_bytes;
  plan.chunk_bytes = header.chunk_bytes;
  plan.journal_bytes_per_rank = header.journal_bytes;
  plan.drain_threads = static_cast<int>(header.drain_threads);
  plan.drain_cores.assign(header.drain_cores.begin(), header.drain_cores.begin() + header.drain_core_count);
  plan.request_bytes = header.request_bytes;
  plan.depth = static_cast<int>(header.drain_depth);
  return plan;
}

namespace {

// Its life. Message and hint count only with an error.
void clear(OutputSlot& slot) {
  slot.is_bytes = slot.is_made_by_stagers = slot.error = slot.error_claimed = slot.discarded = slot.name_lock = 0;
  slot.description = slot.path_mark = slot.directory_mark = slot.publishing_inode = 0;
  slot.working_inode = slot.working_device = slot.working_descriptor = 0;
  slot.told = slot.is_renamed = slot.other_handles = 0;
  slot.synchronized_writes = 0;
  for (auto& generation : slot.follows) generation = 0;
}

void clear(SlotSteps& steps) {
  steps.staged = steps.written = steps.synchronized = steps.synchronize_up_to = steps.range_errors = 0;
  steps.records = steps.highest_end = steps.takeover_log = steps.takeover_log_before = steps.dropped = 0;
  steps.records_given_up = 0;
  for (auto& decision : steps.decisions) decision = 0;
}

void clear(SlotWrites& writes) {
  writes.begun = writes.size = writes.written = writes.written_before = writes.write_up_to = writes.read_up_to = 0;
  writes.raised_at_write = writes.written_tick = writes.wanted_tick = writes.job_written_tick = 0;
  writes.job_sent_tick = writes.wanted_durable_tick = writes.durable_tick = writes.job_durable_tick = 0;
  writes.shared_position = writes.meaning = 0;
  writes.waiting = writes.meanings_claimed = 0;
}

void clear(SlotNodes& nodes) {
  nodes.steps_sent = nodes.job_output = nodes.job_steps = nodes.job_steps_ended = nodes.job_steps_begun = 0;
  nodes.job_steps_synchronized = nodes.job_records = nodes.job_highest_end = 0;
  nodes.part_durable = nodes.job_closed = nodes.job_parts_durable = nodes.job_published = nodes.job_postponed = 0;
  nodes.at_stagers = AtStagers::no;
  nodes.is_opened_anew = 0;
  nodes.kept_from_step = 0;
  nodes.job_last_rank = nodes.job_open_rank = ~std::uint32_t{0};
}

}  // namespace

std::optional<OutputKey> Pool::open_slot(std::uint32_t index) {
  const auto key = claim_slot(index);
  if (key) slot(index).state.store(OutputState::open, std::memory_order_release);
  return key;
}

std::optional<OutputKey> Pool::claim_slot(std::uint32_t index) {
  OutputSlot& slot = this->slot(index);
  OutputState expected = OutputState::free;
  if (!slot.state.compare_exchange_strong(expected, OutputState::opening)) return std::nullopt;
  // Ranks that still look at the output before this one go by the generation.
  slot.generation.fetch_add(1, std::memory_order_release);
  clear(slot);
  clear(slot.steps);
  clear(slot.writes);
  clear(slot.nodes);
  for (int rank = 0; rank < static_cast<int>(header().ranks); ++rank) {
    rank_progress(index, rank) = rank_begun(index, rank) = collective_count(index, rank) = 0;
  }
  header().outputs_opened.fetch_add(1, std::memory_order_relaxed);
  return OutputKey{index, slot.generation};
}

OutputSlot& Pool::slot(std::uint32_t index) const {
  return reinterpret_cast<OutputSlot*>(base_ + base::align_up(sizeof(PoolHeader), 64))[index];
}

RankProgress& Pool::rank_progress(std::uint32_t slot, int rank) const {
  auto* counts = reinterpret_cast<RankProgress*>(base_ + header().progress_offset);
  return counts[slot * header().ranks + static_cast<std::uint32_t>(rank)];
}

RankProgress& Pool::rank_begun(std::uint32_t slot, int rank) const { return rank_progress(output_slots + slot, rank); }

Atomic<std::uint32_t>& Pool::collective_count(std::uint32_t slot, int rank) const { return journal(rank).collective_counts[slot]; }

Journal& Pool::journal(int rank) const {
  return *reinterpret_cast<Journal*>(base_ + header().journals_offset +
                                     static_cast<Bytes>(rank) * header().journal_bytes);
}

Bytes Pool::ring_bytes() const { return base::align_down(header().journal_bytes - sizeof(Journal), record_alignment); }

std::byte* Pool::ring(int rank) const { return reinterpret_cast<std::byte*>(&journal(rank) + 1); }

ChunkState& Pool::chunk_state(std::uint32_t chunk) const {
  return reinterpret_cast<ChunkState*>(base_ + header().chunk_states_offset)[chunk];
}

bool Pool::is_payload(Bytes offset, Bytes bytes) const {
  const PoolHeader& header = this->header();
  const Bytes chunks_bytes = header.chunk_count * header.chunk_bytes;
  if (offset < header.chunks_offset || offset - header.chunks_offset >= chunks_bytes) return false;
  return bytes <= header.chunk_bytes - (offset - header.chunks_offset) % header.chunk_bytes;
}

std::optional<std::uint32_t> Pool::take_chunk(For purpose) {
  PoolHeader& header = this->header();
  const std::uint32_t most = header.chunk_count - (purpose == For::capture ? header.reserved_chunks : 0);
  // Counted before it is taken: two that look at the same time must not both take the last.
  const std::uint32_t used = header.used_chunks.fetch_add(1, std::memory_order_relaxed) + 1;
  if (used > most) {
    header.used_chunks.fetch_sub(1, std::memory_order_relaxed);
    return std::nullopt;
  }
  std::uint64_t top = header.free_chunks.load(std::memory_order_acquire);
  for (;;) {
    const auto entry = static_cast<std::uint32_t>(top);
    if (entry == 0) {
      header.used_chunks.fetch_sub(1, std::memory_order_relaxed);
      return std::nullopt;
    }
    const std::uint32_t next = chunk_state(entry - 1).next_free.load(std::memory_order_relaxed);
    // The change count in the upper half keeps a chunk that went and came back from being mistaken.
    const std::uint64_t changed = ((top >> 32) + 1) << 32 | next;
    if (header.free_chunks.compare_exchange_weak(top, changed, std::memory_order_acq_rel)) {
      // After all that was done with it, whichever process has freed it.
      chunk_state(entry - 1).references.exchange(1, std::memory_order_acq_rel);
      std::uint32_t high = header.high_water_chunks.load(std::memory_order_relaxed);
      while (used > high && !header.high_water_chunks.compare_exchange_weak(high, used, std::memory_order_relaxed)) {}
      return entry - 1;
    }
  }
}

void Pool::add_reference(std::uint32_t chunk) {
  chunk_state(chunk).references.fetch_add(1, std::memory_order_relaxed);
}

void Pool::drop_reference(std::uint32_t chunk) {
  ChunkState& state = chunk_state(chunk);
  if (state.references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  PoolHeader& header = this->header();
  header.used_chunks.fetch_sub(1, std::memory_order_relaxed);
  std::uint64_t top = header.free_chunks.load(std::memory_order_relaxed);
  std::uint64_t changed = 0;
  do {
    state.next_free.store(static_cast<std::uint32_t>(top), std::memory_order_relaxed);
    changed = ((top >> 32) + 1) << 32 | (chunk + 1);
  } while (!header.free_chunks.compare_exchange_weak(top, changed, std::memory_order_acq_rel));
}

void Pool::count_chunks_anew(const std::vector<std::uint32_t>& references) {
  PoolHeader& header = this->header();
  std::uint32_t used = 0, newest = 0;
  for (std::uint32_t chunk = header.chunk_count; chunk-- > 0;) {
    ChunkState& state = chunk_state(chunk);
    state.references.store(references[chunk], std::memory_order_relaxed);
    if (references[chunk] != 0) {
      ++used;
    } else {
      state.next_free.store(newest, std::memory_order_relaxed);
      newest = chunk + 1;
    }
  }
  header.used_chunks.store(used, std::memory_order_relaxed);
  header.free_chunks.store(((header.free_chunks.load() >> 32) + 1) << 32 | newest, std::memory_order_release);
}

bool Pool::is_of_this_node(int job_rank) const {
  for (int rank = 0; rank < static_cast<int>(header().ranks); ++rank) {
    if (this->job_rank(rank) == job_rank) return true;
  }
  return false;
}

void Pool::announce_space() {
  PoolHeader& header = this->header();
  header.space.fetch_add(1, std::memory_order_seq_cst);
  if (header.waiting_for_space.load(std::memory_order_seq_cst) != 0) futex_signal(header.space);
}

Bytes Pool::used_bytes() const { return header().used_chunks.load(std::memory_order_relaxed) * header().chunk_bytes; }

Bytes Pool::high_water_bytes() const {
  return header().chunks_offset + header().high_water_chunks.load(std::memory_order_relaxed) * header().chunk_bytes;
}

std::string message_of(const OutputSlot& slot) { return {slot.message.data(), strnlen(slot.message.data(), slot.message.size())}; }

void fail(OutputSlot& slot, std::uint32_t errc, const std::string& message, const std::string& hint) {
  std::uint32_t unclaimed = 0;
  if (!slot.error_claimed.compare_exchange_strong(unclaimed, 1, std::memory_order_acq_rel)) return;
  copy_text(slot.message.data(), slot.message.size(), message);
  copy_text(slot.hint.data(), slot.hint.size(), hint);
  slot.error.store(errc + 1, std::memory_order_release);
}

}  // namespace glean::pool
