// SPDX-License-Identifier: BSD-3-Clause
#include "program.hpp"

#include <cstring>
#include <random>

namespace glean::test {

namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }
  bool chance(int percent) { return below(100) < static_cast<std::uint64_t>(percent); }

 private:
  std::mt19937_64 engine_;
};

std::vector<Type> types_of(Format format) {
  std::vector<Type> types = {Type::int8, Type::int16, Type::int32, Type::float32, Type::float64, Type::text};
  if (format == Format::cdf5) {
    types.insert(types.end(), {Type::uint8, Type::uint16, Type::uint32, Type::int64, Type::uint64});
  }
  return types;
}

// Small enough for every type; letters for text.
void append_value(std::vector<std::byte>& bytes, Type type, std::uint64_t number) {
  const auto append = [&](auto value) {
    const auto* begin = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), begin, begin + sizeof value);
  };
  const std::uint64_t small = number % 100;
  switch (type) {
    case Type::int8: return append(static_cast<std::int8_t>(small));
    case Type::uint8: return append(static_cast<std::uint8_t>(small));
    case Type::int16: return append(static_cast<std::int16_t>(small));
    case Type::uint16: return append(static_cast<std::uint16_t>(small));
    case Type::int32: return append(static_cast<std::int32_t>(small));
    case Type::uint32: return append(static_cast<std::uint32_t>(small));
    case Type::int64: return append(static_cast<std::int64_t>(small));
    case Type::uint64: return append(small);
    case Type::float32: return append(static_cast<float>(small) / 4);
    case Type::float64: return append(static_cast<double>(small) / 8);
    case Type::text: return append(static_cast<char>('a' + small % 26));
  }
}

Attribute random_attribute(Random& random, const std::string& name, Format format) {
  const auto types = types_of(format);
  Attribute attribute{.name = name, .type = types[random.below(types.size())], .values = {}, .count = random.below(5)};
  for (std::size_t i = 0; i < attribute.count; ++i) append_value(attribute.values, attribute.type, random.below(1000));
  return attribute;
}

void cut(const Box& box, int depth, Random& random, std::vector<Box>& parts) {
  std::vector<std::size_t> divisible;
  for (std::size_t d = 0; d < box.count.size(); ++d) {
    if (box.count[d] > 1) divisible.push_back(d);
  }
  if (depth == 0 || divisible.empty()) return parts.push_back(box);
  const std::size_t d = divisible[random.below(divisible.size())];
  Box low = box, high = box;
  low.count[d] = 1 + random.below(box.count[d] - 1);
  high.start[d] += low.count[d];
  high.count[d] -= low.count[d];
  cut(low, depth - 1, random, parts);
  cut(high, depth - 1, random, parts);
}

void add_parts(Program& program, ProgramVariable& variable, Random& random, int ranks) {
  Box whole{{}, program.shape(variable)};
  whole.start.resize(whole.count.size(), 0);
  std::vector<Box> boxes;
  cut(whole, static_cast<int>(random.below(6)), random, boxes);
  const int put_percent = random.chance(40) ? 100 : random.chance(20) ? 0 : 70;
  for (const Box& box : boxes) {
    if (random.chance(put_percent)) {
      variable.parts.push_back({box, static_cast<int>(random.below(static_cast<std::uint64_t>(ranks)))});
    }
  }
}

}  // namespace

std::size_t size_of(Type type) {
  switch (type) {
    case Type::int8:
    case Type::uint8:
    case Type::text: return 1;
    case Type::int16:
    case Type::uint16: return 2;
    case Type::int32:
    case Type::uint32:
    case Type::float32: return 4;
    default: return 8;
  }
}

std::vector<Part> ProgramVariable::of_rank(int rank) const {
  std::vector<Part> mine;
  for (const Part& part : parts) {
    if (part.rank == rank) mine.push_back(part);
  }
  return mine;
}

std::vector<std::uint64_t> Program::shape(const ProgramVariable& variable) const {
  std::vector<std::uint64_t> shape;
  for (const int id : variable.dimensions) {
    if (dimensions[static_cast<std::size_t>(id)] != 0) shape.push_back(dimensions[static_cast<std::size_t>(id)]);
  }
  return shape;
}

Program random_program(std::uint64_t seed, int ranks) {
  Random random(seed);
  Program program;
  program.format = static_cast<Format>(random.below(3));
  program.steps = random.chance(10) ? 0 : 1 + random.below(4);
  const bool records = random.chance(70);
  if (records) program.dimensions.push_back(0);
  const std::uint64_t fixed = 1 + random.below(4);
  for (std::uint64_t i = 0; i < fixed; ++i) {
    program.dimensions.push_back(random.chance(15) ? 300 + random.below(3000) : 1 + random.below(12));
  }
  const auto types = types_of(program.format);
  const std::uint64_t variables = random.below(8);
  for (std::uint64_t i = 0; i < variables; ++i) {
    ProgramVariable variable;
    variable.name = "variable_" + std::to_string(i);
    variable.external = variable.memory = types[random.below(types.size())];
    if (variable.external != Type::text && random.chance(50)) variable.memory = static_cast<Type>(random.below(10));
    variable.per_step = records && random.chance(60);
    variable.fill = random.chance(40);
    if (variable.per_step) variable.dimensions.push_back(0);
    bool has_long = false;
    for (std::uint64_t d = random.below(4); d > 0; --d) {
      const int id = static_cast<int>((records ? 1 : 0) + random.below(fixed));
      const bool is_long = program.dimensions[static_cast<std::size_t>(id)] > 100;
      if (is_long && has_long) continue;
      has_long |= is_long;
      variable.dimensions.push_back(id);
    }
    add_parts(program, variable, random, ranks);
    if (random.chance(30)) {
      variable.attributes.push_back({"_FillValue", variable.external, {}, 1});
      append_value(variable.attributes.back().values, variable.external, random.below(100));
    }
    if (random.chance(40)) variable.attributes.push_back(random_attribute(random, "units", program.format));
    variable.put_in_step.resize(program.steps, variable.per_step);
    if (!variable.per_step && program.steps > 0) variable.put_in_step[random.below(program.steps)] = true;
    if (variable.per_step && program.steps > 0 && random.chance(30)) variable.put_in_step.back() = false;
    variable.seed = random.below(1'000'000);
    program.variables.push_back(variable);
  }
  for (std::uint64_t i = random.below(4); i > 0; --i) {
    program.attributes.push_back(random_attribute(random, "attribute_" + std::to_string(i), program.format));
  }
  return program;
}

std::vector<std::byte> values_of(const Program& program, const ProgramVariable& variable, std::uint64_t step,
                                 const Box& box) {
  const auto shape = program.shape(variable);
  std::uint64_t elements = 1;
  for (const auto extent : box.count) elements *= extent;
  std::vector<std::byte> bytes;
  bytes.reserve(elements * size_of(variable.memory));
  for (std::uint64_t element = 0; element < elements; ++element) {
    std::uint64_t rest = element, position = 0, stride = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
      position += (box.start[d] + rest % box.count[d]) * stride;
      rest /= box.count[d];
      stride *= shape[d];
    }
    // Differs between neighbours, variables and steps.
    append_value(bytes, variable.memory, (position * 2654435761U + variable.seed + 7919 * (step + 1)) >> 3);
  }
  return bytes;
}

}  // namespace glean::test
