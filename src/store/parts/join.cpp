// SPDX-License-Identifier: BSD-3-Clause
//
// Window by window of the whole: what each part has of it is read at once, and the window is written at once.
#include "store/parts/join.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "store/format/formats.hpp"
#include "store/posix/input_file.hpp"
#include "store/sums/sidecar.hpp"

namespace glean::store {
namespace {

using base::Extent;

constexpr Bytes window_bytes = 8 * base::MiB;
constexpr Bytes gap_bytes = 256 * base::KiB;   // rather read in vain than with another request

// One box of a part, by bytes of a record of its variable.
struct Piece {
  mesh::Rows rows;
  Extent extent;
  std::size_t part;
};

// All boxes of a variable, by where they begin.
class Pieces {
 public:
  Pieces(const std::vector<Part>& parts, std::size_t variable) {
    const VariableLayout& layout = parts.front().index.layout.variables[variable];
    const Bytes size = mesh::size_of(layout.external);
    for (std::size_t part = 0; part < parts.size(); ++part) {
      for (const mesh::Box& box : parts[part].index.boxes[variable]) {
        const mesh::Rows rows(box, layout.shape);
        const Bytes end = rows.position(rows.row_count() - 1) + rows.row_elements();
        pieces_.push_back({rows, {rows.position(0) * size, end * size}, part});
      }
    }
    std::sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) { return a.extent.begin < b.extent.begin; });
    for (const Piece& piece : pieces_) reached_.push_back(std::max(reached_.empty() ? 0 : reached_.back(), piece.extent.end));
  }

  // Calls `found(piece)` for those that may have something of `extent`.
  template <class Found>
  void in(Extent extent, Found found) const {
    const auto first = std::upper_bound(reached_.begin(), reached_.end(), extent.begin) - reached_.begin();
    for (auto piece = pieces_.begin() + first; piece != pieces_.end() && piece->extent.begin < extent.end; ++piece) found(*piece);
  }

 private:
  std::vector<Piece> pieces_;
  std::vector<Bytes> reached_;   // by these and those before them
};

class Joining {
 public:
  Joining(SystemCalls& calls, const std::vector<Part>& parts)
      : parts_(parts), layout_(parts.front().index.layout), whole_(whole_of(parts)), records_(whole_.records), end_(whole_.finished.size),
        runs_(parts.size()) {
    for (const Part& part : parts) files_.push_back(std::make_unique<InputFile>(calls, part.path));
    for (std::size_t variable = 0; variable < layout_.variables.size(); ++variable) pieces_.emplace_back(parts, variable);
  }

  [[nodiscard]] Joined result(const std::string& path) const { return {path, end_, records_, whole_.steps_left_out}; }

  void write_into(File& file) {
    file.reserve(end_, 0);
    std::vector<std::byte> window(window_bytes);
    for (Bytes begin = 0; begin < end_; begin += window_bytes) {
      window.resize(std::min(window_bytes, end_ - begin));
      if (assemble({begin, begin + window.size()}, window)) file.write(window, begin);
    }
    for (const Patch& patch : whole_.finished.patches) file.write(patch.bytes, patch.offset);
  }

 private:
  // False: no part has anything in it.
  bool assemble(Extent window, std::vector<std::byte>& bytes) {
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
    bool any = false;
    if (window.begin < layout_.header_bytes) {
      runs_.front().push_back({window.begin, std::min(window.end, layout_.header_bytes)});
    }
    for (std::size_t v = 0; v < layout_.variables.size(); ++v) {
      const VariableLayout& variable = layout_.variables[v];
      const Bytes stride = variable.record_stride_bytes;
      const std::uint64_t count = variable.per_step() ? records_ : 1;
      const Bytes behind = window.begin - std::min(window.begin, variable.begin_bytes);
      std::uint64_t record = variable.per_step() ? behind / stride : 0;
      for (; record < count && variable.record_begin_bytes(record) < window.end; ++record) {
        const Bytes begin = variable.record_begin_bytes(record);
        const Extent extent{std::max(window.begin, begin), std::min(window.end, begin + variable.record_bytes())};
        if (extent.begin >= extent.end) continue;
        if (variable.fill) any = true;
        if (variable.fill) fill(variable, begin, extent, bytes.data() + (extent.begin - window.begin));
        find_runs(variable, pieces_[v], record, extent);
      }
    }
    for (std::size_t part = 0; part < parts_.size(); ++part) any = copy(part, window, bytes) || any;
    return any;
  }

