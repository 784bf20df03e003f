// SPDX-License-Identifier: BSD-3-Clause
#include "store/input/file_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "store/convert.hpp"

namespace glean::store {
namespace {

constexpr ByteOrder native = std::endian::native == std::endian::big ? ByteOrder::big : ByteOrder::little;

// To read so many bytes too much takes no longer than another request.
constexpr Bytes gap_most = 64 * base::KiB;

constexpr std::array<std::byte, 8> no_fill{};

FileContents inspected(const InputFile& file, const std::string& path, const FileReader::Inspect& inspect) {
  try {
    return inspect(file, path);
  } catch (const base::Error& error) {
    throw base::Error(error.code() == base::Errc::io ? base::Errc::invalid_argument : error.code(),
                      "cannot read '" + path + "': " + error.what(), error.hint());
  }
}

}  // namespace

Arrival::Arrival(mesh::Type external, Stored stored, mesh::Type memory, const std::string& what)
    : external_(external), memory_(memory), swaps_(stored.order != native && mesh::size_of(external) > 1), copies_(external == memory) {
  if ((external == mesh::Type::text) != (memory == mesh::Type::text)) {
    throw base::Error(base::Errc::invalid_argument,
                      fmt::format("{} of type {} as {}", what, mesh::name_of(external), mesh::name_of(memory)));
  }
  // Formats without unsigned bytes have them as signed ones.
  if (stored.int8_holds_uint8 && external == mesh::Type::int8 && memory == mesh::Type::uint8) copies_ = true;
}

void Arrival::convert(std::byte* stored_bytes, std::byte* values, std::size_t count) {
  if (copies_) {
    if (!swaps_) std::memcpy(values, stored_bytes, count * mesh::size_of(external_));
    // What makes big-endian of native bytes makes native of big-endian ones.
    else converter(external_, external_)(stored_bytes, values, count, no_fill.data());
    return;
  }
  if (swaps_) converter(external_, external_)(stored_bytes, stored_bytes, count, no_fill.data());
  out_of_range_ += converter(external_, memory_, Stored{native, false})(stored_bytes, values, count, no_fill.data()).count;
}

FileReader::FileReader(SystemCalls& calls, const std::string& path, const Inspect& inspect, Bytes window_bytes) try
    : path_(path), window_bytes_(window_bytes), file_(calls, path), contents_(inspected(file_, path, inspect)) {
} catch (const base::Error& error) {
  if (error.code() != base::Errc::not_found) throw;
  throw base::Error(error.code(), error.what());   // the hint is one for files to write
}

FileReader::FileReader(std::unique_ptr<FileSource> source, const std::string& path, const Inspect& inspect, Bytes window_bytes)
    : path_(path), window_bytes_(window_bytes), file_(std::move(source)), contents_(inspected(file_, path, inspect)) {}

void FileReader::read(int variable, std::uint64_t record, const mesh::Box& box, mesh::Type memory, std::byte* values) const {
  const Variable& known = contents_.variables.at(static_cast<std::size_t>(variable));
  Arrival arrival(known.external, known.stored, memory, "cannot read " + of(known));
  if (known.per_step && record >= known.records) {
    throw base::Error(base::Errc::not_found, of(known) + " has no step " + std::to_string(record) + ": the file has " +
                                                 std::to_string(known.records));
  }
  if (box.empty()) return;
  if (!known.by_library.empty()) {
    read_by_library(known, record, box, arrival, values);
    return report_out_of_range(known, arrival, box, memory);
  }
  const mesh::Rows rows(box, known.shape);
  const std::size_t stored_size = mesh::size_of(known.external), size = mesh::size_of(memory);
  const Bytes begin = known.begin_bytes + (known.per_step ? record * known.record_stride_bytes : 0);
  const Bytes row_bytes = rows.row_elements() * stored_size;
  std::vector<std::byte> window(std::min<Bytes>(window_bytes_, (rows.position(rows.row_count() - 1) - rows.position(0)) * stored_size +
                                                                   row_bytes));
  std::uint64_t row = 0;
  while (row < rows.row_count()) {
    const Bytes first = rows.position(row) * stored_size;
    if (row_bytes > window.size()) {   // in pieces
      const std::uint64_t most = window.size() / stored_size;
      for (std::uint64_t done = 0; done < rows.row_elements(); done += most) {
        const std::uint64_t count = std::min(most, rows.row_elements() - done);
        file_.read_with_zeros(std::span(window).first(count * stored_size), begin + first + done * stored_size);
        arrival.convert(window.data(), values + (row * rows.row_elements() + done) * size, count);
      }
      ++row;
      continue;
    }
    std::uint64_t next = row + 1;
    Bytes end = first + row_bytes;
    while (next < rows.row_count()) {
      const Bytes at = rows.position(next) * stored_size;
      if (at - end > gap_most || at + row_bytes - first > window.size()) break;
      end = at + row_bytes;
      ++next;
    }
    file_.read_with_zeros(std::span(window).first(end - first), begin + first);
    for (; row < next; ++row) {
      arrival.convert(window.data() + (rows.position(row) * stored_size - first), values + row * rows.row_elements() * size,
                      rows.row_elements());
    }
  }
  report_out_of_range(known, arrival, box, memory);
}

void FileReader::report_out_of_range(const Variable& known, const Arrival& arrival, const mesh::Box& box, mesh::Type memory) const {
  if (arrival.out_of_range() == 0) return;
  throw base::Error(base::Errc::out_of_range, fmt::format("cannot read {}: {} of {} values do not fit into {}", of(known),
                                                          arrival.out_of_range(), box.elements(), mesh::name_of(memory)));
}

void FileReader::read_by_library(const Variable& known, std::uint64_t record, const mesh::Box& box, Arrival& arrival,
                                 std::byte* values) const {
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
  Arrival arrival(one.type, Stored{native, false}, memory, what);
  std::vector<std::byte> bytes = one.values;
  arrival.convert(bytes.data(), static_cast<std::byte*>(values), one.count());
  if (arrival.out_of_range() != 0) {
    throw base::Error(base::Errc::out_of_range, what + ": a value does not fit into " + std::string(mesh::name_of(memory)));
  }
}

FileContents inspect_cdf(const InputFile& file, const std::string& /*path*/) { return contents_of(read_cdf_header(file)); }

}  // namespace glean::store
