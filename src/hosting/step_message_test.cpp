// SPDX-License-Identifier: BSD-3-Clause
#include "hosting/step_message.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.hpp"

namespace glean::hosting {
namespace {

// The elements of the boxes, one after the other, are those of the run.
void expect_run(const mesh::Box& box, std::uint64_t first, std::uint64_t count) {
  const mesh::Shape shape(box.count.size(), 100);
  const auto positions = [&](const mesh::Box& of) {
    std::vector<std::uint64_t> all;
    const mesh::Rows rows(of, shape);
    for (std::uint64_t row = 0; row < rows.row_count(); ++row) {
      for (std::uint64_t i = 0; i < rows.row_elements(); ++i) all.push_back(rows.position(row) + i);
    }
    return all;
  };
  const auto whole = positions(box);
  const std::vector<std::uint64_t> expected(whole.begin() + static_cast<std::ptrdiff_t>(first),
                                            whole.begin() + static_cast<std::ptrdiff_t>(first + count));
  std::vector<std::uint64_t> found;
  const auto boxes = boxes_of_run(box, first, count);
  for (const mesh::Box& each : boxes) {
    const auto part = positions(each);
    found.insert(found.end(), part.begin(), part.end());
  }
  EXPECT_EQ(found, expected) << first << " " << count;
  EXPECT_LE(boxes.size(), 2 * box.count.size() + 1);
}

TEST(BoxesOfRun, AreItsElementsInTheirOrder) {
  const mesh::Box box{{1, 2, 3}, {2, 3, 4}};
  for (std::uint64_t first = 0; first < box.elements(); ++first) {
    for (std::uint64_t count = 1; first + count <= box.elements(); ++count) expect_run(box, first, count);
  }
  EXPECT_EQ(boxes_of_run({{7}, {5}}, 1, 3), (std::vector<mesh::Box>{{{8}, {3}}}));
  EXPECT_EQ(boxes_of_run({{}, {}}, 0, 1), (std::vector<mesh::Box>{{{}, {}}}));
}

TEST(SeenStep, GoesToAnotherProcess) {
  SeenStep step{.output = "plt \"1\".nc", .file = "/tmp/a", .step = 7};
  mesh::Attribute title;
  title.name = "title";
  title.values = {std::byte{'S'}, std::byte{'1'}};
  step.attributes = {title};
  SeenVariable dens{.name = "dens", .type = mesh::Type::float32, .per_step = true, .shape = {3, 4}, .attributes = {title}};
  dens.pieces.push_back({{{1, 0}, {2, 4}}, 5, 1ull << 40, mesh::Type::float64, true});
  step.variables = {dens};

  const SeenStep seen = SeenStep::decode(step.encode());

  EXPECT_EQ(seen.output, step.output);
  EXPECT_EQ(seen.step, 7U);
  EXPECT_EQ(seen.attributes, step.attributes);
  ASSERT_EQ(seen.variables.size(), 1U);
  EXPECT_EQ(seen.variables[0].shape, dens.shape);
  ASSERT_EQ(seen.variables[0].pieces.size(), 1U);
  EXPECT_EQ(seen.variables[0].pieces[0].box, dens.pieces[0].box);
  EXPECT_EQ(seen.variables[0].pieces[0].pool_offset, 1ull << 40);
  EXPECT_TRUE(seen.variables[0].pieces[0].is_big_endian);
}

TEST(Answer, HasNumbersOfAnyValue) {
  const double infinite = std::numeric_limits<double>::infinity();
  const Answer answer{{{"a", std::nan(""), "sum"}, {"b", -infinite}, {"c", 0.1, "max"}}, {"told"}, "why"};

  const Answer seen = Answer::decode(answer.encode());

  ASSERT_EQ(seen.values.size(), 3U);
  EXPECT_TRUE(std::isnan(seen.values[0].value));
  EXPECT_EQ(seen.values[1].value, -infinite);
  EXPECT_EQ(seen.values[2].value, 0.1);
  EXPECT_EQ(seen.values[2].join, "max");
  EXPECT_EQ(seen.messages, answer.messages);
  EXPECT_EQ(seen.error, "why");
}

TEST(Answer, IsNotTrusted) {
  for (const char* text : {"", "[]", "{\"values\":[[1,2,3]]}", "{\"values\":[[\"a\",\"x\",\"\"]]}", "{\"values\":[[\"\",\"1\",\"\"]]}",
                           "{\"messages\":[3]}", "{\"error\":{}}"}) {
    EXPECT_THROW(static_cast<void>(Answer::decode(text)), base::Error) << text;
  }
}

}  // namespace
}  // namespace glean::hosting
