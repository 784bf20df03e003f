// SPDX-License-Identifier: BSD-3-Clause
#include "capture/full_pool_policy.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "pool/lamport_clock.hpp"

namespace glean::capture {

using RecordedPut = pool::Recorder::Put;

// Of what is taken at once: from here on it is worth up to a page for each piece that the drain need not copy it.
constexpr Bytes least_placed = 256 * base::KiB;

// All elements of `put`, piece by piece. A kind copies them, numbers a piece before it is recorded, and knows how much of one this
// rank may write itself, and how.
template <class Kind>
void FullPoolPolicy::take(RecordedPut put, base::WhenFull full, std::size_t element_bytes, Kind kind) {
  const Bytes chunk_bytes = pool_.header().chunk_bytes;
  const bool may_be_placed = chunk_bytes >= least_placed;
  bool has_written = false;
  for (const std::uint64_t end = put.elements; put.first_element < end; put.first_element += put.elements) {
    put.elements = end - put.first_element;
    const Bytes wanted = put.elements * element_bytes;
    // The rest of a chunk is not worth a piece of its own when it is small.
    const Bytes minimum = std::min(wanted, kind.smallest_rest(chunk_bytes));
    const std::optional<Bytes> file_offset = may_be_placed ? kind.file_offset(put) : std::nullopt;
    auto room = recorder_.try_reserve(wanted, minimum, file_offset);
    if (!room && full == base::WhenFull::synchronous) {
      // What another node writes waits, and so does what is not worth a record between that.
      const std::uint64_t own = kind.own_elements(put);
      if (own * element_bytes >= minimum) {
        put.elements = own;
        kind.write(put);
        if (!std::exchange(has_written, true)) ++figures_.synchronous_puts;
        figures_.synchronous_bytes += own * element_bytes;
        continue;
      }
    }
    if (!room && full == base::WhenFull::spill) {
      put.elements = std::min(put.elements, chunk_bytes / element_bytes);
      const Bytes bytes = put.elements * element_bytes;
      if (spill_.reserve(bytes)) {
        kind.number(put);   // the block has it
        if (const auto offset = spill_.write(put, bytes, kind.copy_out())) {
          recorder_.commit_elsewhere(pool::PayloadPlace::spill, *offset, bytes, put);
          ++figures_.spilled_pieces;
          figures_.spilled_bytes += bytes;
          continue;
        }
        kind.give_number_up(put);
        put.elements = end - put.first_element;
      }
    }
    if (!room) room = recorder_.reserve(wanted, minimum, file_offset);
    put.elements = room->bytes / element_bytes;
    kind.copy(put, room->data);
    kind.number(put);
    recorder_.commit_put(*room, put.elements * element_bytes, put);
  }
}

FullPoolPolicy::Figures FullPoolPolicy::figures() const {
  Figures figures = figures_;
  figures.waited = recorder_.waited();
  return figures;
}

void FullPoolPolicy::put(const Put& put, const Source& source) {
  struct Elements {
    FullPoolPolicy& policy;
    const Source& source;
    [[nodiscard]] static Bytes smallest_rest(Bytes chunk_bytes) { return chunk_bytes / 32; }
    const std::optional<Bytes> begin;
    [[nodiscard]] std::optional<Bytes> file_offset(const RecordedPut& rest) const {
      if (!begin || rest.elements * source.element_bytes < least_placed) return std::nullopt;
      return *begin + rest.first_element * source.element_bytes;
    }
    void copy(const RecordedPut& piece, std::byte* target) const {
      copy_elements(source, piece.first_element, piece.elements, target);
    }
    [[nodiscard]] CopyOut copy_out() const {
      return [this](std::uint64_t first, std::uint64_t elements, std::byte* target) {
        copy_elements(source, first, elements, target);
      };
    }
    void number(RecordedPut&) const {}
    void give_number_up(const RecordedPut&) const {}
    [[nodiscard]] std::uint64_t own_elements(const RecordedPut& rest) const { return policy.write_through_.own_elements(rest); }
    void write(const RecordedPut& piece) const {
      // The record first: a drain that finishes the work of killed processes must know what may be in the file.
      policy.write_through_.write(policy.recorder_.commit_elsewhere(pool::PayloadPlace::file, 0, 0, piece), source);
    }
  };
  take({put.output, put.step, put.variable, put.memory, put.box, 0, put.box->elements()}, put.full, source.element_bytes,
       Elements{*this, source, put.file_offset});
}

void FullPoolPolicy::write(const Write& write, const CopyOut& copy_out) {
  struct Stream {
    FullPoolPolicy& policy;
    const Write& of;
    const CopyOut& source;
    // Small writes stay whole, of large ones others may come between the pieces.
    [[nodiscard]] static Bytes smallest_rest(Bytes chunk_bytes) { return std::min(chunk_bytes, 64 * base::KiB); }
    // Numbers stay aligned.
    [[nodiscard]] std::optional<Bytes> file_offset(const RecordedPut& rest) const {
      const Bytes offset = of.place->file_offset(rest.first_element);
      const bool is_long = std::min<Bytes>(of.place->block_bytes, rest.elements) >= least_placed;
      return is_long && offset % sizeof(double) == 0 ? std::optional(offset) : std::nullopt;
    }
    void copy(const RecordedPut& piece, std::byte* target) const { source(piece.first_element, piece.elements, target); }
    [[nodiscard]] const CopyOut& copy_out() const { return source; }
    void take_number(RecordedPut& piece) const {
      piece.step = policy.recorder_.take_number(piece.output, piece.box->count.size(), of.collective_count).word();
    }
    void raise_size(const RecordedPut& piece) const {
      const Bytes end = of.place->file_offset(piece.first_element + piece.elements - 1) + 1;
      pool::raise(policy.pool_.slot(piece.output.slot).writes.size, end);
    }
    // Both at once: all ranks change them.
    void number(RecordedPut& piece) const {
      take_number(piece);
      raise_size(piece);
    }
    // Others wait for a record with it: one of no bytes.
    void give_number_up(RecordedPut piece) const {
      piece.elements = 0;
      policy.recorder_.commit_elsewhere(pool::PayloadPlace::file, 0, 0, piece);
    }
    // On several nodes a rank that waits for its turn would keep all of them waiting.
    [[nodiscard]] std::uint64_t own_elements(const RecordedPut& rest) const { return policy.pool_.is_shared() ? 0 : rest.elements; }
    void write(RecordedPut& piece) const {
      of.wait_until_written({of.collective_count, 0});   // first: the drain would wait for a number to open the count
      take_number(piece);
      try {
        of.wait_until_written(pool::WriteStamp::of(piece.step));
        policy.write_through_.write(piece.output, mesh::PatternPart(*of.place, piece.first_element, piece.elements), copy_out());
      } catch (...) {
        give_number_up(piece);
        throw;
      }
      raise_size(piece);
      // The record last: those that come later may go on when it is there.
      policy.recorder_.commit_elsewhere(pool::PayloadPlace::file, 0, 0, piece);
      policy.recorder_.ring_the_drain();
    }
  };
  take({write.output, 0, write.variable, mesh::Type::uint8, write.words, 0, write.place->bytes()}, write.full, 1,
       Stream{*this, write, copy_out});
}

void FullPoolPolicy::write_list(const Write& write, const mesh::RunListBuilder& list, const CopyOut& copy_out) {
  const Bytes table = mesh::RecordedRunList::table_offset(list.bytes()), bytes = table + list.runs().size_bytes();
  const auto room = recorder_.reserve(bytes, bytes);
  copy_out(0, list.bytes(), room.data);
  std::memcpy(room.data + table, list.runs().data(), list.runs().size_bytes());
  RecordedPut put{write.output, 0, write.variable, mesh::Type::uint8, write.words, 0, list.bytes()};
  put.step = recorder_.take_number(write.output, write.words->count.size(), write.collective_count).word();
  pool::raise(pool_.slot(write.output.slot).writes.size, list.end());
  recorder_.commit_put(room, bytes, put);
}

}  // namespace glean::capture
