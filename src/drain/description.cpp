// SPDX-License-Identifier: BSD-3-Clause
#include "drain/description.hpp"

#include <xxhash.h>

#include <cstdint>
#include <cstring>

#include "base/error.hpp"

namespace glean::drain {
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

// As store::choose_names() makes them: absolute, and in one directory.
bool are_names(const store::FileNames& names) {
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

constexpr std::uint16_t with_checksums = 1, ranks_write_too = 2;

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

}  // namespace

std::vector<std::byte> OutputDescription::encode_names() const {
  std::vector<std::byte> texts;
  append_text(texts, display_path);
  append_text(texts, names.working_path);
  append_text(texts, names.final_path);
  NamesHeader header{0, static_cast<std::uint32_t>(texts.size()), static_cast<std::uint16_t>(direct_io),
                     static_cast<std::uint16_t>((checksums ? with_checksums : 0) | (ranks_write ? ranks_write_too : 0))};
  header.checksum = checksum_of(header, texts);
  std::vector<std::byte> bytes(sizeof header);
  std::memcpy(bytes.data(), &header, sizeof header);
  bytes.insert(bytes.end(), texts.begin(), texts.end());
  return bytes;
}

OutputDescription OutputDescription::decode_names(std::span<const std::byte> bytes) {
  const NamesHeader header = header_of(bytes);
  std::span<const std::byte> texts = bytes.subspan(sizeof header, header.bytes);
  if (header.checksum != checksum_of(header, texts)) refuse();
  if (header.direct_io > static_cast<std::uint16_t>(base::DirectIo::off) || header.flags > 3) refuse();
  OutputDescription description;
  description.direct_io = static_cast<base::DirectIo>(header.direct_io);
  description.checksums = (header.flags & with_checksums) != 0;
  description.ranks_write = (header.flags & ranks_write_too) != 0;
  description.display_path = take_text(texts);
  description.names.working_path = take_text(texts);
  description.names.final_path = take_text(texts);
  if (!texts.empty() || !are_names(description.names)) refuse();
  return description;
}

std::vector<std::byte> OutputDescription::encode_layout() const {
  const auto encoded = layout.encode();
  const std::uint64_t checksum = XXH3_64bits(encoded.data(), encoded.size());
  std::vector<std::byte> bytes(sizeof checksum);
  std::memcpy(bytes.data(), &checksum, sizeof checksum);
  bytes.insert(bytes.end(), encoded.begin(), encoded.end());
  return bytes;
}

OutputDescription OutputDescription::decode(std::span<const std::byte> bytes) {
  OutputDescription description = decode_names(bytes);
  bytes = bytes.subspan(sizeof(NamesHeader) + header_of(bytes).bytes);
  std::uint64_t checksum = 0;
  if (bytes.size() < sizeof checksum) refuse();
  std::memcpy(&checksum, bytes.data(), sizeof checksum);
  bytes = bytes.subspan(sizeof checksum);
  if (checksum != XXH3_64bits(bytes.data(), bytes.size())) refuse();
  description.layout = store::FileLayout::decode(bytes);
  return description;
}

}  // namespace glean::drain
