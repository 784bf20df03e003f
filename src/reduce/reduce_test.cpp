// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "reduce/plan.hpp"
#include "reduce/rounding.hpp"

namespace glean::reduce {
namespace {

using Texts = std::vector<std::string>;

// dens(time, y, x) and temp(y, x), with coordinates.
mesh::Definitions grid() {
  mesh::Definitions definitions;
  definitions.dimensions = {{"time", 0, true}, {"y", 4, false}, {"x", 6, false}};
  definitions.variables = {{"x", mesh::Type::float64, {2}},
                           {"y", mesh::Type::float64, {1}},
                           {"dens", mesh::Type::float32, {0, 1, 2}},
                           {"temp", mesh::Type::float64, {1, 2}},
                           {"name", mesh::Type::text, {2}}};
  return definitions;
}

Plan plan(const Texts& operators, const Texts& variables = {}, bool can_compress = true) {
  const mesh::Definitions definitions = grid();
  const Subject subject{definitions, 3, {}, {}, [](int variable) {
                          return variable == 0 ? std::vector<double>{0.5, 1.5, 2.5, 3.5, 4.5, 5.5} : std::vector<double>{9, 7, 5, 3};
                        }};
  return make_plan(subject, {variables, operators, can_compress});
}

std::string refusal(const Texts& operators, const Texts& variables = {}, bool can_compress = true) {
  try {
    static_cast<void>(plan(operators, variables, can_compress));
  } catch (const base::Error& error) {
    return error.what();
  }
  return "nothing is wrong";
}

TEST(Selection, OfSeveralOperatorsIsOnePick) {
  const Plan made = plan({"region x=1:6", "subsample x=2", "region x=1:", "slice y=-1", "region time=1:"});

  EXPECT_EQ(made.picks[2], (Pick{3, 2, 2, false}));
  EXPECT_EQ(made.picks[1], (Pick{3, 1, 1, true}));
  EXPECT_EQ(made.picks[0], (Pick{1, 1, 2, false}));
  EXPECT_EQ(made.records, 2U);
}

TEST(Selection, ByCoordinatesTakesThoseThatLieInARangeOrIsTheNearest) {
  EXPECT_EQ(plan({"region x@1.5:3.6"}).picks[2], (Pick{1, 1, 3, false}));
  EXPECT_EQ(plan({"region y@:7"}).picks[1], (Pick{1, 1, 3, false}));   // they descend
  EXPECT_EQ(plan({"slice y@5.9"}).picks[1], (Pick{2, 1, 1, true}));
  EXPECT_EQ(plan({"slice x@0.1"}).picks[2], (Pick{0, 1, 1, true}));   // in the outermost cell
}

TEST(Selection, AStrideWithoutANameIsOfCellsAndNotOfSteps) {
  const Plan made = plan({"subsample 4"});

  EXPECT_EQ(made.picks[0].count, 3U);
  EXPECT_EQ(made.picks[1], (Pick{0, 1, 1, false}));
  EXPECT_EQ(made.picks[2], (Pick{0, 4, 2, false}));
}

TEST(ReductionPlan, ChoosesVariablesAndTheCoordinatesOfTheirDimensions) {
  const auto names = [](const Plan& made) {
    Texts found;
    for (const Field& field : made.fields) found.push_back(field.name);
    return found;
  };
  EXPECT_EQ(names(plan({}, {"temp"})), (Texts{"x", "y", "temp"}));
  EXPECT_EQ(names(plan({}, {"name"})), (Texts{"x", "name"}));
  EXPECT_EQ(names(plan({})), (Texts{"x", "y", "dens", "temp", "name"}));
}

TEST(ReductionPlan, DefinesWithoutADimensionThatIsSliced) {
  const mesh::Definitions source = grid();
  const Plan made = plan({"slice time=1", "slice y=0", "precision float32"}, {"dens", "temp"});

  const Result result = define(made, source, std::vector<std::uint64_t>(made.fields.size(), 1), std::vector<Loss>(made.fields.size()));

  ASSERT_EQ(result.definitions.dimensions.size(), 1U);
  EXPECT_EQ(result.definitions.dimensions[0].name, "x");
  ASSERT_EQ(result.definitions.variables.size(), 4U);
  EXPECT_EQ(result.definitions.variables[1].dimensions, std::vector<int>{});   // where the slice is
  EXPECT_EQ(result.definitions.variables[3].external, mesh::Type::float32);
}

TEST(ReductionPlan, SaysAllThatIsWrongAtOnce) {
  const std::string said = refusal({"region z=1:2", "slice x@99", "subsample yy=2", "threshold den=1:2 name=0:1", "digits 3 name"},
                                   {"tmp"});

  for (const char* part :
       {"no dimension 'z'", "99 is outside of the coordinates 'x'", "no dimension 'yy' (nearest: 'y')", "nearest: 'dens'",
        "'name' is of text", "'name' is not in floating point", "no variable 'tmp' (nearest: 'temp')"}) {
    EXPECT_NE(said.find(part), std::string::npos) << part << ": " << said;
  }
  EXPECT_NE(refusal({"tolerance 1e-3", "deflate 4"}, {}, false).find("only HDF5"), std::string::npos);
  EXPECT_NE(refusal({"slice x=1", "region x=0:1"}).find("no dimension any more"), std::string::npos);
}

TEST(Rounding, TakesTheNearestAndTheEvenOne) {
  EXPECT_EQ(round_to_bits(1.0 + 1.0 / 4, 1, mesh::Type::float64), 1.0);
  EXPECT_EQ(round_to_bits(1.5 + 1.0 / 4, 1, mesh::Type::float64), 2.0);
  EXPECT_EQ(round_to_bits(-1.3, 1, mesh::Type::float32), -1.5);
  EXPECT_EQ(round_to_bits(1.3, 52, mesh::Type::float64), 1.3);
  EXPECT_TRUE(std::isnan(round_to_bits(NAN, 3, mesh::Type::float64)));
  const double most = std::numeric_limits<double>::max();
  EXPECT_EQ(round_to_bits(most, 3, mesh::Type::float64), most);
  for (int digits = 1; digits <= 15; ++digits) {
    const double value = 3.14159265358979, error = std::abs(round_to_bits(value, bits_of_digits(digits), mesh::Type::float64) / value - 1);
    EXPECT_LE(error, 0.5 * std::pow(10, -digits)) << digits;
  }
}

TEST(Repeated, ValuesGoAlongTheDimensionsThatTheyHaveNot) {
  EXPECT_EQ(repeated({1, 2, 3}, {7}, {5, 7}, {{0, 0}, {2, 3}}), (std::vector<double>{1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(repeated({1, 2}, {5}, {5, 7}, {{0, 0}, {2, 3}}), (std::vector<double>{1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(repeated({4}, {}, {5}, {{1}, {3}}), (std::vector<double>{4, 4, 4}));
}

#if GLEAN_HAVE_MUPARSER

TEST(Formula, IsComputedForEachValueAsTheProcessorDoesIt) {
  const Formula formula("sqrt(a^2 + b^2) / (a - b)");
  const std::vector<double> a = {3, 1}, b = {4, 1};
  std::vector<double> values(2);

  formula.evaluate({a, b}, values);

  EXPECT_EQ(formula.names(), (Texts{"a", "b"}));
  EXPECT_EQ(values[0], -5);
  EXPECT_TRUE(std::isinf(values[1]));
}

TEST(Formula, SaysWhereItIsNone) {
  EXPECT_NE(refusal({"expression a = sqrt(dens"}).find("'sqrt(dens', character"), std::string::npos)
      << refusal({"expression a = sqrt(dens"});
  const std::string said = refusal({"expression a = dens + tmp * name + den"});
  for (const char* part :
       {"character 8: there is no variable 'tmp'", "character 14: 'name' is of text", "character 21: there is no variable 'den'"}) {
    EXPECT_NE(said.find(part), std::string::npos) << part << ": " << said;
  }
  EXPECT_NE(refusal({"expression a = 1 + 2"}).find("no variable in it"), std::string::npos);
  EXPECT_EQ(defects_of({{}, {"expression a = sqrt(dens)", "expression b = )", "slice z"}, false}).size(), 2U);
}

TEST(Field, IsComputedOfWhatEarlierOperatorsHaveLeft) {
  const Plan made = plan({"threshold temp=2:", "expression more = temp + x"}, {"temp"});
  const Evaluation evaluation([](int variable, const mesh::Box& box, std::span<double> into) {
    for (std::size_t i = 0; i < into.size(); ++i)
      into[i] = variable == 0 ? static_cast<double>(box.start[0] + i) * 10 : static_cast<double>(i);
  });
  Loss loss;

  const std::vector<double> values = evaluation.values(made.fields.back(), {{1, 2}, {1, 4}}, loss);

  const double fill = made.fields.back().fill;
  EXPECT_EQ(made.fields.back().name, "more");
  EXPECT_EQ(values, (std::vector<double>{fill, fill, 42, 53}));
}

#endif

}   // namespace
}   // namespace glean::reduce
