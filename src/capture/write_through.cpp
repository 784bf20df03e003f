// SPDX-License-Identifier: BSD-3-Clause
#include "capture/write_through.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "pool/description.hpp"
#include "pool/other_handles.hpp"
#include "store/convert.hpp"
#include "store/windows/range_error.hpp"
#include "store/windows/window.hpp"

namespace glean::capture {
namespace {

constexpr Bytes buffer_bytes = base::MiB;

}  // namespace

WriteThrough::Target& WriteThrough::target(const pool::OutputKey& output) {
  if (const auto known = targets_.find(output); known != targets_.end()) return known->second;
  // It is there until this rank has closed the output.
  Target target{store::OutputDescription::decode(pool::read_description(pool_, output).bytes), nullptr, std::nullopt};
  if (pool::have_others(pool_.slot(output.slot))) {   // it has its final name by now
    auto& names = target.description.names;
    if (pool::leads_to_file_of(pool_.slot(output.slot), names.final_path)) names.working_path = names.final_path;
  }
  // Through the page cache: the blocks at the edges are shared with the drain, which writes parts of blocks so, too.
  target.file = std::make_unique<store::File>(calls_, target.description.names, base::DirectIo::off);
  if (pool_.is_shared() && !target.description.is_bytes) target.writers = target.description.writers();
  return targets_.emplace(output, std::move(target)).first->second;
}

bool WriteThrough::has_failed(const pool::OutputKey& output) const {
  return pool_.slot(output.slot).error_claimed.load(std::memory_order_acquire) != 0;
}

std::uint64_t WriteThrough::own_elements(const pool::Recorder::Put& put) {
  if (!pool_.is_shared() || has_failed(put.output)) return put.elements;
  if (pool_.is_staged()) return 0;   // the files are not to be seen here
  try {
    Target& target = this->target(put.output);
    const auto& variable = target.description.layout.target(put.variable);
    const store::Piece piece(variable, variable.per_step() ? put.step : 0, *put.box, put.first_element, put.elements);
    const Bytes request_bytes = target.description.share.request_bytes;
    Bytes own = 0;
    for (std::optional<Bytes> at = piece.file_extent().begin; at && own < piece.file_bytes();) {
      const std::uint64_t request = *at / request_bytes;
      if (target.writers->node_of(request) != static_cast<std::int64_t>(pool_.header().node)) break;
      own = piece.bytes_before((request + 1) * request_bytes);
      at = piece.next_byte((request + 1) * request_bytes);
    }
    return own / mesh::size_of(variable.external);   // the last may be cut by the border
  } catch (const base::Error&) {
    if (!has_failed(put.output)) throw;
    return put.elements;
  }
}

void WriteThrough::write(const pool::Record& record, const Source& source) {
  const pool::OutputKey output{record.slot, record.generation};
  if (has_failed(output)) return;
  try {
    elements_.resize(buffer_bytes);
    window_.resize(buffer_bytes);
    write(target(output), record, source);
  } catch (const base::Error&) {
    if (!has_failed(output)) throw;   // or else the file is gone, and why is told where all errors are
  }
}

void WriteThrough::write(Target& target, const pool::Record& record, const Source& source) {
  const auto& layout = target.description.layout;
  const auto& variable = layout.target(record.variable);
  const auto memory = static_cast<mesh::Type>(record.memory_type);
  const auto convert = store::converter(memory, variable.external, variable.stored);
  const mesh::Box box = pool::box_of(record);
  const std::uint64_t part = buffer_bytes / source.element_bytes;
  for (std::uint64_t done = 0; done < record.elements; done += part) {
    const std::uint64_t first = record.first_element + done, now = std::min(part, record.elements - done);
    copy_elements(source, first, now, elements_.data());
    store::TypedPiece typed{store::Piece(variable, variable.per_step() ? record.step : 0, box, first, now), &variable, convert,
                            elements_.data(), source.element_bytes};
    for (std::optional<Bytes> at = typed.piece.file_extent().begin; at;) {
      const Bytes begin = base::align_down(*at, buffer_bytes);
      const store::Window window{{begin, begin + buffer_bytes}, {{&typed, 0}}, {}};
      const store::Assembled assembled = store::assemble(window, window_.data());
      for (const base::Extent& run : assembled.runs) target.file->write({window_.data() + (run.begin - begin), run.size()}, run.begin);
      if (assembled.range_errors != 0) {
        pool::OutputSlot& slot = pool_.slot(record.slot);
        slot.steps.range_errors.fetch_add(assembled.range_errors, std::memory_order_relaxed);
        if (layout.range == base::RangeRule::error) {
          const base::Error error = store::out_of_range_error(assembled.first_range_error,
                                                              {box, first, memory, pool_.job_rank(rank_), record.step});
          return pool::fail(slot, static_cast<std::uint32_t>(error.code()), error.what(), error.hint());
        }
      }
      at = typed.piece.next_byte(window.extent.end);
    }
  }
}

void WriteThrough::write(const pool::OutputKey& output, const mesh::PatternPart& bytes, const CopyOut& copy_out) {
  if (has_failed(output)) return;
  try {
    elements_.resize(buffer_bytes);
    store::File& file = *target(output).file;
    for (Bytes done = 0; done < bytes.file_bytes(); done += buffer_bytes) {
      const Bytes first = bytes.first_byte() + done, now = std::min(buffer_bytes, bytes.file_bytes() - done);
      copy_out(first, now, elements_.data());
      const mesh::PatternPart part(bytes.pattern(), first, now);
      part.for_each_run(part.file_extent(), [&](mesh::Pattern::Run run) {
        file.write({elements_.data() + run.source, run.bytes}, run.file_offset);
      });
      // Ranks whose turn comes later see that it moves.
      pool_.header().written_bytes.fetch_add(now, std::memory_order_relaxed);
    }
  } catch (const base::Error&) {
    if (!has_failed(output)) throw;
  }
}

void WriteThrough::leave(const pool::OutputKey& output) {
  targets_.erase(output);
  if (!targets_.empty()) return;
  elements_ = {};
  window_ = {};
}

}  // namespace glean::capture
