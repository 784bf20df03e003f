// SPDX-License-Identifier: BSD-3-Clause
//
// A chunk is a zfp stream without a header: that is in the values of the filter, behind the versions of the libraries.
#include "reduce/zfp_chunk.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.hpp"
#if GLEAN_HAVE_ZFP
#include <zfp.h>

#include <memory>
#endif

namespace glean::reduce {

std::string ZfpChunk::why_not(mesh::Type type, std::span<const std::uint64_t> shape) {
  if (type != mesh::Type::float32 && type != mesh::Type::float64) return "it is not in floating point";
  const auto longer = std::count_if(shape.begin(), shape.end(), [](std::uint64_t length) { return length > 1; });
  if (longer == 0) return "it has one value";
  return longer > 4 ? "it has more than four dimensions" : "";
}

#if GLEAN_HAVE_ZFP

namespace {

constexpr unsigned version_of_filter = 0x111;   // 1.1.1 of H5Z-ZFP

struct Close {
  void operator()(zfp_field* field) const { zfp_field_free(field); }
  void operator()(zfp_stream* stream) const { zfp_stream_close(stream); }
  void operator()(bitstream* bits) const { stream_close(bits); }
};

std::unique_ptr<zfp_field, Close> field_of(void* values, mesh::Type type, const std::vector<std::size_t>& lengths) {
  const zfp_type kind = type == mesh::Type::float32 ? zfp_type_float : zfp_type_double;
  std::unique_ptr<zfp_field, Close> field(zfp_field_alloc());
  zfp_field_set_type(field.get(), kind);
  zfp_field_set_pointer(field.get(), values);
  switch (lengths.size()) {
    case 1: zfp_field_set_size_1d(field.get(), lengths[0]); break;
    case 2: zfp_field_set_size_2d(field.get(), lengths[0], lengths[1]); break;
    case 3: zfp_field_set_size_3d(field.get(), lengths[0], lengths[1], lengths[2]); break;
    default: zfp_field_set_size_4d(field.get(), lengths[0], lengths[1], lengths[2], lengths[3]); break;
  }
  return field;
}

template <class Real>
std::optional<std::vector<std::byte>> compressed(std::span<const double> values, mesh::Type type, const std::vector<std::size_t>& lengths,
                                                 double tolerance, double& error_most) {
  std::vector<Real> native(values.size()), again(values.size());
  std::transform(values.begin(), values.end(), native.begin(), [](double value) { return static_cast<Real>(value); });
  if (std::any_of(native.begin(), native.end(), [](Real value) { return !std::isfinite(value); })) return std::nullopt;
  const std::unique_ptr<zfp_stream, Close> stream(zfp_stream_open(nullptr));
  zfp_stream_set_accuracy(stream.get(), tolerance);
  const auto field = field_of(native.data(), type, lengths);
  std::vector<std::byte> bytes(zfp_stream_maximum_size(stream.get(), field.get()));
  const std::unique_ptr<bitstream, Close> bits(stream_open(bytes.data(), bytes.size()));
  zfp_stream_set_bit_stream(stream.get(), bits.get());
  const std::size_t size = zfp_compress(stream.get(), field.get());
  if (size == 0 || size >= values.size() * sizeof(Real)) return std::nullopt;
  zfp_stream_rewind(stream.get());
  const auto back = field_of(again.data(), type, lengths);
  if (zfp_decompress(stream.get(), back.get()) == 0) return std::nullopt;
  double error = 0;
  for (std::size_t i = 0; i < values.size(); ++i) error = std::max(error, std::abs(static_cast<double>(again[i]) - values[i]));
  if (!(error <= tolerance)) return std::nullopt;
  error_most = std::max(error_most, error);
  bytes.resize(size);
  return bytes;
}

}   // namespace

ZfpChunk::ZfpChunk(mesh::Type type, std::span<const std::uint64_t> shape, double tolerance) : type_(type), tolerance_(tolerance) {
  std::copy_if(shape.rbegin(), shape.rend(), std::back_inserter(lengths_), [](std::uint64_t length) { return length > 1; });
  std::array<unsigned, 16> header{};
  const std::unique_ptr<bitstream, Close> bits(stream_open(header.data(), sizeof header));
  const std::unique_ptr<zfp_stream, Close> stream(zfp_stream_open(bits.get()));
  zfp_stream_set_accuracy(stream.get(), tolerance);
  const auto field = field_of(nullptr, type, lengths_);
  const std::size_t header_bits = zfp_write_header(stream.get(), field.get(), ZFP_HEADER_FULL);
  if (header_bits == 0) throw base::Error(base::Errc::invalid_argument, "zfp cannot describe a chunk");
  zfp_stream_flush(stream.get());
  constexpr unsigned version = (ZFP_VERSION_MAJOR << 12) | (ZFP_VERSION_MINOR << 8) | (ZFP_VERSION_PATCH << 4);
  filter_values_.push_back((version << 16) | (ZFP_CODEC << 12) | version_of_filter);
  filter_values_.insert(filter_values_.end(), header.begin(), header.begin() + static_cast<std::ptrdiff_t>((header_bits + 31) / 32));
}

std::optional<std::vector<std::byte>> ZfpChunk::compress(std::span<const double> values, double& error_most) const {
  if (type_ == mesh::Type::float32) return compressed<float>(values, type_, lengths_, tolerance_, error_most);
  return compressed<double>(values, type_, lengths_, tolerance_, error_most);
}

#else

ZfpChunk::ZfpChunk(mesh::Type type, std::span<const std::uint64_t>, double tolerance) : type_(type), tolerance_(tolerance) {
  throw base::Error(base::Errc::unsupported, "this glean cannot compress within a tolerance: it was built without zfp",
                    "build it where zfp is (Debian: libzfp-dev), or use bits or digits, and deflate");
}

std::optional<std::vector<std::byte>> ZfpChunk::compress(std::span<const double>, double&) const { return std::nullopt; }

#endif

}   // namespace glean::reduce
