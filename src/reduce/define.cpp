// SPDX-License-Identifier: BSD-3-Clause
//
// The definitions of a result, with what it says of itself in attributes.
#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "reduce/plan.hpp"

namespace glean::reduce {
namespace {

template <class T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

template <class T>
double number_in(const std::vector<std::byte>& bytes) {
  T value{};
  if (bytes.size() == sizeof value) std::memcpy(&value, bytes.data(), sizeof value);
  return static_cast<double>(value);
}

// One number of a type, of bytes and as bytes.
double as_double(mesh::Type type, const std::vector<std::byte>& bytes) {
  switch (type) {
    case mesh::Type::int8: return number_in<std::int8_t>(bytes);
    case mesh::Type::uint8: return number_in<std::uint8_t>(bytes);
    case mesh::Type::int16: return number_in<std::int16_t>(bytes);
    case mesh::Type::uint16: return number_in<std::uint16_t>(bytes);
    case mesh::Type::int32: return number_in<std::int32_t>(bytes);
    case mesh::Type::uint32: return number_in<std::uint32_t>(bytes);
    case mesh::Type::float32: return number_in<float>(bytes);
    case mesh::Type::float64: return number_in<double>(bytes);
    default: return 0;
  }
}

std::vector<std::byte> as_bytes(mesh::Type type, double value) {
  switch (type) {
    case mesh::Type::int8: return bytes_of(static_cast<std::int8_t>(value));
    case mesh::Type::uint8: return bytes_of(static_cast<std::uint8_t>(value));
    case mesh::Type::int16: return bytes_of(static_cast<std::int16_t>(value));
    case mesh::Type::uint16: return bytes_of(static_cast<std::uint16_t>(value));
    case mesh::Type::int32: return bytes_of(static_cast<std::int32_t>(value));
    case mesh::Type::uint32: return bytes_of(static_cast<std::uint32_t>(value));
    case mesh::Type::float32: return bytes_of(static_cast<float>(value));
    default: return bytes_of(value);
  }
}

mesh::Attribute text(int variable, const std::string& name, const std::string& value) {
  mesh::Attribute attribute{variable, name, mesh::Type::text, {}};
  for (const char c : value) attribute.values.push_back(static_cast<std::byte>(c));
  return attribute;
}

class Defining {
 public:
  Defining(const Plan& plan, const mesh::Definitions& source) : plan_(plan), source_(source) {}

  Result define(const std::vector<std::uint64_t>& points, const std::vector<Loss>& losses) {
    define_dimensions();
    for (const mesh::Attribute& attribute : source_.attributes) {
      if (attribute.variable < 0) made_.definitions.attributes.push_back(attribute);
    }
    if (!plan_.text.empty()) made_.definitions.attributes.push_back(text(-1, "glean_operators", plan_.text));
    for (std::size_t f = 0; f < plan_.fields.size(); ++f) define_field(f, points[f], losses[f]);
    return std::move(made_);
  }

 private:
  void define_dimensions() {
    std::set<int> used;
    for (const Field& field : plan_.fields) {
      if (!field.points) used.insert(field.dimensions.begin(), field.dimensions.end());
    }
    for (int d = 0; d < static_cast<int>(source_.dimensions.size()); ++d) {
      const Pick& pick = plan_.picks[static_cast<std::size_t>(d)];
      mesh::DimensionDefinition dimension = source_.dimensions[static_cast<std::size_t>(d)];
      const bool is_left = used.contains(d) && !pick.is_dropped;
      dimension_of_.push_back(is_left ? static_cast<int>(made_.definitions.dimensions.size()) : -1);
      if (!is_left) continue;
      dimension.length = dimension.unlimited ? 0 : pick.count;
      made_.definitions.dimensions.push_back(std::move(dimension));
    }
  }

  void define_field(std::size_t f, std::uint64_t points, const Loss& loss) {
    const Field& field = plan_.fields[f];
    mesh::VariableDefinition variable;
    variable.name = field.name;
    variable.external = field.type;
    if (field.points) {
      const int dimension = static_cast<int>(made_.definitions.dimensions.size());
      made_.definitions.dimensions.push_back({field.name + "_points", points, false});
      made_.definitions.variables.push_back({field.name + "_place", mesh::Type::int64, {dimension}});
      made_.variables.push_back({f, ResultVariable::Part::places});
      made_.definitions.attributes.push_back(text(static_cast<int>(made_.definitions.variables.size()) - 1, "long_name",
                                                  "places in " + field.name + " of the whole file, row by row"));
      variable.dimensions = {dimension};
    } else {
      for (const int d : field.dimensions) {
        if (const int kept = dimension_of_[static_cast<std::size_t>(d)]; kept >= 0) variable.dimensions.push_back(kept);
      }
    }
    made_.definitions.variables.push_back(std::move(variable));
    made_.variables.push_back({f, ResultVariable::Part::values});
    define_attributes(field, static_cast<int>(made_.definitions.variables.size()) - 1, loss);
  }

  void define_attributes(const Field& field, int variable, const Loss& loss) {
    bool has_fill = false;
    for (mesh::Attribute attribute : source_.attributes) {
      if (field.source < 0 || attribute.variable != field.source) continue;
      attribute.variable = variable;
      if (attribute.name == "_FillValue" && attribute.count() == 1) {
        has_fill = true;
        if (attribute.type != field.type) {
          attribute.type = field.type;
          attribute.values = as_bytes(field.type, field.fill);
        }
      }
      made_.definitions.attributes.push_back(std::move(attribute));
    }
    std::vector<mesh::Attribute>& attributes = made_.definitions.attributes;
    if (field.names_fill && !has_fill) attributes.push_back({variable, "_FillValue", field.type, as_bytes(field.type, field.fill)});
    if (field.formula) {
      attributes.push_back(text(variable, "expression", field.formula->text()));
      attributes.push_back({variable, "glean_not_finite", mesh::Type::float64, bytes_of(static_cast<double>(loss.not_finite))});
    }
    if (field.tolerance > 0) attributes.push_back({variable, "glean_tolerance", mesh::Type::float64, bytes_of(field.tolerance)});
    if (field.loses()) attributes.push_back({variable, "glean_maximum_error", mesh::Type::float64, bytes_of(loss.error_most)});
  }

  const Plan& plan_;
  const mesh::Definitions& source_;
  std::vector<int> dimension_of_;   // of the source → of the result; -1: it is not there
  Result made_;
};

}   // namespace

double fill_of(const mesh::Definitions& definitions, int variable) {
  const mesh::Type type = definitions.variables[static_cast<std::size_t>(variable)].external;
  for (const mesh::Attribute& attribute : definitions.attributes) {
    if (attribute.variable != variable || attribute.name != "_FillValue") continue;
    if (attribute.type == type && attribute.count() == 1) return as_double(type, attribute.values);
  }
  switch (type) {   // NetCDF's
    case mesh::Type::int8: return -127;
    case mesh::Type::uint8: return 255;
    case mesh::Type::int16: return -32767;
    case mesh::Type::uint16: return 65535;
    case mesh::Type::int32: return -2147483647;
    case mesh::Type::uint32: return 4294967295;
    default: return 9.9692099683868690e+36;
  }
}

Result define(const Plan& plan, const mesh::Definitions& source, const std::vector<std::uint64_t>& points,
              const std::vector<Loss>& losses) {
  return Defining(plan, source).define(points, losses);
}

}   // namespace glean::reduce
