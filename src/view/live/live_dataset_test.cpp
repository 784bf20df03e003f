// SPDX-License-Identifier: BSD-3-Clause
#include "view/live/live_dataset.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>

namespace glean::view {
namespace {

// rho[4, 6] of float32.
std::shared_ptr<const mesh::Definitions> definitions() {
  mesh::Definitions defined;
  defined.dimensions = {{"y", 4, false}, {"x", 6, false}};
  defined.variables.resize(1);
  defined.variables[0].name = "rho";
  defined.variables[0].external = mesh::Type::float32;
  defined.variables[0].dimensions = {0, 1};
  return std::make_shared<const mesh::Definitions>(defined);
}

// Elements [first, first + values.size()) of a put of that box.
drain::StepPiece piece(const mesh::Box& box, std::uint64_t first, std::span<const double> values) {
  drain::StepPiece piece;
  piece.variable = 0;
  piece.put.box = box;
  piece.type = mesh::Type::float64;
  piece.first_byte = first * sizeof(double);
  piece.bytes = std::as_bytes(values);
  return piece;
}

std::vector<double> read(const LiveDataset& dataset, const mesh::Box& box) {
  std::vector<double> values(box.elements());
  dataset.read(0, 0, box, values.data());
  return values;
}

TEST(LiveDataset, JoinsPiecesOfSeveralRanksAndPutsThatAreSeveralPieces) {
  const std::vector<double> upper = {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15};
  const std::vector<double> left = {20, 21, 22, 30}, rest = {31, 32}, right = {23, 24, 25, 33, 34, 35};
  drain::CompleteStep step;
  step.definitions = definitions();
  step.pieces = {piece({{0, 0}, {2, 6}}, 0, upper), piece({{2, 0}, {2, 3}}, 0, left), piece({{2, 0}, {2, 3}}, 4, rest),
                 piece({{2, 3}, {2, 3}}, 0, right)};
  const LiveDataset dataset(std::move(step), nullptr);

  EXPECT_EQ(read(dataset, {{1, 1}, {3, 4}}), (std::vector<double>{11, 12, 13, 14, 21, 22, 23, 24, 31, 32, 33, 34}));
  EXPECT_EQ(read(dataset, {{3, 0}, {1, 6}}), (std::vector<double>{30, 31, 32, 33, 34, 35}));
}

TEST(LiveDataset, HasNoNumberWhereNoRankOfTheNodeHasPutOne) {
  const std::vector<double> values = {1, 2};
  drain::CompleteStep step;
  step.definitions = definitions();
  step.pieces = {piece({{0, 2}, {1, 2}}, 0, values)};
  const LiveDataset dataset(std::move(step), nullptr);

  const auto row = read(dataset, {{0, 1}, {1, 4}});

  EXPECT_TRUE(std::isnan(row[0]));
  EXPECT_EQ(row[1], 1);
  EXPECT_EQ(row[2], 2);
  EXPECT_TRUE(std::isnan(row[3]));
}

TEST(LiveDataset, ReadsElementsAsTheFileHasThem) {
  std::vector<double> values = {1.5, -2};
  for (double& value : values) {
    auto bytes = std::as_writable_bytes(std::span(&value, 1));
    std::reverse(bytes.begin(), bytes.end());
  }
  drain::CompleteStep step;
  step.definitions = definitions();
  step.pieces = {piece({{0, 0}, {1, 2}}, 0, values)};
  step.pieces[0].is_big_endian = true;
  const LiveDataset dataset(std::move(step), nullptr);

  EXPECT_EQ(read(dataset, {{0, 0}, {1, 2}}), (std::vector<double>{1.5, -2}));
}

TEST(LiveDataset, HasWhatWasPutOnceFromStepsBefore) {
  drain::CompleteStep step;
  step.definitions = definitions();
  std::vector<double> all(24, 7);
  all[8] = 9;
  const LiveDataset dataset(std::move(step), std::make_shared<const FixedValues>(FixedValues{{0, all}}));

  EXPECT_EQ(read(dataset, {{1, 1}, {2, 2}}), (std::vector<double>{7, 9, 7, 7}));
}

}  // namespace
}  // namespace glean::view