  static void fill(const VariableLayout& variable, Bytes record_begin, Extent extent, std::byte* out) {
    const Bytes size = mesh::size_of(variable.external);
    for (Bytes at = extent.begin; at < extent.end; ++at) *out++ = variable.fill_value[(at - record_begin) % size];
  }

  // A part that has fewer records may have something else there.
  void find_runs(const VariableLayout& variable, const Pieces& pieces, std::uint64_t record, Extent extent) {
    const Bytes size = mesh::size_of(variable.external), record_begin = variable.record_begin_bytes(record);
    pieces.in({extent.begin - record_begin, extent.end - record_begin}, [&](const Piece& piece) {
      if (variable.per_step() && record >= parts_[piece.part].records) return;
      const auto begin_of = [&](std::uint64_t row) { return record_begin + piece.rows.position(row) * size; };
      std::uint64_t row = piece.rows.first_row_ending_after((extent.begin - record_begin) / size);
      for (; row < piece.rows.row_count() && begin_of(row) < extent.end; ++row) {
        const Bytes begin = begin_of(row);
        runs_[piece.part].push_back({std::max(extent.begin, begin), std::min(extent.end, begin + piece.rows.row_elements() * size)});
      }
    });
  }

  // What was found of a part; forgets it.
  bool copy(std::size_t part, Extent window, std::vector<std::byte>& bytes) {
    std::vector<Extent> runs = std::exchange(runs_[part], {});
    std::sort(runs.begin(), runs.end(), [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
    for (auto first = runs.begin(); first != runs.end();) {
      Bytes end = first->end;
      auto last = std::next(first);
      for (; last != runs.end() && last->begin <= end + gap_bytes; ++last) end = std::max(end, last->end);
      read_.resize(end - first->begin);
      files_[part]->read_with_zeros(read_, first->begin);
      for (auto run = first; run != last; ++run) {
        std::memcpy(bytes.data() + (run->begin - window.begin), read_.data() + (run->begin - first->begin), run->size());
      }
      first = last;
    }
    return !runs.empty();
  }

  const std::vector<Part>& parts_;
  const FileLayout& layout_;
  const Whole whole_;
  const std::uint64_t records_;
  const Bytes end_;
  std::vector<std::unique_ptr<InputFile>> files_;
  std::vector<Pieces> pieces_;   // of each variable
  std::vector<std::vector<Extent>> runs_;   // of each part, in the window that is being assembled
  std::vector<std::byte> read_;
};

}  // namespace

Whole whole_of(const std::vector<Part>& parts) {
  const FileLayout& layout = parts.front().index.layout;
  const auto most = std::max_element(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.records < b.records; });
  const auto [least, last] = std::minmax_element(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return a.index.steps < b.index.steps;
  });
  Whole whole{std::min(most->records, *least->index.steps), *last->index.steps - *least->index.steps, {}};
  Bytes end = 0;
  for (const Part& part : parts) end = std::max(end, part.bytes);
  if (whole.steps_left_out != 0) end = std::min(end, whole_size(layout, whole.records));
  whole.finished = Formats::to_finish().find(layout.format).finish({layout, {{0, parts.front().header}}}, {whole.records, end});
  return whole;
}

Joined join(SystemCalls& calls, const std::vector<Part>& parts, const std::string& output) {
  const std::string unique = fmt::format("{}-{}", getpid(), base::now_ns());
  const FileNames names = choose_names(output, base::Publish::rename, false, unique);
  const int descriptor = calls.open(names.working_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) throw base::system_error(-descriptor, fmt::format("cannot create '{}'", output));
  calls.close(descriptor);
  try {
    hand_on_permissions(names);
    File file(calls, names, base::DirectIo::off);
    Joining joining(calls, parts);
    joining.write_into(file);
    remove_sidecar(calls, names.final_path);   // of the file that is replaced
    file.publish();
    return joining.result(names.final_path);
  } catch (...) {
    calls.unlink(names.working_path.c_str());
    throw;
  }
}

}  // namespace glean::store
