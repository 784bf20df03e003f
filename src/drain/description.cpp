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

}  // namespace

std::vector<std::byte> OutputDescription::encode() const {
  std::vector<std::byte> bytes;
  bytes.push_back(static_cast<std::byte>(direct_io));
  bytes.push_back(static_cast<std::byte>(checksums));
  append_text(bytes, display_path);
  append_text(bytes, names.working_path);
  append_text(bytes, names.final_path);
  const auto encoded_layout = layout.encode();
  bytes.insert(bytes.end(), encoded_layout.begin(), encoded_layout.end());
  const XXH64_hash_t checksum = XXH3_64bits(bytes.data(), bytes.size());
  bytes.resize(bytes.size() + sizeof checksum);
  std::memcpy(bytes.data() + bytes.size() - sizeof checksum, &checksum, sizeof checksum);
  return bytes;
}

OutputDescription OutputDescription::decode(std::span<const std::byte> bytes) {
  XXH64_hash_t checksum = 0;
  if (bytes.size() <= sizeof checksum) refuse();
  std::memcpy(&checksum, bytes.last(sizeof checksum).data(), sizeof checksum);
  bytes = bytes.first(bytes.size() - sizeof checksum);
  if (checksum != XXH3_64bits(bytes.data(), bytes.size())) refuse();
  if (bytes.size() < 2 || bytes[0] > static_cast<std::byte>(base::DirectIo::off) || bytes[1] > std::byte{1}) refuse();
  OutputDescription description;
  description.direct_io = static_cast<base::DirectIo>(bytes[0]);
  description.checksums = bytes[1] == std::byte{1};
  bytes = bytes.subspan(2);
  description.display_path = take_text(bytes);
  description.names.working_path = take_text(bytes);
  description.names.final_path = take_text(bytes);
  description.layout = store::FileLayout::decode(bytes);
  return description;
}

}  // namespace glean::drain
