// SPDX-License-Identifier: BSD-3-Clause
#include "pool/journal.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "pool/futex.hpp"
#include "pool/lamport_clock.hpp"
#include "pool/wait.hpp"

namespace glean::pool {
namespace {

constexpr Bytes payload_alignment = 64, page_bytes = 4096;
constexpr std::uint64_t space_nap_ns = 50'000'000;
constexpr std::uint64_t nap_between_messages_ns = 200'000;

Bytes record_bytes(const Record& record) {
  return base::align_up(sizeof(Record) + sizeof(std::uint64_t) * record.words(), record_alignment);
}

Bytes bytes_to_skip(std::uint64_t head, Bytes ring_bytes, const Record& record) {
  const Bytes to_end = ring_bytes - head % ring_bytes;
  return to_end < record.size_bytes ? to_end : 0;
}

// With what may have to be skipped at the end of the ring: less might never be enough.
Bytes most_in_ring(const Record& record) { return 2 * Bytes{record.size_bytes}; }

// Nothing but that.
Record record_of_size(std::size_t dimensions, Origin origin) {
  Record record{};
  record.dimensions = static_cast<std::uint16_t>(dimensions);
  record.origin = origin;
  record.size_bytes = static_cast<std::uint32_t>(record_bytes(record));
  return record;
}

bool is_state(RecordState state) {
  return state == RecordState::live || state == RecordState::written || state == RecordState::logging ||
         state == RecordState::retired;
}

}  // namespace

std::uint32_t checksum_of(const Record& record) {
  alignas(8) std::array<std::byte, sizeof(Record)> fixed;
  std::memcpy(fixed.data(), &record, sizeof(Record));
  std::memset(fixed.data() + offsetof(Record, checksum), 0, sizeof(record.checksum) + sizeof(record.state));
  const XXH64_hash_t of_fixed = XXH3_64bits(fixed.data(), fixed.size());
  return static_cast<std::uint32_t>(XXH3_64bits_withSeed(record.box(), sizeof(std::uint64_t) * record.words(), of_fixed));
}

Recorder::Recorder(Pool& pool, int node_rank, double deadline_seconds, WaitDiagnosis diagnosis,
                   std::function<void()> keep_draining)
    : pool_(pool), node_rank_(node_rank), deadline_seconds_(deadline_seconds), diagnosis_(std::move(diagnosis)),
      keep_draining_(std::move(keep_draining)) {}

Recorder::~Recorder() { leave_chunk(); }

void Recorder::leave_chunk() {
  if (has_chunk_) pool_.drop_reference(chunk_);
  has_chunk_ = false;
}

template <class Attempt>
void Recorder::wait_for_space(Attempt attempt, const char* what, Waits& waits) {
  PoolHeader& header = pool_.header();
  // What makes room may be what other nodes take, and only this rank talks to them.
  Wait wait(header.space, deadline_seconds_, pool_.is_shared() && node_rank_ == 0 ? nap_between_messages_ns : space_nap_ns);
  wait.restart_with([&] { return header.written_bytes.load() + header.job_written_bytes.load(); }).meanwhile([&] {
    if (header.lost_nodes.load() != 0) {
      throw base::Error(base::Errc::io, std::string(what) + " is full, and other nodes cannot be reached any more", lost_nodes_hint);
    }
    // On one node rank 0 would notice that the drain is gone, and go on with its work.
    const bool rank_0_would = !pool_.is_shared() && (node_rank_ == 0 || pool_.process_of_rank(0) != 0);
    if (!rank_0_would && pool_.drainer() == 0) {
      throw base::Error(base::Errc::io, std::string(what) + " is full, and the processes that drain it are gone");
    }
    keep_draining_();
    futex_signal(header.work);
  });
  header.waiting_for_space.fetch_add(1, std::memory_order_seq_cst);
  struct Leave {
    PoolHeader& header;
    Waits& waits;
    std::uint64_t begin_ns = base::now_ns();
    ~Leave() {
      header.waiting_for_space.fetch_sub(1, std::memory_order_relaxed);
      ++waits.times;
      waits.ns += base::now_ns() - begin_ns;
    }
  } leave{header, waits};
  if (wait.until(attempt)) return;
  throw base::Error(base::Errc::timeout,
                    std::string(what) + " is full (" + base::readable_bytes(pool_.used_bytes()) + " of " +
                        base::readable_bytes(header.pool_bytes) + " hold data) and nothing was written for " +
                        base::exact_seconds(deadline_seconds_) + ": " + diagnosis_(),
                    "raise pool.budget or pool.deadline, or write less often");
}

std::optional<Recorder::Room> Recorder::try_reserve(Bytes wanted, Bytes minimum, std::optional<Bytes> file_offset) {
  const Bytes chunk_bytes = pool_.header().chunk_bytes;
  // A chunk begins at a page.
  const auto begin_in_chunk = [&] {
    if (!file_offset) return chunk_used_;
    return chunk_used_ + (*file_offset + page_bytes - chunk_used_ % page_bytes) % page_bytes;
  };
  if (has_chunk_ && begin_in_chunk() + minimum > chunk_bytes) leave_chunk();
  if (!has_chunk_) {
    const bool receives = node_rank_ == static_cast<int>(pool_.header().ranks);
    const auto taken = pool_.take_chunk(receives ? Pool::For::other_nodes : Pool::For::capture);
    if (!taken) return std::nullopt;
    chunk_ = *taken;
    has_chunk_ = true;
    chunks_taken_.fetch_add(1, std::memory_order_relaxed);
    chunk_used_ = 0;
  }
  const Bytes begin = begin_in_chunk() + minimum > chunk_bytes ? 0 : begin_in_chunk();   // 0: it would not fit otherwise
  const Bytes offset = pool_.offset_of_chunk(chunk_) + begin;
  return Room{pool_.at(offset), offset, std::min(wanted, chunk_bytes - begin)};
}

Recorder::Room Recorder::reserve(Bytes wanted, Bytes minimum, std::optional<Bytes> file_offset) {
  auto room = try_reserve(wanted, minimum, file_offset);
  if (!room) wait_for_space([&] { return (room = try_reserve(wanted, minimum, file_offset)).has_value(); }, "the pool", waited_.pool);
  return *room;
}

Record Recorder::record_of(const Put& put, PayloadPlace place, Bytes offset, Bytes payload_bytes) {
  Record record{};
  record.kind = RecordKind::put;
  record.dimensions = static_cast<std::uint16_t>(put.box->count.size());
  record.state = RecordState::live;
  record.slot = put.output.slot;
  record.generation = put.output.generation;
  record.step = put.step;
  record.variable = put.variable;
  record.memory_type = static_cast<std::uint8_t>(put.memory_type);
  record.place = place;
  record.origin = put.origin;
  record.payload_offset = offset;
  record.payload_bytes = payload_bytes;
  record.first_element = put.first_element;
  record.elements = put.elements;
  record.size_bytes = static_cast<std::uint32_t>(record_bytes(record));
  return record;
}

void Recorder::commit_put(const Room& room, Bytes used_bytes, const Put& put) {
  const Record record = record_of(put, PayloadPlace::pool, room.offset, used_bytes);
  wait_for_journal(record);
  take_room(room.offset, used_bytes);
  append(record, put);
}

WriteStamp Recorder::take_number(const OutputKey& output, std::size_t dimensions, std::uint32_t collective_count) {
  wait_for_journal(record_of_size(dimensions, Origin::rank));
  Atomic<std::uint64_t>& held = pool_.journal(node_rank_).held_write;
  held.store(HeldWrite{output.slot}.word(), std::memory_order_relaxed);   // before: a process that sees later numbers sees this
  OutputSlot& slot = pool_.slot(output.slot);
  // Slots are raised one after the other; what a rank writes into several is in no earlier tick than what it has written before.
  if (pool_.is_shared()) raise_tick(slot, pool_.header().lamport_tick.load());
  auto stamp = WriteStamp::of(slot.writes.begun.fetch_add(1, std::memory_order_acq_rel));
  if (!pool_.is_shared()) stamp.order = collective_count;
  held.store(HeldWrite{output.slot, stamp.number}.word(), std::memory_order_relaxed);
  return stamp;
}

WriteStamp Recorder::number_arrival(const OutputKey& output, std::uint64_t tick) {
  Atomic<std::uint64_t>& begun = pool_.slot(output.slot).writes.begun;
  pool_.journal(node_rank_).held_write.store(HeldWrite{output.slot}.word());   // before: what sees later numbers sees this
  std::uint64_t word = begun.load();
  for (;;) {
    const WriteStamp next = WriteStamp::of(word);
    if (begun.compare_exchange_weak(word, WriteStamp{std::max(next.order, tick), next.number + 1}.word())) return {tick, next.number};
  }
}

std::optional<Recorder::Held> Recorder::try_hold(Bytes payload_bytes, std::size_t dimensions) {
  const Record record = record_of_size(dimensions, Origin::node);
  require_fits_journal(record);
  Journal& journal = pool_.journal(node_rank_);
  const Bytes used = journal.head.load(std::memory_order_relaxed) - journal.tail.load(std::memory_order_acquire);
  const Bytes promise = most_in_ring(record);
  // What is only promised will be there soon, without the drain doing anything.
  journal.is_full.store(pool_.ring_bytes() - used < promise ? 1 : 0, std::memory_order_relaxed);
  if (pool_.ring_bytes() - used < promised_bytes_ + promise) return std::nullopt;
  const auto room = try_reserve(payload_bytes, payload_bytes);
  if (!room) return std::nullopt;
  take_room(room->offset, room->bytes);
  promised_bytes_ += promise;
  return Held{*room, promise};
}

void Recorder::commit_held(const Held& held, const Put& put) {
  promised_bytes_ -= held.promised_bytes;
  append(record_of(put, PayloadPlace::pool, held.room.offset, held.room.bytes), put);
}

void Recorder::commit_spilled(const Held& held, Bytes offset, const Put& put) {
  append(record_of(put, PayloadPlace::spill, offset, held.room.bytes), put);
  drop_held(held);
  // What comes next may lie there: else what stays, such as a description, would keep one chunk after the other.
  const Bytes begin = (held.room.offset - pool_.header().chunks_offset) % pool_.header().chunk_bytes;
  const bool is_last = has_chunk_ && chunk_ == pool_.chunk_at(held.room.offset);
  if (is_last && chunk_used_ == base::align_up(begin + held.room.bytes, payload_alignment)) chunk_used_ = begin;
}

void Recorder::drop_held(const Held& held) {
  promised_bytes_ -= held.promised_bytes;
  pool_.drop_reference(pool_.chunk_at(held.room.offset));
}

const Record& Recorder::commit_elsewhere(PayloadPlace place, Bytes offset, Bytes payload_bytes, const Put& put) {
  const Record record = record_of(put, place, offset, payload_bytes);
  wait_for_journal(record);
  return append(record, put);
}

double Recorder::journal_share() const {
  const Journal& journal = pool_.journal(node_rank_);
  const Bytes used = journal.head.load(std::memory_order_relaxed) - journal.tail.load(std::memory_order_acquire);
  return static_cast<double>(used) / static_cast<double>(pool_.ring_bytes());
}

void Recorder::describe(const OutputKey& output, std::span<const std::byte> bytes, More more) {
  OutputSlot& slot = pool_.slot(output.slot);
  DescriptionPart last{};
  if (const Bytes at = slot.description; at != 0) std::memcpy(&last, pool_.at(at), sizeof last);
  const Bytes begin = last.begin + last.bytes;
  for (Bytes done = 0; done < bytes.size();) {
    const Room room = reserve(sizeof(DescriptionPart) + bytes.size() - done, sizeof(DescriptionPart) + 1);
    const DescriptionPart part{.slot = output.slot,
                               .generation = output.generation,
                               .previous_offset = slot.description.load(std::memory_order_relaxed),
                               .begin = begin + done,
                               .bytes = room.bytes - sizeof(DescriptionPart),
                               .total = more == More::follow ? 0 : begin + bytes.size()};
    std::memcpy(room.data, &part, sizeof part);
    std::memcpy(room.data + sizeof part, bytes.data() + done, part.bytes);
    take_room(room.offset, room.bytes);
    slot.description.store(room.offset, std::memory_order_release);
    done += part.bytes;
  }
}

// What lies there has a reference of its own now; what follows can be reserved.
void Recorder::take_room(Bytes offset, Bytes bytes) {
  pool_.add_reference(chunk_);
  chunk_used_ = base::align_up(offset + bytes - pool_.offset_of_chunk(chunk_), payload_alignment);
  if (chunk_used_ >= pool_.header().chunk_bytes) leave_chunk();
}

void Recorder::require_fits_journal(const Record& record) const {
  if (most_in_ring(record) <= pool_.ring_bytes()) return;
  throw base::Error(base::Errc::unsupported, "an array of " + std::to_string(record.dimensions) +
                                                 " dimensions is too much for the journal", "raise pool.budget");
}

void Recorder::wait_for_journal(const Record& record) {
  require_fits_journal(record);
  Journal& journal = pool_.journal(node_rank_);
  const Bytes ring_bytes = pool_.ring_bytes();
  const std::uint64_t head = journal.head.load(std::memory_order_relaxed);
  const Bytes needed = bytes_to_skip(head, ring_bytes, record) + record.size_bytes;
  const auto fits = [&] { return ring_bytes - (head - journal.tail.load(std::memory_order_acquire)) >= needed; };
  if (fits()) return;
  struct Full {
    explicit Full(Journal& of) : journal(of) { journal.is_full.store(1, std::memory_order_relaxed); }
    ~Full() { journal.is_full.store(0, std::memory_order_relaxed); }
    Journal& journal;
  } full(journal);
  wait_for_space(fits, "the journal of the pool", waited_.journal);
}

// There is room for it.
const Record& Recorder::append(Record record, const Put& put) {
  Journal& journal = pool_.journal(node_rank_);
  std::byte* ring = pool_.ring(node_rank_);
  const Bytes ring_bytes = pool_.ring_bytes();
  record.captured_ns = base::now_ns();
  std::uint64_t head = journal.head.load(std::memory_order_relaxed);
  if (const Bytes skipped = bytes_to_skip(head, ring_bytes, record); skipped != 0) {
    // A skip record may be shorter than Record: only the first 64 bytes are there.
    auto* skip = reinterpret_cast<Record*>(ring + head % ring_bytes);
    skip->size_bytes = static_cast<std::uint32_t>(skipped);
    skip->kind = RecordKind::skip;
    skip->state = RecordState::retired;
    head += skipped;
  }
  auto* place = reinterpret_cast<Record*>(ring + head % ring_bytes);
  std::memcpy(static_cast<void*>(place), &record, sizeof(Record));
  std::copy(put.box->start.begin(), put.box->start.end(), place->box());
  std::copy(put.box->count.begin(), put.box->count.end(), place->box() + record.dimensions);
  if (put.origin != Origin::rank) place->box()[2 * record.dimensions] = static_cast<std::uint64_t>(put.job_rank);
  place->checksum = checksum_of(*place);
  journal.head.store(head + record.size_bytes, std::memory_order_release);
  journal.held_write.store(0, std::memory_order_release);
  return *place;
}

void Recorder::ring_the_drain() {
  // Others may need what this rank keeps for its next put.
  if (pool_.header().waiting_for_space.load(std::memory_order_relaxed) != 0) leave_chunk();
  futex_signal(pool_.header().work);
}

JournalReader::JournalReader(Pool& pool, int node_rank, Purpose purpose)
    : pool_(pool), node_rank_(node_rank), journal_(pool.journal(node_rank)), ring_(pool.ring(node_rank)),
      ring_bytes_(pool.ring_bytes()), purpose_(purpose), read_(journal_.tail.load(std::memory_order_acquire)) {}

const Record* JournalReader::peek() {
  for (;;) {
    const std::uint64_t captured = journal_.head.load(std::memory_order_acquire) - read_;
    if (captured == 0) return nullptr;
    const auto* record = reinterpret_cast<const Record*>(ring_ + read_ % ring_bytes_);
    const Bytes left = std::min(captured, ring_bytes_ - read_ % ring_bytes_);
    if (captured > ring_bytes_ || read_ % record_alignment != 0 || !is_sound(*record, left)) {
      throw base::Error(base::Errc::io, "damaged journal record at byte " + std::to_string(read_));
    }
    const bool is_skip = record->kind == RecordKind::skip;
    if (!is_skip && record->state != RecordState::retired) return record;
    read_ += record->size_bytes;
    // A reader before this one has retired it, and died before it moved the tail.
    if (!is_skip && purpose_ == Purpose::drain) free_retired();
  }
}

bool JournalReader::is_sound(const Record& record, Bytes left) const {
  if (record.kind == RecordKind::skip) {
    return record.size_bytes == ring_bytes_ - read_ % ring_bytes_ && record.size_bytes <= left;
  }
  // What is not there must not be looked at.
  return left >= sizeof(Record) && record.size_bytes == record_bytes(record) && record.size_bytes <= left &&
         record.checksum == checksum_of(record) && record.slot < output_slots && record.kind == RecordKind::put &&
         is_state(record.state) && record.place <= PayloadPlace::file &&
         record.origin <= Origin::node_first &&
         (record.place != PayloadPlace::spill || node_rank_ < static_cast<int>(pool_.header().ranks) || pool_.is_stager()) &&
         (record.place != PayloadPlace::pool || pool_.is_payload(record.payload_offset, record.payload_bytes));
}

void JournalReader::advance() { read_ += reinterpret_cast<const Record*>(ring_ + read_ % ring_bytes_)->size_bytes; }

void JournalReader::give_payload_back(const Record& record) {
  if (record.state != RecordState::live) return;
  const_cast<Record&>(record).state = RecordState::written;
  // After the record: killed in between, a chunk is lost, but none is free twice.
  if (record.place == PayloadPlace::pool) pool_.drop_reference(pool_.chunk_at(record.payload_offset));
}

void JournalReader::mark(const Record& record, RecordState state) { const_cast<Record&>(record).state = state; }

void JournalReader::retire(const Record& record) {
  const bool holds_payload = record.state == RecordState::live && record.place == PayloadPlace::pool;
  const std::uint32_t chunk = holds_payload ? pool_.chunk_at(record.payload_offset) : 0;
  const_cast<Record&>(record).state = RecordState::retired;
  free_retired();
  if (holds_payload) pool_.drop_reference(chunk);
}

void JournalReader::free_retired() {
  std::uint64_t tail = journal_.tail.load(std::memory_order_relaxed);
  while (tail != read_) {
    const auto* oldest = reinterpret_cast<const Record*>(ring_ + tail % ring_bytes_);
    if (oldest->state != RecordState::retired) break;
    tail += oldest->size_bytes;
  }
  journal_.tail.store(tail, std::memory_order_release);
}

bool JournalReader::is_full() const { return journal_.is_full.load(std::memory_order_relaxed) != 0; }

}  // namespace glean::pool
