// SPDX-License-Identifier: BSD-3-Clause
//
// How one rank puts, or writes bytes: into the pool, and when that is full as the output wants it.
#pragma once

#include <functional>
#include <optional>

#include "base/settings.hpp"
#include "capture/spill_writer.hpp"
#include "capture/write_through.hpp"
#include "mesh/run_list.hpp"
#include "pool/journal.hpp"

namespace glean::capture {

using base::Bytes;

class FullPoolPolicy {
 public:
  // What puts did that found the pool full, the bytes of it in the types of the program; and what they waited for.
  struct Figures {
    pool::Recorder::Waited waited;
    std::uint64_t spilled_pieces = 0, spilled_bytes = 0;
    std::uint64_t synchronous_puts = 0, synchronous_bytes = 0;
  };

  // All must live as long. Not thread-safe.
  FullPoolPolicy(pool::Pool& pool, pool::Recorder& recorder, int rank, store::SystemCalls& calls)
      : pool_(pool), recorder_(recorder), spill_(pool, rank, calls), write_through_(pool, rank, calls) {}

  struct Put {
    pool::OutputKey output;
    base::WhenFull full = base::WhenFull::block;
    std::uint64_t step = 0;
    std::uint32_t variable = 0;
    mesh::Type memory = mesh::Type::float64;
    const mesh::Box* box = nullptr;   // not empty
    std::optional<Bytes> file_offset{};   // of the first element, modulo a page, if the elements go into the file as they are
  };
  // Takes the elements of the box: when it returns the application may change them. One copy and nothing else while there
  // is room. Throws what Recorder::reserve and WriteThrough::write throw.
  void put(const Put& put, const Source& source);

  // A write of a raw output.
  struct Write {
    pool::OutputKey output;
    base::WhenFull full = base::WhenFull::block;   // `drop`: as `block`, there are no steps
    std::uint32_t collective_count = 0;            // pool/collective_count.hpp
    const mesh::Pattern* place = nullptr;          // not empty
    const mesh::Box* words = nullptr;              // the same, as it stands in the journal
    // Blocks until all writes before that one are in the file, or the output has failed.
    std::function<void(const pool::WriteStamp& stamp)> wait_until_written;
    std::uint32_t variable = 0;   // store::Meaning::Name; 0: not known
  };
  // Takes the bytes of the pattern's stream, as put() does. Each piece of it takes the next number as soon as there is room for it: no rank
  // holds a number that others wait for while it waits for room itself.
  void write(const Write& write, const CopyOut& copy_out);
  // Takes the bytes of a list of runs, in one write that waits until there is room, whatever the policy. The words of `write` are the
  // list's, its place does not count.
  void write_list(const Write& write, const mesh::RunListBuilder& list, const CopyOut& copy_out);
  // This rank puts no more into that output.
  void leave(const pool::OutputKey& output) { write_through_.leave(output); }
  [[nodiscard]] Figures figures() const;

 private:
  template <class Kind> void take(pool::Recorder::Put put, base::WhenFull full, std::size_t element_bytes, Kind kind);

  pool::Pool& pool_;
  pool::Recorder& recorder_;
  SpillWriter spill_;
  WriteThrough write_through_;
  Figures figures_;
};

}  // namespace glean::capture
