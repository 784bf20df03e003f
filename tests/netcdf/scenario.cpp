// SPDX-License-Identifier: BSD-3-Clause
#include "scenario.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace glean::test {

namespace {

using mesh::Type;
using store::CdfVersion;

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }
  bool chance(double probability) { return static_cast<double>(below(1000)) < probability * 1000; }
  std::uint64_t bits() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

bool is_float(Type type) { return type == Type::float32 || type == Type::float64; }

std::vector<Type> external_types(CdfVersion format) {
  if (format != CdfVersion::cdf5) return {Type::int8, Type::int16, Type::int32, Type::float32, Type::float64, Type::text};
  std::vector<Type> types;
  for (int i = 0; i < mesh::type_count; ++i) types.push_back(static_cast<Type>(i));
  return types;
}

std::vector<Type> memory_types(Type external) {
  if (external == Type::text) return {Type::text};
  std::vector<Type> types;
  for (int i = 0; i < mesh::type_count; ++i) {
    if (static_cast<Type>(i) != Type::text) types.push_back(static_cast<Type>(i));
  }
  return types;
}

// The limits of all integer types and of float, one step beyond each, halves, specials.
std::vector<double> float_edges() {
  std::vector<double> edges = {0.0, 0.5, 0.99, 1e-46, 1e-310, 1e39, std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::max(),
                               std::numeric_limits<double>::denorm_min()};
  std::vector<double> limits = {std::numeric_limits<float>::max()};
  for (const int bits : {7, 8, 15, 16, 31, 32, 63, 64}) {
    limits.push_back(std::ldexp(1.0, bits));
    limits.push_back(std::ldexp(1.0, bits) - 1);
  }
  for (const double limit : limits) {
    const auto float_below = static_cast<double>(std::nextafterf(static_cast<float>(limit), 0.0F));
    for (const double value : {limit, limit + 0.5, limit - 0.5, limit + 1, std::nextafter(limit, INFINITY),
                               std::nextafter(limit, 0.0), float_below}) {
      edges.push_back(value);
    }
  }
  const std::size_t positive = edges.size();
  for (std::size_t i = 0; i < positive; ++i) edges.push_back(-edges[i]);
  return edges;
}

std::vector<std::uint64_t> integer_edges() {
  std::vector<std::uint64_t> edges = {0, 1, 16777217, 9007199254740993};
  for (const int bits : {7, 8, 15, 16, 31, 32, 63}) {
    const std::uint64_t power = std::uint64_t{1} << bits;
    for (const std::uint64_t value : {power - 1, power, power + 1}) {
      edges.push_back(value);
      edges.push_back(~value);
      edges.push_back(0 - value);
    }
  }
  return edges;
}

void append_float(std::vector<std::byte>& bytes, Type type, double value) {
  const auto narrow = static_cast<float>(value);
  const auto* begin = type == Type::float32 ? reinterpret_cast<const std::byte*>(&narrow)
                                            : reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), begin, begin + mesh::size_of(type));
}

void append_integer(std::vector<std::byte>& bytes, Type type, std::uint64_t value) {
  const auto* begin = reinterpret_cast<const std::byte*>(&value);   // little-endian: the low bytes come first
  bytes.insert(bytes.end(), begin, begin + mesh::size_of(type));
}

// Cuts a box in two, again and again.
void cut(const mesh::Box& box, int depth, Random& random, std::vector<mesh::Box>& parts) {
  std::vector<std::size_t> divisible;
  for (std::size_t d = 0; d < box.count.size(); ++d) {
    if (box.count[d] > 1) divisible.push_back(d);
  }
  if (depth == 0 || divisible.empty()) {
    parts.push_back(box);
    return;
  }
  const std::size_t d = divisible[random.below(divisible.size())];
  const std::uint64_t first = 1 + random.below(box.count[d] - 1);
  mesh::Box low = box, high = box;
  low.count[d] = first;
  high.start[d] += first;
  high.count[d] -= first;
  cut(low, depth - 1, random, parts);
  cut(high, depth - 1, random, parts);
}

void add_attribute(mesh::Definitions& definitions, CdfVersion format, Random& random, int variable, int number) {
  const std::vector<Type> types = external_types(format);
  mesh::Attribute attribute;
  attribute.variable = variable;
  attribute.name = "attribute " + std::to_string(number);
  attribute.type = types[random.below(types.size())];
  attribute.values = values_of(attribute.type, random.below(6), random.bits());
  definitions.attributes.push_back(attribute);
}

void add_fill_value(mesh::Definitions& definitions, Random& random, int variable) {
  const Type external = definitions.variables[static_cast<std::size_t>(variable)].external;
  definitions.attributes.push_back({.variable = variable, .name = "_FillValue", .type = external,
                                    .values = values_of(external, 1, random.bits())});
}

