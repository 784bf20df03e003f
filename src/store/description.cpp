// SPDX-License-Identifier: BSD-3-Clause
#include "store/description.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>

#include "base/encoding.hpp"
#include "base/error.hpp"
#include "topology/text.hpp"

namespace glean::store {
namespace {

void append_text(std::vector<std::byte>& bytes, const std::string& text) {
  const auto length = static_cast<std::uint32_t>(text.size());
  const std::size_t at = bytes.size();
  bytes.resize(at + sizeof length + length);
  std::memcpy(bytes.data() + at, &length, sizeof length);
  std::memcpy(bytes.data() + at + sizeof length, text.data(), length);
}

[[noreturn]] void refuse() { throw base::Error(base::Errc::io, "damaged description of an output"); }

std::string take_text(std::span<const std::byte>& bytes) {
  std::uint32_t length = 0;
  if (bytes.size() < sizeof length) refuse();
  std::memcpy(&length, bytes.data(), sizeof length);
  bytes = bytes.subspan(sizeof length);
  if (bytes.size() < length) refuse();
  std::string text(reinterpret_cast<const char*>(bytes.data()), length);
  bytes = bytes.subspan(length);
  return text;
}

// As choose_names() makes them: absolute, and in one directory.
bool are_names(const FileNames& names) {
  const auto is_path = [](const std::string& path) {
    return path.find('\0') == std::string::npos && (path.empty() || path.front() == '/');
  };
  const auto directory = [](const std::string& path) { return path.substr(0, path.rfind('/') + 1); };
  return is_path(names.working_path) && is_path(names.final_path) &&
         directory(names.working_path) == directory(names.final_path);
}

// Length and checksum of the names go before them.
struct NamesHeader {
  std::uint64_t checksum;
  std::uint32_t bytes;
  std::uint16_t direct_io;
  std::uint16_t flags;
};

// The machine's text goes after it.
struct ShareHeader {
  std::uint64_t window_bytes;
  std::uint64_t request_bytes;
  std::uint32_t nodes;
  std::uint32_t aggregators;
  std::uint32_t machine_nodes;   // listed behind the machine
  std::uint32_t publisher;
  std::uint32_t first;
  std::uint32_t unused;
};

void append_share(std::vector<std::byte>& bytes, const plan::FileShare& share) {
  const ShareHeader header{share.window_bytes, share.request_bytes, static_cast<std::uint32_t>(share.nodes),
                           static_cast<std::uint32_t>(share.aggregators), static_cast<std::uint32_t>(share.machine_nodes.size()),
                           static_cast<std::uint32_t>(share.publisher), static_cast<std::uint32_t>(share.first), 0};
  const auto append = [&](const void* data, std::size_t size) {
    const auto* first = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), first, first + size);
  };
  append(&header, sizeof header);
  append_text(bytes, share.is_shared() ? topology::to_toml(share.machine) : "");
  append(share.machine_nodes.data(), share.machine_nodes.size() * sizeof(topology::NodeId));
}

plan::FileShare take_share(std::span<const std::byte>& bytes) {
  ShareHeader header{};
  if (bytes.size() < sizeof header) refuse();
  std::memcpy(&header, bytes.data(), sizeof header);
  bytes = bytes.subspan(sizeof header);
  const std::string machine = take_text(bytes);
  const bool has_windows = header.request_bytes != 0 && header.window_bytes != 0 && header.window_bytes % header.request_bytes == 0;
  const bool is_shared = header.nodes > 1 || header.first > 0;
  const bool has_none = !is_shared && header.request_bytes == 0 && header.window_bytes == 0;
  if (has_windows == has_none || header.nodes == 0 || header.aggregators == 0 || machine.empty() == is_shared ||
      (machine.empty() && header.machine_nodes != 0)) {
    refuse();
  }
  plan::FileShare share{.nodes = header.nodes, .first = header.first, .aggregators = static_cast<int>(header.aggregators),
                        .window_bytes = header.window_bytes, .request_bytes = header.request_bytes,
                        .publisher = header.publisher};
  if (machine.empty()) return share;
  share.machine = topology::machine_from_toml(machine, "machine of an output");
  if (share.machine.nodes() < share.nodes) refuse();
  if (header.machine_nodes == 0) return share;
  const std::size_t listed_bytes = header.machine_nodes * sizeof(topology::NodeId);
  if (header.machine_nodes != header.nodes || bytes.size() < listed_bytes) refuse();
  share.machine_nodes.resize(header.machine_nodes);
  std::memcpy(share.machine_nodes.data(), bytes.data(), listed_bytes);
  bytes = bytes.subspan(listed_bytes);
  const auto& nodes = share.machine_nodes;
  const bool ascend = std::adjacent_find(nodes.begin(), nodes.end(), std::greater_equal<>()) == nodes.end();
  if (!ascend || nodes.front() < 0 || nodes.back() >= share.machine.nodes()) refuse();
  return share;
}

constexpr std::uint16_t with_checksums = 1, ranks_write_too = 2, one_of_several = 4, only_bytes = 8, all_flags = 15;

NamesHeader header_of(std::span<const std::byte> bytes) {
  NamesHeader header{};
  if (bytes.size() < sizeof header) refuse();
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.bytes > bytes.size() - sizeof header) refuse();
  return header;
}

