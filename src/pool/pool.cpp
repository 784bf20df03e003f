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
#include <utility>

#include "base/error.hpp"
#include "pool/futex.hpp"

namespace glean::pool {
namespace {

constexpr Bytes page = 4096;

// Open as long as it lives.
struct Descriptor {
  Descriptor(int opened, const char* action, const std::string& name) : number(opened) {
    if (number < 0) throw base::system_error(errno, std::string("cannot ") + action + " the pool '" + name + "'");
  }
  ~Descriptor() { close(number); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  const int number;
};

std::byte* map(int descriptor, Bytes bytes, const std::string& name) {
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (base == MAP_FAILED) throw base::system_error(errno, "cannot map the pool '" + name + "'");
  return static_cast<std::byte*>(base);
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

}  // namespace

Pool Pool::create(const std::string& name, const plan::Plan& plan, int ranks) {
  const Descriptor descriptor(shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600), "make", name);
  try {
    if (ftruncate(descriptor.number, static_cast<off_t>(plan.pool_bytes)) != 0) {
      throw base::system_error(errno, "cannot size the pool '" + name + "'");
    }
    // What is touched must exist before: a full /dev/shm is an error, not a signal.
    allocate(descriptor.number, 0, page, name);
    Pool pool(name, map(descriptor.number, plan.pool_bytes, name), plan.pool_bytes);
    pool.lay_out(descriptor.number, plan, ranks);
    return pool;
  } catch (...) {
    shm_unlink(name.c_str());
    throw;
  }
}

void Pool::lay_out(int descriptor, const plan::Plan& plan, int ranks) {
  PoolHeader& header = this->header();
  header.pool_bytes = plan.pool_bytes;
  header.ranks = static_cast<std::uint32_t>(ranks);
  header.chunk_bytes = plan.chunk_bytes;
  header.journal_bytes = plan.journal_bytes_per_rank;
  const auto rank_count = static_cast<Bytes>(ranks);
  const Bytes slots_end = base::align_up(sizeof(PoolHeader), 64) + output_slots * sizeof(OutputSlot);
  header.progress_offset = slots_end;
  header.journals_offset =
      base::align_up(slots_end + output_slots * rank_count * sizeof(RankProgress), page);
  header.chunk_states_offset = header.journals_offset + rank_count * plan.journal_bytes_per_rank;
  const Bytes rest = plan.pool_bytes > header.chunk_states_offset ? plan.pool_bytes - header.chunk_states_offset : 0;
  Bytes chunks = rest / (plan.chunk_bytes + sizeof(ChunkState));
  header.chunks_offset = base::align_up(header.chunk_states_offset + chunks * sizeof(ChunkState), page);
  while (chunks > 0 && header.chunks_offset + chunks * plan.chunk_bytes > plan.pool_bytes) --chunks;
  // Every rank may sit on a chunk that it has half filled, and one holds descriptions.
  if (chunks <= rank_count) {
    throw base::Error(base::Errc::invalid_config, "the pool budget of " + std::to_string(plan.pool_bytes) +
                                                      " bytes leaves no room for data of " + std::to_string(ranks) +
                                                      " ranks", "raise pool.budget");
  }
  header.chunk_count = static_cast<std::uint32_t>(chunks);
  header.version = pool_version;
  header.created_realtime_ns = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count());

  // Everything up to the data is small.
  allocate(descriptor, 0, header.chunks_offset, name_);

