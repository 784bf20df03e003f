// SPDX-License-Identifier: BSD-3-Clause
//
// Headers of NetCDF files for tests: the slow, obvious encoder.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "mesh/definitions.hpp"
#include "store/format/cdf/cdf.hpp"

namespace glean::store {

// With each variable behind the one before it, and then the records.
class TestCdfHeader {
 public:
  TestCdfHeader(CdfVersion version, const mesh::Definitions& definitions, std::uint64_t records)
      : version_(version), definitions_(definitions) {
    begins_.assign(definitions.variables.size(), 0);
    bytes_ = encoded(records);
    place(bytes_.size());
    bytes_ = encoded(records);
  }

  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
  [[nodiscard]] Bytes begin(std::size_t variable) const { return begins_[variable]; }
  [[nodiscard]] Bytes stride() const { return stride_; }
  [[nodiscard]] Bytes end(std::uint64_t records) const { return fixed_end_ + records * stride_; }

 private:
  void put(std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) out_.push_back(static_cast<std::byte>(value >> (8 * (size - 1 - i))));
  }
  void count(std::uint64_t value) { put(value, version_ == CdfVersion::cdf5 ? 8 : 4); }
  void pad() {
    while (out_.size() % 4 != 0) out_.push_back(std::byte{0});
  }
  void text(const std::string& value) {
    count(value.size());
    for (const char c : value) out_.push_back(static_cast<std::byte>(c));
    pad();
  }
  static std::uint32_t number_of(mesh::Type type) {
    constexpr std::uint32_t numbers[mesh::type_count] = {1, 7, 3, 8, 4, 9, 10, 11, 5, 6, 2};
    return numbers[static_cast<int>(type)];
  }
  void list(std::uint32_t tag, std::size_t size) {
    put(size == 0 ? 0 : tag, 4);
    count(size);
  }
  void attributes(int variable) {
    const auto is_its = [&](const mesh::Attribute& attribute) { return attribute.variable == variable; };
    list(12, static_cast<std::size_t>(std::count_if(definitions_.attributes.begin(), definitions_.attributes.end(), is_its)));
    for (const mesh::Attribute& attribute : definitions_.attributes) {
      if (!is_its(attribute)) continue;
      text(attribute.name);
      put(number_of(attribute.type), 4);
      count(attribute.count());
      const std::size_t size = mesh::size_of(attribute.type);
      for (std::size_t at = 0; at < attribute.values.size(); at += size) {
        for (std::size_t i = 0; i < size; ++i) out_.push_back(attribute.values[at + size - 1 - i]);   // native is little-endian in tests
      }
      pad();
    }
  }
  std::vector<std::byte> encoded(std::uint64_t records) {
    out_ = {std::byte{'C'}, std::byte{'D'}, std::byte{'F'}};
    put(version_ == CdfVersion::cdf5 ? 5 : version_ == CdfVersion::cdf2 ? 2 : 1, 1);
    count(records);
    list(10, definitions_.dimensions.size());
    for (const auto& dimension : definitions_.dimensions) {
      text(dimension.name);
      count(dimension.unlimited ? 0 : dimension.length);
    }
    attributes(-1);
    list(11, definitions_.variables.size());
    for (std::size_t v = 0; v < definitions_.variables.size(); ++v) {
      const auto& variable = definitions_.variables[v];
      text(variable.name);
      count(variable.dimensions.size());
      for (const int dimension : variable.dimensions) count(static_cast<std::uint64_t>(dimension));
      attributes(static_cast<int>(v));
      put(number_of(variable.external), 4);
      count(0);   // a size that readers compute themselves
      put(begins_[v], version_ == CdfVersion::cdf1 ? 4 : 8);
    }
    return std::move(out_);
  }
  [[nodiscard]] Bytes bytes_of(std::size_t v) const {
    return mesh::elements_of(definitions_.shape(static_cast<int>(v))) * mesh::size_of(definitions_.variables[v].external);
  }
  void place(Bytes at) {
    std::size_t with_records = 0, only = 0;
    for (std::size_t v = 0; v < begins_.size(); ++v) {
      if (definitions_.per_step(static_cast<int>(v))) continue;
      begins_[v] = at;
      at = base::align_up(at + bytes_of(v), 4);
    }
    fixed_end_ = at;
    for (std::size_t v = 0; v < begins_.size(); ++v) {
      if (!definitions_.per_step(static_cast<int>(v))) continue;
      begins_[v] = at;
      at += base::align_up(bytes_of(v), 4);
      ++with_records;
      only = bytes_of(v);
    }
    stride_ = with_records == 1 ? only : at - fixed_end_;
  }

  CdfVersion version_;
  mesh::Definitions definitions_;
  std::vector<Bytes> begins_;
  Bytes fixed_end_ = 0, stride_ = 0;
  std::vector<std::byte> out_, bytes_;
};

}  // namespace glean::store
