// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/results.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "base/error.hpp"

namespace glean::analysis {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();

Request both(std::uint64_t bins = 16) { return {true, true, {}, bins}; }

template <class Number>
VariableResult of(const std::vector<Number>& values, mesh::Type type, const Request& request = both()) {
  const mesh::Shape shape{values.size()};
  const mesh::Box box = mesh::whole(shape);
  VariableResult result(request);
  result.add({shape, box, 0, type, false, std::as_bytes(std::span(values))});
  return result;
}

std::vector<double> random_values(std::mt19937_64& random, std::size_t count, double mean, double deviation) {
  std::normal_distribution<double> distribution(mean, deviation);
  std::vector<double> values(count);
  for (double& value : values) value = distribution(random);
  return values;
}

// As defined, with more digits.
void expect_statistics_of(const Statistics& found, const std::vector<double>& values) {
  long double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const long double mean = sum / static_cast<long double>(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  const auto deviation = static_cast<double>(std::sqrt(squares / static_cast<long double>(values.size())));
  EXPECT_EQ(found.finite, values.size());
  EXPECT_EQ(found.minimum, *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(found.maximum, *std::max_element(values.begin(), values.end()));
  EXPECT_NEAR(found.mean, static_cast<double>(mean), 1e-13 * std::abs(static_cast<double>(mean)) + 1e-15 * deviation);
  EXPECT_NEAR(found.deviation(), deviation, 1e-11 * deviation + 1e-16 * std::abs(static_cast<double>(mean)));
}

TEST(Statistics, AreThoseOfTheDefinitionForAnyNumberOfValues) {
  std::mt19937_64 random(7);
  for (const std::size_t count : {1u, 2u, 7u, 8u, 9u, 1023u, 1024u, 1025u, 10'000u}) {
    SCOPED_TRACE(count);
    const auto values = random_values(random, count, 3, 2);

    expect_statistics_of(of(values, mesh::Type::float64).statistics(), values);
  }
}

TEST(Statistics, KeepTheirDigitsWhereTheMeanIsLargeBesideTheDeviation) {
  std::mt19937_64 random(8);
  const auto values = random_values(random, 50'000, 1e9, 1e-3);

  const Statistics found = of(values, mesh::Type::float64).statistics();

  expect_statistics_of(found, values);
}

TEST(Statistics, OfNothingHaveNoDeviation) {
  EXPECT_EQ(of(std::vector<double>{}, mesh::Type::float64).statistics(), Statistics{});
  EXPECT_TRUE(std::isnan(Statistics{}.deviation()));
}

TEST(VariableResult, LeavesOutWhatIsNotFiniteAndSaysWhereItIsFirst) {
  // Rows 2 and 3 of a variable of 10 x 100.
  const mesh::Shape shape{10, 100};
  const mesh::Box box{{2, 40}, {2, 50}};
  std::vector<double> values(100, 1.0);
  values[60] = nan;         // row 3, column 50
  values[20] = nan;         // row 2, column 60
  values[99] = -infinity;   // row 3, column 89
  VariableResult result(both());

  result.add({shape, box, 0, mesh::Type::float64, false, std::as_bytes(std::span(values))});

  const Statistics& found = result.statistics();
  EXPECT_EQ(found.finite, 97u);
  EXPECT_EQ(found.nan, 2u);
  EXPECT_EQ(found.first_nan, 2u * 100 + 60);
  EXPECT_EQ(found.infinite, 1u);
  EXPECT_EQ(found.first_infinite, 3u * 100 + 89);
  EXPECT_EQ(found.mean, 1.0);
  EXPECT_EQ(found.deviation(), 0.0);
}

TEST(VariableResult, KnowsWhereAPieceLiesThatIsNotTheBeginningOfItsBox) {
  const mesh::Shape shape{4, 8};
  const mesh::Box box = mesh::whole(shape);
  const std::vector<float> values{1.F, std::numeric_limits<float>::quiet_NaN()};
  VariableResult result(both());

  result.add({shape, box, 10, mesh::Type::float32, false, std::as_bytes(std::span(values))});

  EXPECT_EQ(result.statistics().first_nan, 11u);
}

TEST(VariableResult, TakesNumbersOfAnyTypeInBothByteOrders) {
  const std::vector<std::int16_t> here{-300, 7, 20000};
  std::vector<std::int16_t> swapped;
  for (const std::int16_t value : here) swapped.push_back(static_cast<std::int16_t>(__builtin_bswap16(static_cast<std::uint16_t>(value))));
  const mesh::Shape shape{3};
  const mesh::Box box = mesh::whole(shape);
  VariableResult big_endian(both());

  big_endian.add({shape, box, 0, mesh::Type::int16, true, std::as_bytes(std::span(swapped))});

  EXPECT_EQ(big_endian, of(here, mesh::Type::int16));
  EXPECT_EQ(big_endian.statistics().minimum, -300);
  EXPECT_EQ(of(std::vector<std::uint8_t>{255, 1}, mesh::Type::uint8).statistics().maximum, 255);
  EXPECT_EQ(of(std::vector<std::int8_t>{-1, 1}, mesh::Type::int8).statistics().minimum, -1);
  EXPECT_EQ(of(std::vector<std::uint64_t>{1ull << 63}, mesh::Type::uint64).statistics().mean, std::ldexp(1.0, 63));
  EXPECT_EQ(of(std::vector<std::uint32_t>{4'000'000'000u}, mesh::Type::uint32).statistics().mean, 4e9);
}

TEST(VariableResult, TakesValuesThatAreNotAligned) {
  std::vector<std::byte> bytes(1 + 2 * sizeof(double));
  const double values[] = {2.5, -4};
  std::memcpy(bytes.data() + 1, values, sizeof values);
  const mesh::Shape shape{2};
  const mesh::Box box = mesh::whole(shape);
  VariableResult result(both());

  result.add({shape, box, 0, mesh::Type::float64, false, std::span(bytes).subspan(1)});

  EXPECT_EQ(result.statistics().minimum, -4);
}

// Bin by bin, by search.
void expect_histogram_of(const Histogram& histogram, const std::vector<double>& values) {
  const auto& counts = histogram.counts();
  ASSERT_FALSE(counts.empty());
  ASSERT_LE(counts.size(), histogram.most_bins());
  std::vector<std::uint64_t> expected(counts.size());
  for (const double value : values) {
    std::size_t bin = 0;
    while (bin < counts.size() && !(histogram.begin(bin) <= value && value < histogram.begin(bin + 1))) ++bin;
    ASSERT_LT(bin, counts.size()) << value;
    ++expected[bin];
  }
  EXPECT_EQ(counts, expected);
  EXPECT_GT(counts.front(), 0u);
  EXPECT_GT(counts.back(), 0u);
}

TEST(Histogram, CountsEachValueInTheBinThatHasIt) {
  std::mt19937_64 random(9);
  for (const double deviation : {1e-300, 1e-9, 1.0, 1e9, 1e300}) {
    for (const double mean : {0.0, 1.0, -1e6}) {
      SCOPED_TRACE(testing::Message() << mean << " " << deviation);
      const auto values = random_values(random, 3000, mean, deviation);

      expect_histogram_of(*of(values, mesh::Type::float64).histogram(), values);
    }
  }
}

TEST(Histogram, HasTheNarrowestBinsOfWhichThereAreNotTooMany) {
  const auto histogram = *of(std::vector<double>{0.1, 0.9, 3.2}, mesh::Type::float64, both(4)).histogram();

  EXPECT_EQ(histogram.counts(), (std::vector<std::uint64_t>{2, 0, 0, 1}));
  EXPECT_EQ(histogram.begin(0), 0);
  EXPECT_EQ(histogram.begin(1), 1);
  EXPECT_GT(of(std::vector<double>{0.1, 0.9, 3.2}, mesh::Type::float64, both(16)).histogram()->counts().size(), 8u);
}

TEST(Histogram, OfOneValueHasOneBin) {
  for (const double value : {0.0, 1.0, -3.7, 1e308, 5e-324, -1e308}) {
    SCOPED_TRACE(value);
    const auto histogram = *of(std::vector<double>(5, value), mesh::Type::float64, both(2)).histogram();

    EXPECT_EQ(histogram.counts(), std::vector<std::uint64_t>{5});
    EXPECT_LE(histogram.begin(0), value);
    EXPECT_GT(histogram.begin(1), value);
  }
}

TEST(Histogram, OfTheWholeRangeOfNumbersHasTwoBins) {
  const double greatest = std::numeric_limits<double>::max();
  const auto histogram = *of(std::vector<double>{-greatest, greatest, 0}, mesh::Type::float64, both(2)).histogram();

  EXPECT_EQ(histogram.counts(), (std::vector<std::uint64_t>{1, 2}));
}

TEST(VariableResult, IsTheSameInWhateverPartsTheValuesCome) {
  std::mt19937_64 random(10);
  for (int round = 0; round < 50; ++round) {
    auto values = random_values(random, 1 + random() % 5000, round % 3 == 0 ? 1e4 : 0, std::ldexp(1.0, static_cast<int>(random() % 40)));
    if (round % 5 == 0) std::sort(values.begin(), values.end());   // each part has a range of its own
    const VariableResult whole = of(values, mesh::Type::float64);
    std::vector<VariableResult> parts;
    for (std::size_t begin = 0; begin < values.size();) {
      const std::size_t end = std::min(values.size(), begin + 1 + random() % 1500);
      parts.push_back(of(std::vector<double>(values.begin() + static_cast<std::ptrdiff_t>(begin),
                                             values.begin() + static_cast<std::ptrdiff_t>(end)), mesh::Type::float64));
      begin = end;
    }
    std::vector<std::size_t> order(parts.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    VariableResult joined(both());

    for (const std::size_t part : order) joined.merge(parts[part]);

    EXPECT_EQ(joined.histogram(), whole.histogram());
    expect_statistics_of(joined.statistics(), values);
    expect_histogram_of(*joined.histogram(), values);
  }
}

OutputResults two_steps() {
  OutputResults results;
  results.add(0, {{{"dens", of(std::vector<double>{1, 3}, mesh::Type::float64, both(2))}}, {}});
  results.add(1, {{{"dens", of(std::vector<double>{nan}, mesh::Type::float64, both(2))}}, {}});
  return results;
}

TEST(OutputResults, BecomeTablesOfALineForEachStepAndVariable) {
  EXPECT_EQ(two_steps().statistics_table(),
            "step,variable,values,minimum,maximum,mean,deviation,nan,infinite,first_nan,first_infinite\n"
            "0,dens,2,1,3,2,1,0,0,,\n"
            "1,dens,0,,,,,1,0,0,\n");
  EXPECT_EQ(two_steps().histogram_table(), "step,variable,begin,end,count\n0,dens,0,2,1\n0,dens,2,4,1\n");
}

TEST(OutputResults, QuoteNamesThatATableCouldNotHave) {
  OutputResults results;
  results.add(0, {{{"a,\"b\"", of(std::vector<double>{1}, mesh::Type::float64)}}, {}});

  EXPECT_NE(results.statistics_table().find("\n0,\"a,\"\"b\"\"\",1,1,"), std::string::npos);
}

TEST(OutputResults, LeaveOutAStepOfWhichANodeHasNotFoundOutAll) {
  OutputResults results = two_steps(), other;
  other.add(0, {{}, "the budget was used up"});

  results.merge(other);

  EXPECT_EQ(results.steps().at(0).left_out, "the budget was used up");
  EXPECT_EQ(results.statistics_table().find("\n0,"), std::string::npos);
  EXPECT_NE(results.statistics_table().find("\n1,"), std::string::npos);
}

TEST(OutputResults, AreNoneOfTheOutputWhereANodeHasLostItsPart) {
  OutputResults results = two_steps(), other;
  other.lose("a drain has ended");

  EXPECT_FALSE(other.empty());
  results.merge(other);

  EXPECT_EQ(results.lost(), "a drain has ended");
  base::Encoder out;
  results.encode(out);
  EXPECT_EQ(OutputResults::decode(out.take()).lost(), "a drain has ended");
}

TEST(OutputResults, SayAboutHowLargeTheyAre) {
  OutputResults small = two_steps(), large;
  large.add(0, {{{"dens", of(std::vector<double>{0, 1}, mesh::Type::float64, both(1 << 16))}}, {}});

  EXPECT_LT(small.bytes(), 2000u);
  EXPECT_GT(large.bytes(), 100'000u);
}

TEST(OutputResults, AreTheSameOnAnotherNode) {
  base::Encoder out;
  two_steps().encode(out);

  EXPECT_EQ(OutputResults::decode(out.take()), two_steps());
}

TEST(OutputResults, AreNotReadFromBytesThatAreDamaged) {
  base::Encoder out;
  two_steps().encode(out);
  const auto bytes = out.take();

  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(static_cast<void>(OutputResults::decode(std::span(bytes).first(size))), base::Error) << size;
  }
}

TEST(Request, IsWhatTheSettingsAskFor) {
  const base::AnalysisSettings settings{{base::Reduction::histogram}, {"dens"}, 32};

  const Request request = Request::of(settings);

  EXPECT_EQ(request, (Request{false, true, {"dens"}, 32}));
  EXPECT_TRUE(request.wants("dens"));
  EXPECT_FALSE(request.wants("pres"));
  EXPECT_FALSE(Request::of({}).wants("dens"));
  base::Encoder out;
  request.encode(out);
  const auto bytes = out.take();
  base::Decoder in(bytes, "a request");
  EXPECT_EQ(Request::decode(in), request);
}

}  // namespace
}  // namespace glean::analysis
