// SPDX-License-Identifier: BSD-3-Clause
#include "store/container/chunk_trailer.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/encoding.hpp"
#include "store/container/container_index.hpp"

namespace glean::store {
namespace {

constexpr std::string_view trailer_magic = "GLEANCHK";
constexpr std::size_t trailer_bytes_summed = chunk_trailer_bytes - 8;

}  // namespace

EncodedTrailer encode_chunk_trailer(const ChunkTrailer& trailer) {
  base::Encoder out;
  out.raw(std::as_bytes(std::span(trailer_magic)));
  out.number(trailer.id);
  out.number(trailer.rank);
  out.number(trailer.chunk);
  out.number(trailer.used);
  out.number(trailer.sum);
  out.number(trailer.is_last ? 1 : 0);
  std::vector<std::byte> bytes = out.take();
  base::Encoder sum;
  sum.number(sum_of(bytes));
  const std::vector<std::byte> behind = sum.take();
  bytes.insert(bytes.end(), behind.begin(), behind.end());
  EncodedTrailer encoded{};
  std::copy(bytes.begin(), bytes.end(), encoded.begin());
  return encoded;
}

std::optional<ChunkTrailer> parse_chunk_trailer(std::span<const std::byte> bytes) {
  if (bytes.size() != chunk_trailer_bytes) return std::nullopt;
  if (std::memcmp(bytes.data(), trailer_magic.data(), trailer_magic.size()) != 0) return std::nullopt;
  base::Decoder in(bytes.subspan(trailer_magic.size()), "the trailer of a chunk");
  ChunkTrailer trailer;
  trailer.id = in.number();
  trailer.rank = in.number();
  trailer.chunk = in.number();
  trailer.used = in.number();
  trailer.sum = in.number();
  const std::uint64_t flags = in.number();
  trailer.is_last = flags == 1;
  if (flags > 1 || in.number() != sum_of(bytes.first(trailer_bytes_summed))) return std::nullopt;
  return trailer;
}

}  // namespace glean::store