std::uint64_t checksum_of(NamesHeader header, std::span<const std::byte> names) {
  header.checksum = 0;
  return XXH3_64bits_withSeed(names.data(), names.size(), XXH3_64bits(&header, sizeof header));
}

template <class Header>
std::vector<std::byte> behind(const Header& header, const std::vector<std::byte>& body) {
  std::vector<std::byte> bytes(sizeof header + body.size());
  std::memcpy(bytes.data(), &header, sizeof header);
  std::copy(body.begin(), body.end(), bytes.begin() + sizeof header);
  return bytes;
}

}  // namespace

std::vector<std::byte> OutputDescription::encode_names() const {
  std::vector<std::byte> texts;
  append_text(texts, display_path);
  append_text(texts, names.working_path);
  append_text(texts, names.final_path);
  NamesHeader header{0, static_cast<std::uint32_t>(texts.size()), static_cast<std::uint16_t>(direct_io),
                     static_cast<std::uint16_t>((checksums ? with_checksums : 0) | (ranks_write ? ranks_write_too : 0) |
                                                (is_part ? one_of_several : 0) | (is_bytes ? only_bytes : 0))};
  header.checksum = checksum_of(header, texts);
  return behind(header, texts);
}

OutputDescription OutputDescription::decode_names(std::span<const std::byte> bytes) {
  const NamesHeader header = header_of(bytes);
  std::span<const std::byte> texts = bytes.subspan(sizeof header, header.bytes);
  if (header.checksum != checksum_of(header, texts)) refuse();
  if (header.direct_io > static_cast<std::uint16_t>(base::DirectIo::off) || header.flags > all_flags) refuse();
  OutputDescription description;
  description.direct_io = static_cast<base::DirectIo>(header.direct_io);
  description.checksums = (header.flags & with_checksums) != 0;
  description.ranks_write = (header.flags & ranks_write_too) != 0;
  description.is_part = (header.flags & one_of_several) != 0;
  description.is_bytes = (header.flags & only_bytes) != 0;
  description.display_path = take_text(texts);
  description.names.working_path = take_text(texts);
  description.names.final_path = take_text(texts);
  if (!texts.empty() || !are_names(description.names)) refuse();
  return description;
}

std::vector<std::byte> OutputDescription::encode_layout() const {
  std::vector<std::byte> encoded;
  append_share(encoded, share);
  base::Encoder rest;
  rest.bytes(image().encode());
  copies.encode(rest);
  analysis.encode(rest);
  rest.number(earlier.records);
  rest.number(earlier.bytes);
  rest.bytes(definitions ? definitions->encode() : std::vector<std::byte>());
  const auto encoded_rest = rest.take();
  encoded.insert(encoded.end(), encoded_rest.begin(), encoded_rest.end());
  return behind(XXH3_64bits(encoded.data(), encoded.size()), encoded);
}

OutputDescription OutputDescription::decode(std::span<const std::byte> bytes) {
  OutputDescription description = decode_names(bytes);
  bytes = bytes.subspan(sizeof(NamesHeader) + header_of(bytes).bytes);
  std::uint64_t checksum = 0;
  if (bytes.size() < sizeof checksum) refuse();
  std::memcpy(&checksum, bytes.data(), sizeof checksum);
  bytes = bytes.subspan(sizeof checksum);
  if (checksum != XXH3_64bits(bytes.data(), bytes.size())) refuse();
  description.share = take_share(bytes);
  base::Decoder rest(bytes, "the description of an output");
  FileImage image = FileImage::decode(rest.bytes());
  description.layout = std::move(image.layout);
  description.metadata = std::move(image.metadata);
  description.copies = Copies::decode(rest);
  description.analysis = analysis::Request::decode(rest);
  description.earlier.records = rest.number();
  description.earlier.bytes = rest.number();
  const auto definitions = rest.bytes();
  rest.expect_end();
  if (!definitions.empty()) description.definitions = mesh::Definitions::decode(definitions);
  return description;
}

plan::FileDomains extents_of(const FileLayout& layout) {
  plan::FileDomains domains{.fixed_begin = layout.header_bytes};
  for (const auto& variable : layout.variables) {
    if (variable.per_step()) {
      domains.record_begin = domains.record_bytes == 0 ? variable.begin_bytes : std::min(domains.record_begin, variable.begin_bytes);
      domains.record_bytes = variable.record_stride_bytes;
    } else {
      domains.fixed_end = std::max(domains.fixed_end, variable.begin_bytes + variable.record_bytes());
    }
  }
  for (const auto& variable : layout.variables) {
    if (variable.per_step()) domains.record_variables.push_back(variable.begin_bytes - domains.record_begin);
    else domains.fixed_variables.push_back(variable.begin_bytes - std::min(variable.begin_bytes, domains.fixed_begin));
  }
  std::sort(domains.record_variables.begin(), domains.record_variables.end());
  std::sort(domains.fixed_variables.begin(), domains.fixed_variables.end());
  return domains;
}

plan::FileWriters OutputDescription::writers() const {
  plan::FileDomains domains = extents_of(layout);
  domains.in_turn = is_part || is_bytes;
  return plan::FileWriters(share, domains);
}

}  // namespace glean::store
