// SPDX-License-Identifier: BSD-3-Clause
#include "store/input/file_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "store/convert.hpp"
#include "store/input/row_runs.hpp"

namespace glean::store {
namespace {


// Bytes between rows: from the page cache it takes no longer to copy a page too much than to call once more.
constexpr Bytes copied_gap_most = 4 * base::KiB;
constexpr Bytes fetched_at_once = base::MiB;
// Of a long row the storage is asked for so much more than is read, so that it works while values are converted.
constexpr Bytes fetched_ahead = 2 * base::MiB;
// Of a longer row the kernel reads ahead better, in large folios; what it reads behind it counts for little then.
constexpr Bytes asked_row_most = 8 * base::MiB;

constexpr std::array<std::byte, 8> no_fill{};

RowRuns rows_of(const FileContents::Variable& variable, std::uint64_t record, const mesh::Box& box) {
  return {mesh::Rows(box, variable.shape), variable.begin_bytes + (variable.per_step ? record * variable.record_stride_bytes : 0),
          mesh::size_of(variable.external)};
}

FileContents inspected(const InputFile& file, const std::string& path, const FileReader::Inspect& inspect) {
  try {
    return inspect(file, path);
  } catch (const base::Error& error) {
    throw base::Error(error.code() == base::Errc::io ? base::Errc::invalid_argument : error.code(),
                      "cannot read '" + path + "': " + error.what(), error.hint());
  }
}

// One read of a box.
class BoxRead {
 public:
  struct Limits { Bytes window, gap; };
  BoxRead(const InputFile& file, Arrival& arrival, const RowRuns& runs, std::byte* values, Limits limits)
      : file_(file), arrival_(arrival), runs_(runs), rows_(runs.rows()), values_(values), window_bytes_(limits.window),
        gap_bytes_(limits.gap) {}

  void run() {
    for (std::uint64_t row = 0; row < rows_.row_count();) {
      if (runs_.begin_of(row) >= fetched_end_) fetch(row);
      const RowRuns::Run run = runs_.close_rows(row, gap_bytes_, window_bytes_);
      if (run.next == row + 1) read_row(row);
      else read_rows(row, run);
      row = run.next;
    }
  }

 private:
  [[nodiscard]] std::byte* values_of(std::uint64_t row) const { return values_ + row * rows_.row_elements() * arrival_.memory_size(); }

  // Has the storage asked for what lies far apart in the page cache and close together on storage.
  void fetch(std::uint64_t row) {
    const RowRuns::Run run = runs_.close_rows(row, fetched_gap_most, fetched_at_once);
    fetched_end_ = run.end;
    if (run.next > runs_.close_rows(row, gap_bytes_, window_bytes_).next) file_.will_need({runs_.begin_of(row), run.end});
  }

  // What needs no more room in memory than in the file goes there at once; and in pieces that are converted while they are in the cache.
  void read_row(std::uint64_t row) {
    std::byte* to = values_of(row);
    Bytes at = runs_.begin_of(row);
    const Bytes row_end = at + runs_.row_bytes();
    Bytes asked = row_end - at > asked_row_most ? row_end : at;
    for (std::uint64_t left = rows_.row_elements(); left != 0;) {
      const std::uint64_t until_whole_window = (window_bytes_ - at % window_bytes_) / arrival_.stored_size();
      const std::uint64_t count = std::min(left, std::max<std::uint64_t>(1, until_whole_window));
      const Bytes bytes = count * arrival_.stored_size();
      std::byte* const into = arrival_.keeps_size() ? to : window(bytes);
      if (bytes < row_end - at) ask(row_end, at + fetched_ahead, asked);
      file_.read_with_zeros({into, bytes}, at);
      arrival_.convert(into, to, count);
      to += count * arrival_.memory_size();
      at += bytes;
      left -= count;
    }
  }

  // Has the storage asked up to `until`, and for nothing behind the row: the kernel reads ahead of requests that follow each other, which
  // behind each of many rows would be others' data.
  void ask(Bytes row_end, Bytes until, Bytes& asked) {
    until = std::min(until, row_end);
    if (until < asked + fetched_ahead / 4 && until < row_end) return;   // in large requests
    if (until <= asked) return;
    file_.will_need({asked, until});
    asked = until;
  }

