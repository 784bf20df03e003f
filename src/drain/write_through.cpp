// SPDX-License-Identifier: BSD-3-Clause
#include "drain/write_through.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "drain/messages.hpp"
#include "pool/description.hpp"

namespace glean::drain {
namespace {

constexpr Bytes buffer_bytes = base::MiB;

}  // namespace

WriteThrough::Target& WriteThrough::target(const pool::OutputKey& output) {
  if (const auto known = targets_.find(output); known != targets_.end()) return known->second;
  // It is there until this rank has closed the output.
  Target target{OutputDescription::decode(pool::read_description(pool_, output).bytes), nullptr};
  // Through the page cache: the blocks at the edges are shared with the drain, which writes parts of blocks so, too.
  target.file = std::make_unique<store::File>(calls_, target.description.names, base::DirectIo::off);
  return targets_.emplace(output, std::move(target)).first->second;
}

void WriteThrough::write(const pool::Record& record, const pool::Source& source) {
  const pool::OutputSlot& slot = pool_.slot(record.slot);
  const auto has_failed = [&] { return slot.error_claimed.load(std::memory_order_acquire) != 0; };
  if (has_failed()) return;
  try {
    elements_.resize(buffer_bytes);
    window_.resize(buffer_bytes);
    write(target({record.slot, record.generation}), record, source);
  } catch (const base::Error&) {
    if (!has_failed()) throw;   // or else the file is gone, and why is told where all errors are
  }
}

void WriteThrough::write(Target& target, const pool::Record& record, const pool::Source& source) {
  const auto& layout = target.description.layout;
  const auto& variable = layout.variables.at(record.variable);
  const auto memory = static_cast<mesh::Type>(record.memory_type);
  const auto convert = store::converter(memory, variable.external, layout.format);
  const mesh::Box box{{record.box(), record.box() + record.dimensions},
                      {record.box() + record.dimensions, record.box() + 2 * record.dimensions}};
  const std::uint64_t part = buffer_bytes / source.element_bytes;
  for (std::uint64_t done = 0; done < record.elements; done += part) {
    const std::uint64_t first = record.first_element + done, now = std::min(part, record.elements - done);
    pool::copy_elements(source, first, now, elements_.data());
    PendingPiece pending{Piece(variable, variable.per_step() ? record.step : 0, box, first, now), &record, nullptr, rank_,
                         record.step, &variable, convert, elements_.data(), source.element_bytes, 0};
    for (std::optional<Bytes> at = pending.piece.file_extent().begin; at;) {
      const Bytes begin = base::align_down(*at, buffer_bytes);
      const Window window{{begin, begin + buffer_bytes}, {{&pending, 0}}, {}};
      const Assembled assembled = assemble(window, window_.data());
      for (const Extent& run : assembled.runs) target.file->write({window_.data() + (run.begin - begin), run.size()}, run.begin);
      if (assembled.range_errors != 0) {
        pool::OutputSlot& slot = pool_.slot(record.slot);
        slot.range_errors.fetch_add(assembled.range_errors, std::memory_order_relaxed);
        if (layout.range == base::RangeRule::error) {
          const base::Error error = out_of_range_error(assembled, first - record.first_element);
          return pool::fail(slot, static_cast<std::uint32_t>(error.code()), error.what(), error.hint());
        }
      }
      at = pending.piece.next_byte(window.extent.end);
    }
  }
}

void WriteThrough::leave(const pool::OutputKey& output) {
  targets_.erase(output);
  if (!targets_.empty()) return;
  elements_ = {};
  window_ = {};
}

}  // namespace glean::drain
