// SPDX-License-Identifier: BSD-3-Clause
#include "store/container/container_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "store/container/defects.hpp"
#include "store/container/ordered_numbers.hpp"

namespace glean::store {
namespace {

constexpr std::string_view container_magic = "sion", glean_mark = "GLEANTLF";
constexpr std::uint32_t format_version = 5;
constexpr std::size_t fixed_bytes = 1076, prefix_begin = 52, prefix_bytes = fixed_bytes - prefix_begin, mark_begin = fixed_bytes - 16;

static_assert(container_prefix_most + 1 == mark_begin - prefix_begin, "a prefix ends with a zero");

// Byte 0 and 3 say it of the metadata, 1 and 2 of the data: in both orders the number is the same.
std::uint32_t encoded_orders(ByteOrder metadata, ByteOrder data) {
  return (metadata == ByteOrder::big ? 0x01000001U : 0U) | (data == ByteOrder::big ? 0x00010100U : 0U);
}

// No place that the description leads to overflows.
void check_places(const ContainerHeader& header, Defects& defects) {
  Bytes sum = 0;
  for (std::size_t task = 0; task < header.tasks(); ++task) {
    const Bytes bytes = header.chunk_bytes[task];
    if (bytes > base::largest_offset) {
      defects.add(fmt::format("task {} has chunks of {} bytes", task, static_cast<std::int64_t>(bytes)));
      return;
    }
    sum += bytes;
    if (sum > base::largest_offset) {
      defects.add("the chunks of all tasks together are larger than any file");
      return;
    }
  }
  if (header.block_bytes == 0) return;
  const Bytes begin = container_data_begin(header.tasks(), header.block_bytes);
  if (sum > base::largest_offset - begin || (sum != 0 && header.chunks_most > (base::largest_offset - begin) / sum)) {
    defects.add(fmt::format("{} chunks of each task would be longer than any file", header.chunks_most));
  }
}

void check_header(const ContainerHeader& header, Defects& defects) {
  if (header.block_bytes == 0 || header.block_bytes > largest_int) {
    defects.add(fmt::format("its blocks have {} bytes", static_cast<std::int32_t>(header.block_bytes)));
  }
  if (header.tasks() == 0) defects.add("it has no tasks");
  if (header.files == 0 || header.files > largest_int) {
    defects.add(fmt::format("it is one of {} files", static_cast<std::int32_t>(header.files)));
  } else if (header.file >= header.files) {
    defects.add(fmt::format("it is file {} of {}", static_cast<std::int32_t>(header.file), header.files));
  }
  std::unordered_set<std::uint64_t> ranks;
  for (std::size_t task = 0; task < header.tasks(); ++task) {
    const std::uint64_t rank = header.global_ranks[task];
    if (rank > largest_int) defects.add(fmt::format("task {} has the rank {}", task, static_cast<std::int64_t>(rank)));
    else if (!ranks.insert(rank).second) defects.add(fmt::format("two tasks have the rank {}", rank));
  }
  if (header.chunks_most > largest_int) defects.add(fmt::format("it has {} chunks", static_cast<std::int32_t>(header.chunks_most)));
  else check_places(header, defects);
  if (header.index_begin > base::largest_offset || (header.is_closed() && header.index_begin < container_header_bytes(header.tasks()))) {
    defects.add(fmt::format("its index begins at byte {}", static_cast<std::int64_t>(header.index_begin)));
  }
}

bool is_mark(std::span<const std::byte> bytes) { return std::memcmp(bytes.data(), glean_mark.data(), glean_mark.size()) == 0; }

}  // namespace

Bytes ContainerHeader::stride() const {
  Bytes sum = 0;
  for (const Bytes each : chunk_bytes) sum += each;
  return sum;
}

std::vector<TaskChunks> ContainerHeader::chunks() const {
  std::vector<TaskChunks> all;
  all.reserve(tasks());
  const Bytes every = stride();
  Bytes begin = container_data_begin(tasks(), block_bytes);
  for (const Bytes each : chunk_bytes) {
    all.push_back({begin, each, every, trailer_bytes()});
    begin += each;
  }
  return all;
}

void check_container_header(const ContainerHeader& header) {
  Defects defects("the description of the container");
  if (header.global_ranks.size() != header.chunk_bytes.size()) defects.add("not every task has a rank and a chunk size");
  const std::size_t most = header.id ? container_prefix_most : prefix_bytes - 1;
  if (header.prefix.size() > most) defects.add(fmt::format("its name has more than {} bytes", most));
  if (header.prefix.find('\0') != std::string::npos) defects.add("its name has a zero byte");
  if (defects.none()) check_header(header, defects);
  try {
    defects.raise();
  } catch (const base::Error& error) {
    throw base::Error(base::Errc::invalid_argument, error.what(), error.hint());
  }
}

std::vector<std::byte> encode_container_header(const ContainerHeader& header) {
  check_container_header(header);
  OrderedEncoder out(header.order);
  out.raw(std::as_bytes(std::span(container_magic)));
  out.four(encoded_orders(header.order, header.data_order));
  out.four(header.version);
  out.four(header.patch_level);
  out.four(format_version);
  out.four(static_cast<std::uint32_t>(header.block_bytes));
  out.four(static_cast<std::uint32_t>(header.tasks()));
  out.four(header.files);
  out.four(header.file);
  out.eight(std::uint64_t{header.key_value_mode} << 32);
  out.eight(0);
  out.raw(std::as_bytes(std::span(header.prefix)));
  out.zeros(mark_begin - out.size());
  if (header.id) {
    out.raw(std::as_bytes(std::span(glean_mark)));
    out.eight(*header.id);
  }
  out.zeros(fixed_bytes - out.size());
  for (const std::uint64_t rank : header.global_ranks) out.eight(rank);
  for (const Bytes bytes : header.chunk_bytes) out.eight(bytes);
  out.four(static_cast<std::uint32_t>(header.chunks_most));
  out.eight(header.index_begin);
  return out.bytes();
}

std::optional<ContainerHeader> parse_container_header(std::span<const std::byte> begin, Bytes file_bytes) {
  if (begin.size() < std::min<Bytes>(file_bytes, fixed_bytes)) return std::nullopt;
  if (begin.size() < container_magic.size() || std::memcmp(begin.data(), container_magic.data(), container_magic.size()) != 0) {
    throw base::Error(base::Errc::invalid_argument, "it is not a container: it does not begin with \"sion\"");
  }
  Defects defects("the header of the container");
  if (file_bytes < fixed_bytes) {
    defects.add("the file ends within it");
    defects.raise();
  }
  ContainerHeader header;
  const auto orders = begin.subspan(4, 4);
  header.order = (orders[0] & std::byte{1}) != std::byte{0} ? ByteOrder::big : ByteOrder::little;
  header.data_order = (orders[1] & std::byte{1}) != std::byte{0} ? ByteOrder::big : ByteOrder::little;
  OrderedDecoder in(begin.subspan(8), header.order);
  header.version = in.four();
  header.patch_level = in.four();
  const std::uint32_t format = in.four();
  if (format != format_version) {
    throw base::Error(base::Errc::unsupported, fmt::format("the container has version {} of its format", static_cast<std::int32_t>(format)),
                      "only version 5 can be read, which SIONlib 1.7 writes: make a copy with SIONlib's siondefrag");
  }
  header.block_bytes = in.four();
  const std::uint64_t tasks = in.four();
  header.files = in.four();
  header.file = in.four();
  header.key_value_mode = static_cast<std::uint32_t>(in.eight() >> 32);
  static_cast<void>(in.eight());
  const auto prefix = begin.subspan(prefix_begin, prefix_bytes);
  const auto* const characters = reinterpret_cast<const char*>(prefix.data());
  if (is_mark(begin.subspan(mark_begin))) {
    OrderedDecoder id(begin.subspan(mark_begin + glean_mark.size()), header.order);
    header.id = id.eight();
    header.prefix.assign(characters, strnlen(characters, mark_begin - prefix_begin));
    defects.require(header.prefix.size() <= container_prefix_most, "its name does not end");
  } else {
    header.prefix.assign(characters, strnlen(characters, prefix.size() - 1));
  }
  if (tasks > largest_int) defects.add(fmt::format("it has {} tasks", static_cast<std::int32_t>(tasks)));
  else if (container_header_bytes(tasks) > file_bytes) defects.add(fmt::format("the file is too short for its {} tasks", tasks));
  else if (container_header_bytes(tasks) > container_header_most) defects.add(fmt::format("its {} tasks are more than can be read", tasks));
  defects.raise();
  if (container_header_bytes(tasks) > begin.size()) return std::nullopt;
  OrderedDecoder rest(begin.subspan(fixed_bytes), header.order);
  header.global_ranks.reserve(tasks);
  header.chunk_bytes.reserve(tasks);
  for (std::uint64_t task = 0; task < tasks; ++task) header.global_ranks.push_back(rest.eight());
  for (std::uint64_t task = 0; task < tasks; ++task) header.chunk_bytes.push_back(rest.eight());
  header.chunks_most = rest.four();
  header.index_begin = rest.eight();
  check_header(header, defects);
  defects.raise();
  return header;
}

std::string physical_path(const std::string& path, std::uint32_t file) {
  return file == 0 ? path : fmt::format("{}.{:06}", path, file);
}

}  // namespace glean::store