  for (int rank = 0; rank < ranks; ++rank) {
    Journal& journal = this->journal(rank);
    journal.ring_bytes = base::align_down(plan.journal_bytes_per_rank - sizeof(Journal), record_alignment);
  }
  // Low chunks on top of the stack, so that a small job touches little memory.
  for (std::uint32_t chunk = 0; chunk < header.chunk_count; ++chunk) {
    chunk_state(chunk).next_free.store(chunk + 1 < header.chunk_count ? chunk + 2 : 0, std::memory_order_relaxed);
  }
  header.free_chunks.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  header.magic = pool_magic;   // last: whoever sees it sees the rest
}

Pool Pool::attach(const std::string& name) {
  const Descriptor descriptor(shm_open(name.c_str(), O_RDWR, 0), "open", name);
  struct stat status{};
  if (fstat(descriptor.number, &status) != 0 || static_cast<Bytes>(status.st_size) < sizeof(PoolHeader)) {
    throw base::Error(base::Errc::io, "'" + name + "' is too small to be a pool");
  }
  Pool pool(name, map(descriptor.number, static_cast<Bytes>(status.st_size), name), static_cast<Bytes>(status.st_size));
  const PoolHeader& header = pool.header();
  if (header.magic != pool_magic || header.version != pool_version || header.pool_bytes != pool.bytes_) {
    throw base::Error(base::Errc::io, "'" + name + "' is not a pool of version " + std::to_string(pool_version));
  }
  return pool;
}

Pool::Pool(Pool&& other) noexcept
    : name_(std::move(other.name_)), base_(std::exchange(other.base_, nullptr)), bytes_(other.bytes_) {}

Pool::~Pool() {
  if (base_ != nullptr) munmap(base_, bytes_);
}

void Pool::fault_in(int part, int parts) {
  const Bytes pages = bytes_ / page;
  const Bytes begin = pages * static_cast<Bytes>(part) / static_cast<Bytes>(parts) * page;
  const Bytes end = part + 1 == parts ? bytes_ : pages * static_cast<Bytes>(part + 1) / static_cast<Bytes>(parts) * page;
  if (end == begin) return;
  const Descriptor descriptor(shm_open(name_.c_str(), O_RDWR, 0), "open", name_);
  allocate(descriptor.number, begin, end, name_);
  madvise(base_ + begin, end - begin, MADV_POPULATE_WRITE);   // an old kernel populates on first use instead
}

void Pool::map_all() { madvise(base_, bytes_, MADV_POPULATE_WRITE); }

void Pool::remove() noexcept { shm_unlink(name_.c_str()); }

OutputSlot& Pool::slot(std::uint32_t index) const {
  return reinterpret_cast<OutputSlot*>(base_ + base::align_up(sizeof(PoolHeader), 64))[index];
}

RankProgress& Pool::rank_progress(std::uint32_t slot, int rank) const {
  auto* counts = reinterpret_cast<RankProgress*>(base_ + header().progress_offset);
  return counts[slot * header().ranks + static_cast<std::uint32_t>(rank)];
}

Journal& Pool::journal(int rank) const {
  return *reinterpret_cast<Journal*>(base_ + header().journals_offset +
                                     static_cast<Bytes>(rank) * header().journal_bytes);
}

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

std::optional<std::uint32_t> Pool::take_chunk() {
  PoolHeader& header = this->header();
  std::uint64_t top = header.free_chunks.load(std::memory_order_acquire);
  for (;;) {
    const auto entry = static_cast<std::uint32_t>(top);
    if (entry == 0) return std::nullopt;
    const std::uint32_t next = chunk_state(entry - 1).next_free.load(std::memory_order_relaxed);
    // The change count in the upper half keeps a chunk that went and came back from being mistaken.
    const std::uint64_t changed = ((top >> 32) + 1) << 32 | next;
    if (header.free_chunks.compare_exchange_weak(top, changed, std::memory_order_acq_rel)) {
      chunk_state(entry - 1).references.store(1, std::memory_order_relaxed);
      const std::uint32_t used = header.used_chunks.fetch_add(1, std::memory_order_relaxed) + 1;
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

void Pool::announce_space() {
  PoolHeader& header = this->header();
  header.space.fetch_add(1, std::memory_order_seq_cst);
  if (header.waiting_for_space.load(std::memory_order_seq_cst) != 0) futex_signal(header.space);
}

Bytes Pool::used_bytes() const {
  return header().used_chunks.load(std::memory_order_relaxed) * header().chunk_bytes;
}

Bytes Pool::high_water_bytes() const {
  return header().chunks_offset + header().high_water_chunks.load(std::memory_order_relaxed) * header().chunk_bytes;
}

void fail(OutputSlot& slot, std::uint32_t errc, const std::string& message, const std::string& hint) {
  std::uint32_t unclaimed = 0;
  if (!slot.error_claimed.compare_exchange_strong(unclaimed, 1, std::memory_order_acq_rel)) return;
  copy_text(slot.message.data(), slot.message.size(), message);
  copy_text(slot.hint.data(), slot.hint.size(), hint);
  slot.error.store(errc + 1, std::memory_order_release);
}

}  // namespace glean::pool
