// SPDX-License-Identifier: BSD-3-Clause
#include "store/container/container_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "base/encoding.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "store/container/defects.hpp"
#include "store/container/ordered_numbers.hpp"
#include "store/sums/checksum.hpp"

namespace glean::store {
namespace {

constexpr std::string_view table_magic = "GLEANIDX";
constexpr std::uint64_t table_version = 1;
constexpr std::size_t longest_name = 4095;
constexpr std::uint64_t unused = ~std::uint64_t{0};   // what SIONlib's documentation says; it writes 0

void check_chunks(const ContainerHeader& header, const ContainerIndex& index, Defects& defects) {
  const std::size_t tasks = header.tasks();
  for (std::size_t task = 0; task < tasks; ++task) {
    if (index.chunks[task] > header.chunks_most) {
      defects.add(fmt::format("task {} has {} chunks of {}", task, static_cast<std::int64_t>(index.chunks[task]), header.chunks_most));
      continue;
    }
    for (std::uint64_t chunk = 0; chunk < header.chunks_most; ++chunk) {
      const Bytes used = index.used[chunk * tasks + task];
      const Bytes room = chunk < index.chunks[task] ? header.chunk_bytes[task] : 0;
      if (used <= room) continue;
      defects.add(fmt::format("task {} has {} bytes in its chunk {}, in which there is room for {}", task, static_cast<std::int64_t>(used),
                              chunk, room));
    }
  }
}

// What no reader takes is not written.
void check_length(Bytes bytes, const std::string& of) {
  if (bytes <= container_index_most) return;
  throw base::Error(base::Errc::invalid_argument, fmt::format("the index of {} has {}", of, base::readable_bytes(bytes)),
                    fmt::format("it has {} at most: choose larger chunks, or more physical files",
                                base::readable_bytes(container_index_most)));
}

bool is_name(std::string_view name) { return !name.empty() && name.size() <= longest_name && name.find('\0') == std::string_view::npos; }

}  // namespace

std::uint64_t ContainerIndex::chunks_most() const { return chunks.empty() ? 0 : *std::max_element(chunks.begin(), chunks.end()); }

std::vector<Bytes> ContainerIndex::used_by(std::size_t task) const {
  std::vector<Bytes> all;
  all.reserve(chunks[task]);
  for (std::uint64_t chunk = 0; chunk < chunks[task]; ++chunk) all.push_back(used[chunk * chunks.size() + task]);
  return all;
}

void check_index_length(const std::vector<std::vector<Bytes>>& used) {
  std::size_t most = 1;
  for (const auto& each : used) most = std::max(most, each.size());
  check_length((1 + most) * used.size() * 8, fmt::format("{} tasks, of which one has {} chunks,", used.size(), most));
}

ContainerIndex make_container_index(const std::vector<std::vector<Bytes>>& used) {
  ContainerIndex index;
  for (const auto& each : used) index.chunks.push_back(std::max<std::size_t>(1, each.size()));
  index.used.resize(index.chunks_most() * used.size());
  for (std::size_t task = 0; task < used.size(); ++task) {
    for (std::size_t chunk = 0; chunk < used[task].size(); ++chunk) index.used[chunk * used.size() + task] = used[task][chunk];
  }
  return index;
}

std::vector<std::byte> encode_container_index(const ContainerIndex& index, ByteOrder order, AfterIndex after) {
  OrderedEncoder out(order);
  for (const std::uint64_t each : index.chunks) out.eight(each);
  for (const Bytes each : index.used) out.eight(each);
  if (!index.mapping.empty() || after == AfterIndex::more) out.four(static_cast<std::uint32_t>(index.mapping.size()));
  for (const TaskPlace& place : index.mapping) {
    out.four(place.file);
    out.four(place.local);
  }
  return out.bytes();
}

ParsedIndex parse_container_index(const ContainerHeader& header, std::span<const std::byte> bytes) {
  Defects defects("the index of the container");
  if (header.index_begin < header.index_begin_after(header.chunks_most)) {
    defects.add(fmt::format("it begins at byte {}, inside of the chunks", header.index_begin));
  }
  const std::size_t tasks = header.tasks();
  ParsedIndex parsed;
  OrderedDecoder in(bytes, header.order);
  if (header.chunks_most > bytes.size() / 8 / tasks || !in.has((header.chunks_most + 1) * tasks * 8)) {
    defects.add(fmt::format("the file is too short for {} chunks of {} tasks", header.chunks_most, tasks));
    defects.raise();
  }
  ContainerIndex& index = parsed.index;
  index.chunks.reserve(tasks);
  for (std::size_t task = 0; task < tasks; ++task) index.chunks.push_back(in.eight());
  index.used.reserve(header.chunks_most * tasks);
  for (std::uint64_t i = 0; i < header.chunks_most * tasks; ++i) {
    const Bytes used = in.eight();
    index.used.push_back(used == unused ? 0 : used);
  }
  check_chunks(header, index, defects);
  if (in.left() != 0 && !in.has(4)) defects.add("the file ends within its mapping");
  const std::uint64_t mapped = in.has(4) ? in.four() : 0;
  if (mapped > largest_int || !in.has(mapped * 8)) {
    defects.add(fmt::format("the file is too short for a mapping of {} ranks", static_cast<std::int32_t>(mapped)));
    defects.raise();
  }
  index.mapping.reserve(mapped);
  for (std::uint64_t rank = 0; rank < mapped; ++rank) {
    const std::uint32_t file = in.four(), local = in.four();
    index.mapping.push_back({file, local});
    if (file >= header.files) {
      defects.add(fmt::format("rank {} is in file {} of {}", rank, static_cast<std::int32_t>(file), header.files));
    } else if (local > largest_int || (file == header.file && (local >= tasks || header.global_ranks[local] != rank))) {
      defects.add(fmt::format("rank {} is not task {} of file {}", rank, static_cast<std::int32_t>(local), file));
    }
  }
  defects.raise();
  parsed.bytes = bytes.size() - in.left();
  return parsed;
}

std::vector<std::byte> encode_name_table(const NameTable& table) {
  base::Encoder entries;
  for (const LogicalFile& file : table.files) {
    if (!is_name(file.name)) {
      throw base::Error(base::Errc::invalid_argument, fmt::format("{} cannot be a name in a container", shown_name(file.name)),
                        "a name has 1 to 4095 bytes, none of them zero");
    }
    entries.number(file.rank);
    entries.number(file.begin);
    entries.number(file.bytes);
    entries.text(file.name);
  }
  const std::vector<std::byte> entry_bytes = entries.take();
  base::Encoder out;
  out.raw(std::as_bytes(std::span(table_magic)));
  out.number(table_version);
  out.number(table.id);
  out.number(table.header_sum);
  out.number(table.index_sum);
  out.number(table.files.size());
  out.bytes(entry_bytes);
  std::vector<std::byte> bytes = out.take();
  base::Encoder sum;
  sum.number(sum_of(bytes));
  const std::vector<std::byte> sum_bytes = sum.take();
  bytes.insert(bytes.end(), sum_bytes.begin(), sum_bytes.end());
  return bytes;
}

NameTable parse_name_table(std::span<const std::byte> bytes) {
  base::Decoder in(bytes, "the table of names of the container");
  const auto magic = in.raw(table_magic.size());
  if (std::memcmp(magic.data(), table_magic.data(), table_magic.size()) != 0) in.reject("it does not begin with \"GLEANIDX\"");
  const std::uint64_t version = in.number();
  if (version != table_version) in.reject(fmt::format("it has version {}", version));
  NameTable table;
  table.id = in.number();
  table.header_sum = in.number();
  table.index_sum = in.number();
  const std::uint64_t count = in.number();
  base::Decoder entries(in.bytes(), "the table of names of the container");
  const std::size_t summed = bytes.size() - in.rest().size();
  if (in.number() != sum_of(bytes.first(summed))) in.reject("its checksum is another");
  constexpr std::size_t least = 4 * 8 + 1;
  if (count > entries.rest().size() / least) in.reject("there are more names than there can be");
  table.files.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    LogicalFile file;
    file.rank = entries.number();
    file.begin = entries.number();
    file.bytes = entries.number();
    file.name = entries.text();
    if (!is_name(file.name)) entries.reject(fmt::format("name {} is empty, too long or has a zero byte", i));
    const bool overflows = file.bytes > std::numeric_limits<Bytes>::max() - file.begin;
    if (overflows) entries.reject(fmt::format("{} is longer than any task", shown_name(file.name)));
    table.files.push_back(std::move(file));
  }
  entries.expect_end();
  return table;
}

std::uint64_t sum_of(std::span<const std::byte> bytes) {
  StreamingSum sum;
  sum.add(bytes);
  return sum.value();
}

ContainerEnds close_container(ContainerHeader header, const ContainerIndex& index, const std::vector<LogicalFile>& files) {
  header.chunks_most = index.chunks_most();
  header.index_begin = header.index_begin_after(header.chunks_most);
  const AfterIndex after = header.id ? AfterIndex::more : AfterIndex::nothing;
  ContainerEnds ends{encode_container_header(header), header.index_begin, encode_container_index(index, header.order, after)};
  if (!header.id) return ends;
  const NameTable table{*header.id, sum_of(ends.begin), sum_of(ends.end), files};
  ends.end.resize(name_table_begin(header.index_begin, ends.end.size()) - header.index_begin);
  const std::vector<std::byte> names = encode_name_table(table);
  ends.end.insert(ends.end.end(), names.begin(), names.end());
  check_length(ends.end.size(), fmt::format("{} tasks and {} logical files", header.tasks(), files.size()));
  return ends;
}

}  // namespace glean::store