  void read_rows(std::uint64_t row, const RowRuns::Run& run) {
    const Bytes first = runs_.begin_of(row);
    std::byte* const bytes = window(run.end - first);
    file_.read_with_zeros({bytes, run.end - first}, first);
    for (; row < run.next; ++row) arrival_.convert(bytes + (runs_.begin_of(row) - first), values_of(row), rows_.row_elements());
  }

  [[nodiscard]] std::byte* window(Bytes bytes) {
    if (window_.size() < bytes) window_.resize(std::max(bytes, window_bytes_));
    return window_.data();
  }

  const InputFile& file_;
  Arrival& arrival_;
  const RowRuns& runs_;
  const mesh::Rows& rows_;
  std::byte* values_;
  Bytes window_bytes_, gap_bytes_;
  Bytes fetched_end_ = 0;
  std::vector<std::byte> window_;
};

}  // namespace

Arrival::Arrival(mesh::Type external, Stored stored, mesh::Type memory, const std::string& what)
    : external_(external), memory_(memory), swaps_(stored.order != native_order && mesh::size_of(external) > 1),
      copies_(external == memory) {
  if ((external == mesh::Type::text) != (memory == mesh::Type::text)) {
    throw base::Error(base::Errc::invalid_argument,
                      fmt::format("{} of type {} as {}", what, mesh::name_of(external), mesh::name_of(memory)));
  }
  // Formats without unsigned bytes have them as signed ones.
  if (stored.int8_holds_uint8 && external == mesh::Type::int8 && memory == mesh::Type::uint8) copies_ = true;
}

void Arrival::convert(std::byte* stored_bytes, std::byte* values, std::size_t count) {
  if (copies_) {
    if (!swaps_) {
      if (values != stored_bytes) std::memcpy(values, stored_bytes, count * mesh::size_of(external_));
      return;
    }
    // What makes big-endian of native bytes makes native of big-endian ones.
    converter(external_, external_)(stored_bytes, values, count, no_fill.data());
    return;
  }
  if (swaps_) converter(external_, external_)(stored_bytes, stored_bytes, count, no_fill.data());
  out_of_range_ += converter(external_, memory_, Stored{native_order, false})(stored_bytes, values, count, no_fill.data()).count;
}

FileReader::FileReader(SystemCalls& calls, const std::string& path, const Inspect& inspect, Bytes window_bytes) try
    : path_(path), window_bytes_(window_bytes), gap_bytes_(copied_gap_most), file_(calls, path),
      contents_(inspected(file_, path, inspect)) {
} catch (const base::Error& error) {
  if (error.code() != base::Errc::not_found) throw;
  throw base::Error(error.code(), error.what());   // the hint is one for files to write
}

FileReader::FileReader(std::unique_ptr<FileSource> source, const std::string& path, const Inspect& inspect, Bytes window_bytes)
    : path_(path), window_bytes_(window_bytes), gap_bytes_(fetched_gap_most), file_(std::move(source)),
      contents_(inspected(file_, path, inspect)) {}

void FileReader::require_readable(int variable, std::uint64_t record, mesh::Type memory) const {
  const Variable& known = contents_.variables.at(static_cast<std::size_t>(variable));
  static_cast<void>(Arrival(known.external, known.stored, memory, "cannot read " + of(known)));
  if (!known.per_step || record < known.records) return;
  throw base::Error(base::Errc::not_found, of(known) + " has no step " + std::to_string(record) + ": the file has " +
                                               std::to_string(known.records));
}

void FileReader::require_in_range(int variable, const mesh::Box& box, mesh::Type memory, std::size_t out_of_range) const {
  if (out_of_range == 0) return;
  throw base::Error(base::Errc::out_of_range,
                    fmt::format("cannot read {}: {} of {} values do not fit into {}",
                                of(contents_.variables.at(static_cast<std::size_t>(variable))), out_of_range, box.elements(),
                                mesh::name_of(memory)));
}

void FileReader::read(int variable, std::uint64_t record, const mesh::Box& box, mesh::Type memory, std::byte* values) const {
  require_readable(variable, record, memory);
  if (box.empty()) return;
  const Variable& known = contents_.variables[static_cast<std::size_t>(variable)];
  Arrival arrival(known.external, known.stored, memory, "cannot read " + of(known));
  if (!known.by_library.empty()) read_by_library(known, record, box, arrival, values);
  else BoxRead(file_, arrival, rows_of(known, record, box), values, {window_bytes_, gap_bytes_}).run();
  require_in_range(variable, box, memory, arrival.out_of_range());
}

void FileReader::prefetch(int variable, std::uint64_t record, const mesh::Box& box) {
  const Variable& known = contents_.variables.at(static_cast<std::size_t>(variable));
  if (box.empty() || !known.by_library.empty() || (known.per_step && record >= known.records)) return;
  prefetcher_.add(rows_of(known, record, box));
}

void FileReader::read_by_library(const Variable& known, std::uint64_t record, const mesh::Box& box, Arrival& arrival,
                                 std::byte* values) const {
  if (!by_library_) throw base::Error(base::Errc::unsupported, "cannot read " + of(known) + ": only the library of its format reads it");
  std::vector<std::byte> read;
  if (arrival.changes()) read.resize(box.elements() * mesh::size_of(known.external));
  std::byte* const into = arrival.changes() ? read.data() : values;
  try {
    by_library_(file_, known, record, box, into);
  } catch (const base::Error& error) {
    throw base::Error(error.code() == base::Errc::invalid_argument ? base::Errc::io : error.code(),
                      "cannot read " + of(known) + ": " + error.what(), error.hint());
  }
  if (arrival.changes()) arrival.convert(read.data(), values, box.elements());
}

int FileReader::find(std::string_view name) const {
  for (std::size_t v = 0; v < contents_.variables.size(); ++v) {
    if (contents_.variables[v].name == name) return static_cast<int>(v);
  }
  for (const auto& one : contents_.unreadable) {
    if (one.is_attribute || one.name != name) continue;
    throw base::Error(base::Errc::unsupported, "cannot read variable '" + one.name + "' of '" + path_ + "': " + one.why, one.hint);
  }
  throw base::Error(base::Errc::not_found, "'" + path_ + "' has no variable '" + std::string(name) + "'");
}

std::vector<FileReader::Attribute> FileReader::attributes(int variable) const {
  std::vector<Attribute> all;
  for (const mesh::Attribute& one : contents_.attributes) {
    if (one.variable == variable) all.push_back({one.name, one.type, one.count()});
  }
  return all;
}

const mesh::Attribute& FileReader::attribute(int variable, const std::string& name) const {
  const auto found = std::find_if(contents_.attributes.begin(), contents_.attributes.end(),
                                  [&](const mesh::Attribute& one) { return one.variable == variable && one.name == name; });
  if (found != contents_.attributes.end()) return *found;
  for (const auto& one : contents_.unreadable) {
    if (!one.is_attribute || one.variable != variable || one.name != name) continue;
    throw base::Error(base::Errc::unsupported, "cannot read attribute '" + name + "' of '" + path_ + "': " + one.why, one.hint);
  }
  const std::string owner = variable < 0 ? "'" + path_ + "'" : of(contents_.variables.at(static_cast<std::size_t>(variable)));
  throw base::Error(base::Errc::not_found, owner + " has no attribute '" + name + "'");
}

std::size_t FileReader::attribute_elements(int variable, const std::string& name) const { return attribute(variable, name).count(); }

void FileReader::read_attribute(int variable, const std::string& name, mesh::Type memory, void* values) const {
  const mesh::Attribute& one = attribute(variable, name);
  const std::string what = "cannot read attribute '" + name + "' of '" + path_ + "'";
  Arrival arrival(one.type, Stored{native_order, false}, memory, what);
  std::vector<std::byte> bytes = one.values;
  arrival.convert(bytes.data(), static_cast<std::byte*>(values), one.count());
  if (arrival.out_of_range() != 0) {
    throw base::Error(base::Errc::out_of_range, what + ": a value does not fit into " + std::string(mesh::name_of(memory)));
  }
}

FileContents inspect_cdf(const InputFile& file, const std::string& /*path*/) { return contents_of(read_cdf_header(file)); }

}  // namespace glean::store
