// SPDX-License-Identifier: BSD-3-Clause
#include "reduce/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "reduce/rounding.hpp"

namespace glean::reduce {
namespace {

using Kind = base::Operator::Kind;

bool is_real(mesh::Type type) { return type == mesh::Type::float32 || type == mesh::Type::float64; }

// Values that are double, too.
bool can_compute(mesh::Type type) { return type != mesh::Type::text && type != mesh::Type::int64 && type != mesh::Type::uint64; }

bool is_coordinate(const mesh::Definitions& definitions, int variable) {
  const mesh::VariableDefinition& one = definitions.variables[static_cast<std::size_t>(variable)];
  return one.dimensions.size() == 1 && definitions.dimensions[static_cast<std::size_t>(one.dimensions[0])].name == one.name;
}

class Planner {
 public:
  Planner(const Subject& subject, const Request& request) : subject_(subject), request_(request) {
    const mesh::Definitions& definitions = subject.definitions;
    for (int d = 0; d < static_cast<int>(definitions.dimensions.size()); ++d) add_dimension(d);
    for (int v = 0; v < static_cast<int>(definitions.variables.size()); ++v) {
      const mesh::VariableDefinition& variable = definitions.variables[static_cast<std::size_t>(v)];
      Field field;
      field.name = variable.name;
      field.type = variable.external;
      field.dimensions = variable.dimensions;
      field.source = v;
      field.fill = fill_of(definitions, v);
      known_.push_back({std::move(field), is_on_mesh(v)});
    }
    // A stride that names no dimension is of those of fields.
    for (const Known& known : known_) {
      if (known.is_mesh) continue;
      for (const int d : known.field.dimensions) {
        const bool is_unlimited = definitions.dimensions[static_cast<std::size_t>(d)].unlimited;
        const bool is_of_blocks = std::find(subject.of_blocks.begin(), subject.of_blocks.end(), d) != subject.of_blocks.end();
        dimensions_[static_cast<std::size_t>(d)].is_subsampled = !is_unlimited && !is_of_blocks;
      }
    }
  }

  Plan plan() {
    for (const std::string& text : request_.operators) {
      try {
        run(base::parse_operator(text));
      } catch (const base::Error& error) {
        if (error.code() == base::Errc::unsupported) throw;
        wrong_.emplace_back(error.what());
      }
    }
    choose();
    if (!wrong_.empty()) throw base::Error(base::Errc::invalid_argument, fmt::format("{}", fmt::join(wrong_, "; ")));
    for (const DimensionToPick& dimension : dimensions_) plan_.picks.push_back(dimension.pick);
    plan_.records = subject_.records;
    for (std::size_t d = 0; d < dimensions_.size(); ++d) {
      if (subject_.definitions.dimensions[d].unlimited) plan_.records = dimensions_[d].pick.is_dropped ? 0 : dimensions_[d].pick.count;
    }
    plan_.text = fmt::format("{}", fmt::join(request_.operators, "; "));
    return std::move(plan_);
  }

 private:
  struct Known {
    Field field;
    bool is_mesh = false;
    bool is_made = false;   // by an expression
  };

  void add_dimension(int d) {
    const mesh::DimensionDefinition& definition = subject_.definitions.dimensions[static_cast<std::size_t>(d)];
    DimensionToPick dimension;
    dimension.name = definition.name;
    dimension.pick.count = definition.unlimited ? subject_.records : definition.length;
    dimension.is_subsampled = false;
    for (int v = 0; v < static_cast<int>(subject_.definitions.variables.size()); ++v) {
      const mesh::VariableDefinition& variable = subject_.definitions.variables[static_cast<std::size_t>(v)];
      if (!is_coordinate(subject_.definitions, v) || variable.dimensions[0] != d || variable.external == mesh::Type::text) continue;
      dimension.coordinates = [this, v] { return subject_.coordinates(v); };
    }
    dimensions_.push_back(std::move(dimension));
  }

