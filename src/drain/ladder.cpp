// SPDX-License-Identifier: BSD-3-Clause
#include "drain/ladder.hpp"

#include <algorithm>

namespace glean::drain {

void Ladder::put(const Put& put, const pool::Source& source) {
  const Bytes chunk_bytes = pool_.header().chunk_bytes;
  const std::uint64_t elements = put.box->elements();
  const std::size_t size = source.element_bytes;
  for (std::uint64_t done = 0; done < elements;) {
    const Bytes wanted = (elements - done) * size;
    // The rest of a chunk is not worth a piece of its own when it is small.
    const Bytes minimum = std::min(wanted, chunk_bytes / 32);
    const auto of_put = [&](std::uint64_t count) {
      return pool::Recorder::Put{put.output, put.step, put.variable, put.memory, put.box, done, count};
    };
    auto room = recorder_.try_reserve(wanted, minimum);
    if (!room && put.full == base::WhenFull::synchronous) {
      // The record first: whoever finishes the work of killed processes must know what may be in the file.
      write_through_.write(recorder_.commit_elsewhere(pool::PayloadPlace::file, 0, 0, of_put(elements - done)), source);
      ++figures_.synchronous_puts;
      figures_.synchronous_bytes += wanted;
      return;
    }
    if (!room && put.full == base::WhenFull::spill) {
      const auto piece = of_put(std::min(elements - done, chunk_bytes / size));
      if (const auto offset = spill_.write(piece, source)) {
        recorder_.commit_elsewhere(pool::PayloadPlace::spill, *offset, piece.elements * size, piece);
        ++figures_.spilled_pieces;
        figures_.spilled_bytes += piece.elements * size;
        done += piece.elements;
        continue;
      }
    }
    if (!room) {
      ++figures_.waits;
      room = recorder_.reserve(wanted, minimum);
    }
    const std::uint64_t now = room->bytes / size;
    pool::copy_elements(source, done, now, room->data);
    recorder_.commit_put(*room, now * size, of_put(now));
    done += now;
  }
}

}  // namespace glean::drain
