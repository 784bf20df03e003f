// SPDX-License-Identifier: BSD-3-Clause
#include "store/windows/window.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "store/random_variable.hpp"

namespace glean::store {
namespace {

// A variable cut into pieces of float32 data, and the bytes that they become in the file, one by one.
struct Picture {
  VariableLayout variable;
  std::vector<std::unique_ptr<std::vector<float>>> payloads;
  std::vector<std::unique_ptr<TypedPiece>> pieces;
  std::vector<Extent> fills;
  std::map<Bytes, std::byte> file;
  std::uint64_t too_large = 0;

  explicit Picture(std::mt19937& random) {
    const mesh::Type types[] = {mesh::Type::int8, mesh::Type::int16, mesh::Type::int32, mesh::Type::float64};
    variable = random_variable(random, types[random() % 4]);
    const auto convert = portable_converter(mesh::Type::float32, variable.external);
    const std::uint64_t record = variable.per_step() ? 1 : 0;
    const std::size_t size = mesh::size_of(variable.external);
    std::vector<mesh::Box> boxes;
    cut(random, mesh::whole(variable.shape), 4, boxes);
    for (const mesh::Box& box : boxes) {
      if (random() % 4 == 0) continue;   // no rank puts it
      auto& values = *payloads.emplace_back(std::make_unique<std::vector<float>>());
      const auto where = positions(box, variable.shape);
      for (std::uint64_t i = 0; i < box.elements(); ++i) {
        const bool large = variable.external == mesh::Type::int8 && random() % 50 == 0;
        too_large += large ? 1 : 0;
        values.push_back(large ? 1000.0f : static_cast<float>(random() % 100));
        std::array<std::byte, 8> element{};
        convert(reinterpret_cast<const std::byte*>(&values.back()), element.data(), 1, variable.fill_value.data());
        for (std::size_t b = 0; b < size; ++b) file[variable.record_begin_bytes(record) + where[i] * size + b] = element[b];
      }
      const Piece piece(variable, record, box, 0, box.elements());
      pieces.push_back(std::make_unique<TypedPiece>(
          TypedPiece{piece, &variable, convert, reinterpret_cast<const std::byte*>(values.data()), 4}));
    }
    if (random() % 2 == 0) add_fills(record);
  }

  void add_fills(std::uint64_t record) {
    const std::size_t size = mesh::size_of(variable.external);
    const Bytes begin = variable.record_begin_bytes(record);
    for (Bytes at = begin; at < begin + variable.record_bytes(); at += size) {
      if (file.contains(at)) continue;
      if (!fills.empty() && fills.back().end == at) fills.back().end += size;
      else fills.push_back({at, at + size});
    }
    for (const Extent& fill : fills) {
      for (Bytes at = fill.begin; at < fill.end; ++at) file[at] = variable.fill_value[(at - fill.begin) % size];
    }
  }

