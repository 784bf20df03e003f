// SPDX-License-Identifier: BSD-3-Clause
#include "view/exhibit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/error.hpp"
#include "view/test_dataset.hpp"

namespace glean::view {
namespace {

std::vector<float> floats_of(const Answer& answer) {
  std::vector<float> values(answer.values.size() / sizeof(float));
  std::memcpy(values.data(), answer.values.data(), answer.values.size());
  return values;
}

TEST(Slice, IsOfThePlaceAndAxisThatWereAskedFor) {
  TestDataset dataset;
  dataset.add("rho", {4, 3, 5}, counted(60));
  const Exhibit exhibit(dataset);

  const auto across_z = floats_of(exhibit.slice({{"variable", "rho"}, {"axis", 0}, {"at", {0.6, 0.5, 0.5}}}, 0));
  const auto across_x = floats_of(exhibit.slice({{"variable", "rho"}, {"axis", 2}, {"at", {0.5, 0.5, 0.99}}}, 0));

  ASSERT_EQ(across_z.size(), 15u);
  EXPECT_EQ(across_z[0], 30);
  EXPECT_EQ(across_z[14], 44);
  ASSERT_EQ(across_x.size(), 12u);
  EXPECT_EQ(across_x[0], 4);
  EXPECT_EQ(across_x[1], 9);
}

TEST(Slice, OfALargeArrayHasEveryNthValueAndReadsOnlyItsRows) {
  TestDataset dataset;
  dataset.add("wide", {1000, 100}, counted(100'000));
  const Exhibit exhibit(dataset);

  const Answer answer = exhibit.slice({{"variable", "wide"}, {"width", 40}, {"height", 10}}, 0);

  EXPECT_EQ(answer.about["row_step"], 100);
  EXPECT_EQ(answer.about["column_step"], 3);
  const auto values = floats_of(answer);
  ASSERT_EQ(values.size(), 10u * 34u);
  EXPECT_EQ(values[1], 3);
  EXPECT_EQ(values[34], 10'000);
  EXPECT_EQ(dataset.elements_read, 10u * 100u);
}

TEST(Slice, OfALineThatIsLongerThanIsHeldIsWholeAndInOrder) {
  TestDataset dataset;
  dataset.add("long", {2'500'000}, counted(2'500'000));
  const Exhibit exhibit(dataset);

  const auto values = floats_of(exhibit.slice({{"variable", "long"}, {"width", 1000}}, 0));

  ASSERT_EQ(values.size(), 1000u);
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<float>(2500 * i));
}

TEST(Slice, SaysWhatIsMissing) {
  TestDataset dataset;
  dataset.add("rho", {4, 3}, counted(12));

  EXPECT_THROW(static_cast<void>(Exhibit(dataset).slice({{"variable", "other"}}, 0)), base::Error);
  EXPECT_THROW(static_cast<void>(Exhibit(dataset).slice({{"variable", 7}}, 0)), base::Error);
}

// One block of 2 x 2 cells from 0 to 2, whose lower left quarter is refined.
void add_refined(TestDataset& dataset) {
  dataset.add("lrefine", {2}, {1, 2});
  dataset.add("bndbox", {2, 2, 2}, {0, 2, 0, 2, 0, 1, 0, 1});
  dataset.add("dens", {2, 2, 2}, {1, 2, 3, 4, 10, 20, 30, 40});
}

TEST(Blocks, AreDrawnWithTheFinerOnesOnTop) {
  TestDataset dataset;
  add_refined(dataset);
  const Exhibit exhibit(dataset);

  const Answer answer = exhibit.slice({{"variable", "dens"}}, 0);

  EXPECT_EQ(answer.about["width"], 4);
  EXPECT_EQ(answer.about["height"], 4);
  EXPECT_EQ(floats_of(answer), (std::vector<float>{10, 20, 2, 2, 30, 40, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4}));
  ASSERT_EQ(answer.about["boxes"].size(), 2u);
  EXPECT_EQ(answer.about["boxes"][1], (nlohmann::json{0, 0, 0.5, 0.5, 2}));
}

TEST(Blocks, AreNoArraysToo) {
  TestDataset dataset;
  add_refined(dataset);

  const nlohmann::json fields = Exhibit(dataset).fields();

  ASSERT_EQ(fields.size(), 1u);
  EXPECT_EQ(fields[0]["kind"], "blocks");
}

// Two tetrahedra with a face in common.
void add_tetrahedra(TestDataset& dataset) {
  dataset.add("mesh_x", {5}, {0, 1, 0, 0, 1});
  dataset.add("mesh_y", {5}, {0, 0, 1, 0, 1});
  dataset.add("mesh_z", {5}, {0, 0, 0, 1, 1});
  dataset.add("mesh_types", {2}, {10, 10});
  dataset.add("mesh_offsets", {3}, {0, 4, 8});
  dataset.add("mesh_connectivity", {8}, {0, 1, 2, 3, 1, 2, 3, 4});
  dataset.add("p", {2}, {5, 7});
}

TEST(Surface, LeavesOutFacesThatTwoCellsHave) {
  TestDataset dataset;
  add_tetrahedra(dataset);

  const Answer answer = Exhibit(dataset).surface({{"variable", "p"}}, 0);

  EXPECT_EQ(answer.about["triangles"], 6);
  const std::size_t corners = answer.about["corners"];
  EXPECT_EQ(answer.values.size(), corners * 16 + 6 * 12);
  const auto values = floats_of(answer);
  EXPECT_EQ(std::count(values.begin() + 3 * corners, values.begin() + 4 * corners, 5.0F), 9);
  EXPECT_EQ(std::count(values.begin() + 3 * corners, values.begin() + 4 * corners, 7.0F), 9);
}

TEST(Surface, OfAMeshThatCannotBeIsAnError) {
  TestDataset dataset;
  for (const char* axis : {"mesh_x", "mesh_y", "mesh_z"}) dataset.add(axis, {2}, {0, 1});
  dataset.add("mesh_types", {1}, {10});
  dataset.add("mesh_offsets", {2}, {0, 4});
  dataset.add("mesh_connectivity", {4}, {0, 1, 2, 3});
  dataset.add("p", {1}, {5});

  EXPECT_THROW(static_cast<void>(Exhibit(dataset).surface({{"variable", "p"}}, 0)), base::Error);
}

TEST(Summary, LeavesOutWhatIsNoNumber) {
  TestDataset dataset;
  dataset.add("a", {4}, {1, std::nan(""), 3, 8});

  const nlohmann::json found = Exhibit(dataset).summary("a", 0);

  EXPECT_EQ(found["minimum"], 1);
  EXPECT_EQ(found["maximum"], 8);
  EXPECT_EQ(found["mean"], 4);
  EXPECT_EQ(found["not_finite"], 1);
}

}  // namespace
}  // namespace glean::view