  [[nodiscard]] bool is_on_mesh(int variable) const {
    return is_coordinate(subject_.definitions, variable) ||
           std::find(subject_.mesh.begin(), subject_.mesh.end(), variable) != subject_.mesh.end();
  }

  [[nodiscard]] std::string unknown(const std::string& name) const {
    std::vector<std::string> names;
    for (const Known& known : known_) names.push_back(known.field.name);
    const std::string nearest = base::nearest(name, names);
    return fmt::format("there is no variable '{}'{}", name, nearest.empty() ? "" : fmt::format(" (nearest: '{}')", nearest));
  }

  Known* find(const std::string& name) {
    const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& one) { return one.field.name == name; });
    return found == known_.end() ? nullptr : &*found;
  }

  void run(const base::Operator& how) {
    switch (how.kind) {
      case Kind::region:
      case Kind::slice:
      case Kind::subsample: return apply(how, dimensions_, wrong_);
      case Kind::threshold:
      case Kind::points: return restrict(how);
      case Kind::expression: return compute(how);
      case Kind::deflate:
        if (!request_.can_compress) wrong_.push_back(fmt::format("'{}': only HDF5 results are compressed", how.text));
        plan_.deflate = static_cast<int>(how.number);
        return;
      default: return lower(how);
    }
  }

  void restrict(const base::Operator& how) {
    for (const base::ValueRange& range : how.values) {
      Known* const known = find(range.variable);
      if (known == nullptr) {
        wrong_.push_back(fmt::format("'{}': {}", how.text, unknown(range.variable)));
      } else if (!can_compute(known->field.type)) {
        wrong_.push_back(fmt::format("'{}': '{}' is of {}: only other numbers are compared", how.text, range.variable,
                                     name_of(known->field.type)));
      } else if (how.kind == Kind::points) {
        known->field.points = range;
      } else {
        known->field.changes.push_back({Change::Kind::threshold, range.low, range.high, 0, known->field.type});
        known->field.names_fill = true;
      }
    }
  }

  void compute(const base::Operator& how) {
    Field field;
    field.name = how.name;
    field.formula = std::make_shared<const Formula>(how.formula);
    field.fill = default_fill;
    field.names_fill = true;
    std::vector<std::string> flaws;
    for (const std::string& name : field.formula->names()) {
      const Known* const known = find(name);
      if (known == nullptr) {
        flaws.push_back(fmt::format("character {}: {}", field.formula->place_of(name), unknown(name)));
      } else if (!can_compute(known->field.type)) {
        flaws.push_back(fmt::format("character {}: '{}' is of {}: nothing is computed of that", field.formula->place_of(name), name,
                                    name_of(known->field.type)));
      } else {
        if (known->field.dimensions.size() > field.dimensions.size() || field.inputs.empty()) field.dimensions = known->field.dimensions;
        field.inputs.push_back(known->field);
        field.inputs.back().points.reset();
      }
    }
    if (flaws.empty() && field.inputs.empty()) flaws.emplace_back("it has no variable in it");
    for (const Field& input : field.inputs) {
      if (!are_among(input.dimensions, field.dimensions)) {
        flaws.push_back(fmt::format("'{}' has dimensions that the variable with the most of them has not, or in another order",
                                    input.name));
      }
    }
    if (!flaws.empty()) return wrong_.push_back(fmt::format("'{}': {}", how.formula, fmt::join(flaws, "; ")));
    if (Known* const old = find(how.name)) *old = {std::move(field), false, true};
    else known_.push_back({std::move(field), false, true});
  }

  static bool are_among(const std::vector<int>& some, const std::vector<int>& all) {
    auto at = all.begin();
    for (const int dimension : some) {
      at = std::find(at, all.end(), dimension);
      if (at == all.end()) return false;
      ++at;
    }
    return true;
  }