mesh::Definitions random_definitions(CdfVersion format, Random& random) {
  mesh::Definitions definitions;
  const int unlimited = random.chance(0.6) ? 0 : -1;
  if (unlimited == 0) definitions.dimensions.push_back({.name = "step", .unlimited = true});
  const std::uint64_t fixed = 1 + random.below(4);
  for (std::uint64_t i = 0; i < fixed; ++i) {
    definitions.dimensions.push_back({.name = "d" + std::to_string(i), .length = 1 + random.below(9)});
  }
  const std::vector<Type> types = external_types(format);
  const std::uint64_t variables = 1 + random.below(8);
  for (std::uint64_t i = 0; i < variables; ++i) {
    mesh::VariableDefinition variable{.name = "variable " + std::to_string(i),
                                       .external = types[random.below(types.size())],
                                       .dimensions = {},
                                       .fill = random.chance(0.4)};
    if (unlimited == 0 && random.chance(0.6)) variable.dimensions.push_back(unlimited);
    for (std::uint64_t d = random.below(4); d > 0; --d) {
      variable.dimensions.push_back(static_cast<int>(definitions.dimensions.size() - 1 - random.below(fixed)));
    }
    definitions.variables.push_back(variable);
    if (random.chance(0.3)) add_fill_value(definitions, random, static_cast<int>(i));
    if (random.chance(0.3)) add_attribute(definitions, format, random, static_cast<int>(i), 0);
  }
  for (std::uint64_t i = random.below(4); i > 0; --i) add_attribute(definitions, format, random, -1, static_cast<int>(i));
  return definitions;
}

}  // namespace

bool Scenario::complete() const {
  for (int variable = 0; variable < static_cast<int>(definitions.variables.size()); ++variable) {
    if (definitions.variables[static_cast<std::size_t>(variable)].fill) continue;
    const bool per_step = definitions.per_step(variable);
    const std::uint64_t wanted = mesh::elements_of(definitions.shape(variable)) * (per_step ? steps.size() : 1);
    std::uint64_t put_elements = 0;
    for (const std::vector<Put>& step : steps) {
      for (const Put& put : step) put_elements += put.variable == variable ? put.box.elements() : 0;
    }
    if (put_elements < wanted) return false;
  }
  return true;
}

std::vector<std::byte> values_of(Type type, std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::byte> bytes;
  const std::vector<double> floats = float_edges();
  const std::vector<std::uint64_t> integers = integer_edges();
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t kind = random.below(4);
    if (type == Type::text) append_integer(bytes, type, 32 + random.below(90));
    else if (kind == 0) append_integer(bytes, type, random.bits());
    else if (kind == 1) is_float(type) ? append_float(bytes, type, static_cast<double>(random.below(1000)) / 8 - 60)
                                       : append_integer(bytes, type, random.below(100));
    else if (is_float(type)) append_float(bytes, type, floats[random.below(floats.size())]);
    else append_integer(bytes, type, integers[random.below(integers.size())]);
  }
  return bytes;
}

Scenario random_scenario(std::uint64_t seed) {
  Random random(seed);
  Scenario scenario;
  scenario.format = static_cast<CdfVersion>(random.below(3));
  scenario.definitions = random_definitions(scenario.format, random);
  const double put_chance = random.chance(0.3) ? 1.0 : 0.7;
  const std::uint64_t steps = 1 + random.below(4);
  for (std::uint64_t step = 0; step < steps; ++step) {
    std::vector<Put>& puts = scenario.steps.emplace_back();
    for (int variable = 0; variable < static_cast<int>(scenario.definitions.variables.size()); ++variable) {
      const bool per_step = scenario.definitions.per_step(variable);
      if (!per_step && step != 0) continue;
      std::vector<mesh::Box> boxes;
      cut(mesh::whole(scenario.definitions.shape(variable)), static_cast<int>(random.below(4)), random, boxes);
      const std::vector<Type> types =
          memory_types(scenario.definitions.variables[static_cast<std::size_t>(variable)].external);
      for (const mesh::Box& box : boxes) {
        if (!random.chance(put_chance)) continue;
        const Type memory = types[random.below(types.size())];
        puts.push_back({variable, box, memory, values_of(memory, box.elements(), random.bits())});
      }
    }
  }
  return scenario;
}

Scenario every_pair_of_types(CdfVersion format, bool own_fill_values, std::uint64_t seed) {
  Random random(seed);
  constexpr std::uint64_t values = 2000;
  Scenario scenario;
  scenario.format = format;
  scenario.definitions.dimensions = {{.name = "value", .length = values}};
  std::vector<Put>& puts = scenario.steps.emplace_back();
  for (const Type external : external_types(format)) {
    for (const Type memory : memory_types(external)) {
      const int variable = static_cast<int>(scenario.definitions.variables.size());
      scenario.definitions.variables.push_back(
          {.name = std::string(mesh::name_of(memory)) + " as " + std::string(mesh::name_of(external)),
           .external = external,
           .dimensions = {0}});
      if (own_fill_values) add_fill_value(scenario.definitions, random, variable);
      puts.push_back({variable, mesh::whole({values}), memory, values_of(memory, values, random.bits())});
    }
  }
  return scenario;
}

}  // namespace glean::test