  // What the output would gather.
  [[nodiscard]] Window window(Extent extent) {
    Window window;
    window.extent = extent;
    for (const auto& piece : pieces) {
      const Bytes bytes = piece->piece.bytes_before(extent.end) - piece->piece.bytes_before(extent.begin);
      if (bytes != 0) window.parts.push_back({piece.get(), bytes});
    }
    for (const Extent& fill : fills) {
      if (fill.begin < extent.end && fill.end > extent.begin) window.fills.push_back({&variable, fill, 0});
    }
    return window;
  }
};

TEST(Assemble, PutsEveryByteWhereItBelongsAndSaysWhichOnesItHasPut) {
  std::mt19937 random(5);
  for (int round = 0; round < 1000; ++round) {
    Picture picture(random);
    if (picture.file.empty()) continue;
    const Bytes size = 1 + random() % 64;   // cuts elements
    std::uint64_t range_errors = 0;
    std::map<Bytes, std::byte> assembled_file;

    for (Bytes begin = 0; begin <= picture.file.rbegin()->first; begin += size) {
      Window window = picture.window({begin, begin + size});
      if (window.parts.empty() && window.fills.empty()) continue;
      std::shuffle(window.parts.begin(), window.parts.end(), random);
      std::vector<std::byte> buffer(size + 2, std::byte{0xa5});

      const Assembled assembled = assemble(window, buffer.data() + 1);

      ASSERT_EQ(buffer.front(), std::byte{0xa5}) << "round " << round;
      ASSERT_EQ(buffer.back(), std::byte{0xa5}) << "round " << round;
      range_errors += assembled.range_errors;
      for (std::size_t r = 0; r < assembled.runs.size(); ++r) {
        const Extent run = assembled.runs[r];
        ASSERT_LT(run.begin, run.end);
        ASSERT_TRUE(r == 0 || run.begin > assembled.runs[r - 1].end) << "neighbours are one run";
        for (Bytes at = run.begin; at < run.end; ++at) assembled_file[at] = buffer[1 + at - begin];
      }
    }

    ASSERT_EQ(assembled_file, picture.file) << "round " << round;
    ASSERT_EQ(range_errors, picture.too_large) << "round " << round;
  }
}

TEST(Assemble, LeavesWholeBlocksWhereTheyLieOnlyIfNothingElseIsPutThere) {
  VariableLayout bytes;
  bytes.external = mesh::Type::uint8;
  std::mt19937 random(7);
  Bytes stayed = 0, met = 0;
  for (int round = 0; round < 300; ++round) {
    const Extent extent{random() % 64, 900};
    std::vector<std::byte> expected(1000), put(1000);
    std::vector<std::vector<std::byte>> payloads;
    std::vector<TypedPiece> pieces;
    payloads.reserve(6), pieces.reserve(6);
    Window window{.extent = extent, .parts = {}, .fills = {}, .bytes = 0, .may_overlap = true};
    for (Bytes begin = 0; begin < 1000 && pieces.size() < 6; begin = std::min<Bytes>(1000, begin + random() % 400)) {
      const Bytes size = 1 + random() % (1000 - begin);
      auto& payload = payloads.emplace_back(size);
      for (Bytes i = 0; i < size; ++i) {
        payload[i] = static_cast<std::byte>(random());
        if (put[begin + i] != std::byte{0}) ++met;
        expected[begin + i] = payload[i];
        put[begin + i] = std::byte{1};
      }
      const mesh::PatternPart part({.offset = begin, .block_bytes = size, .levels = {}}, 0, size);
      pieces.push_back({Piece(part), &bytes, portable_converter(mesh::Type::uint8, mesh::Type::uint8), payload.data(), 1, true});
      const Bytes inside = pieces.back().piece.bytes_before(extent.end) - pieces.back().piece.bytes_before(extent.begin);
      if (inside != 0) window.parts.push_back({&pieces.back(), inside});
      if (random() % 2 == 0) begin += size;
    }
    const MayStay may_stay{.least_bytes = 32, .block_bytes = random() % 2 == 0 ? 16U : 1U};
    std::vector<std::byte> found(1000);

    Assembled assembled = assemble(window, found.data() + extent.begin, nullptr, may_stay);
    for (const InPlace& in_place : assembled.in_place) {
      EXPECT_EQ(in_place.extent.begin % may_stay.block_bytes, 0u);
      EXPECT_EQ(in_place.extent.end % may_stay.block_bytes, 0u);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(in_place.data) % may_stay.block_bytes, 0u);
      std::memcpy(found.data() + in_place.extent.begin, in_place.data, in_place.extent.size());
      stayed += in_place.extent.size();
    }

    std::vector<std::byte> runs(1000);
    for (const Extent& run : assembled.runs) std::fill_n(runs.begin() + static_cast<std::ptrdiff_t>(run.begin), run.size(), std::byte{1});
    for (Bytes at = extent.begin; at < extent.end; ++at) {
      ASSERT_EQ(found[at], expected[at]) << "round " << round << " at " << at;
      ASSERT_EQ(runs[at], put[at]) << "round " << round << " at " << at;
    }
  }
  EXPECT_GT(stayed, 10'000u);
  EXPECT_GT(met, 10'000u);
}

TEST(Assemble, CountsAnElementThatTwoWindowsShareOnceWhenItIsOutOfRange) {
  VariableLayout variable;
  variable.external = mesh::Type::int32;
  variable.shape = {1};
  variable.begin_bytes = 6;
  const double value = 1e300;
  const Piece piece(variable, 0, {{0}, {1}}, 0, 1);
  TypedPiece typed{piece, &variable, portable_converter(mesh::Type::float64, mesh::Type::int32),
                   reinterpret_cast<const std::byte*>(&value), 8};
  std::array<std::byte, 8> buffer{};

  const auto first = assemble({{0, 8}, {{&typed, 2}}, {}, 2}, buffer.data());
  const auto second = assemble({{8, 16}, {{&typed, 2}}, {}, 2}, buffer.data());

  EXPECT_EQ(first.range_errors, 1u);
  EXPECT_EQ(second.range_errors, 0u);
}

}  // namespace
}  // namespace glean::store