  // Precision, digits, bits, tolerance.
  void lower(const base::Operator& how) {
    if (how.kind == Kind::tolerance && !request_.can_compress) {
      return wrong_.push_back(fmt::format("'{}': only HDF5 results are compressed", how.text));
    }
    std::vector<Known*> chosen;
    for (const std::string& name : how.variables) {
      Known* const known = find(name);
      if (known == nullptr) wrong_.push_back(fmt::format("'{}': {}", how.text, unknown(name)));
      else if (!is_real(known->field.type)) wrong_.push_back(fmt::format("'{}': '{}' is not in floating point", how.text, name));
      else chosen.push_back(known);
    }
    for (Known& known : known_) {
      if (how.variables.empty() && !known.is_mesh && is_real(known.field.type)) chosen.push_back(&known);
    }
    for (Known* const known : chosen) lower(how, known->field);
  }

  static void lower(const base::Operator& how, Field& field) {
    if (how.kind == Kind::tolerance) {
      field.tolerance = how.number;
    } else if (how.kind == Kind::precision) {
      if (field.type == mesh::Type::float32) return;
      field.type = mesh::Type::float32;
      field.fill = static_cast<double>(static_cast<float>(field.fill));
      field.changes.push_back({Change::Kind::single, 0, 0, 0, field.type});
    } else {
      const auto number = static_cast<int>(how.number);
      field.changes.push_back({Change::Kind::bits, 0, 0, how.kind == Kind::digits ? bits_of_digits(number) : number, field.type});
    }
  }

  // What is wanted, what is computed, the mesh, and the coordinates of their dimensions.
  void choose() {
    std::set<std::string> wanted;
    for (const std::string& name : request_.variables) {
      if (find(name) == nullptr) wrong_.push_back(unknown(name));
      wanted.insert(name);
    }
    std::set<int> used;
    const auto is_coordinate_of_file = [&](const Known& known) {
      return known.field.source >= 0 && is_coordinate(subject_.definitions, known.field.source);
    };
    const auto is_chosen = [&](const Known& known) {
      if (wanted.empty() || wanted.contains(known.field.name) || known.is_made || known.field.points) return true;
      return known.is_mesh && !is_coordinate_of_file(known);
    };
    for (const Known& known : known_) {
      if (is_chosen(known)) used.insert(known.field.dimensions.begin(), known.field.dimensions.end());
    }
    for (Known& known : known_) {
      if (is_chosen(known) || (is_coordinate_of_file(known) && used.contains(known.field.dimensions[0]))) {
        plan_.fields.push_back(std::move(known.field));
      }
    }
    if (plan_.fields.empty()) wrong_.emplace_back("nothing is left of the file");
  }

  static constexpr double default_fill = 9.9692099683868690e+36;   // NetCDF's of numbers in floating point

  const Subject& subject_;
  const Request& request_;
  std::vector<DimensionToPick> dimensions_;
  std::vector<Known> known_;
  Plan plan_;
  std::vector<std::string> wrong_;
};

}   // namespace

mesh::Shape Plan::shape_of(const Field& field) const {
  mesh::Shape shape;
  for (const int d : field.dimensions) shape.push_back(picks[static_cast<std::size_t>(d)].count);
  return shape;
}

bool Plan::compresses() const {
  return deflate > 0 || std::any_of(fields.begin(), fields.end(), [](const Field& field) { return field.tolerance > 0; });
}

Plan make_plan(const Subject& subject, const Request& request) { return Planner(subject, request).plan(); }

std::vector<std::string> defects_of(const Request& request) {
  std::vector<std::string> wrong;
  for (const std::string& text : request.operators) {
    try {
      const base::Operator how = base::parse_operator(text);
      if (how.kind == Kind::expression) static_cast<void>(Formula(how.formula));
      if ((how.kind == Kind::tolerance || how.kind == Kind::deflate) && !request.can_compress) {
        wrong.push_back(fmt::format("'{}': only HDF5 results are compressed", text));
      }
    } catch (const base::Error& error) {
      wrong.emplace_back(error.what());
    }
  }
  return wrong;
}

}   // namespace glean::reduce
