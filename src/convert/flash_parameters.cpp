// SPDX-License-Identifier: BSD-3-Clause
#include "convert/flash_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "base/error.hpp"

namespace glean::convert {
namespace {

using store::FlashParameter;

constexpr int most_alike = 1000;

// Of a file that is not FLASH's these are scalars, and all other attributes are runtime parameters.
constexpr std::array<std::string_view, 4> names_of_scalars = {"time", "dt", "nstep", "redshift"};

bool is_known_scalar(std::string_view name) {
  return std::find(names_of_scalars.begin(), names_of_scalars.end(), name) != names_of_scalars.end();
}

std::optional<FlashParameter> parameter_of(const mesh::Attribute& attribute) {
  if (const auto text = text_of(attribute)) return FlashParameter{attribute.name, *text};
  const bool is_real = attribute.type == mesh::Type::float32 || attribute.type == mesh::Type::float64;
  if (const auto number = integer_of(attribute); number && !is_real) return FlashParameter{attribute.name, *number};
  if (const auto number = number_of(attribute)) return FlashParameter{attribute.name, *number};
  return std::nullopt;
}

bool has(const std::vector<FlashParameter>& list, std::string_view name) {
  return std::any_of(list.begin(), list.end(), [&](const FlashParameter& parameter) { return parameter.name == name; });
}

// Behind the others: ParaView's reader takes every name that begins with `time` for the time, and the last counts.
void set(std::vector<FlashParameter>& list, FlashParameter parameter) {
  std::erase_if(list, [&](const FlashParameter& each) { return each.name == parameter.name; });
  list.push_back(std::move(parameter));
}

void add_default(std::vector<FlashParameter>& list, FlashParameter parameter) {
  if (!has(list, parameter.name)) list.push_back(std::move(parameter));
}

std::string* member_of(store::FlashSimulation& simulation, std::string_view name) {
  const std::pair<std::string_view, std::string*> members[] = {{"setup_call", &simulation.setup_call},
                                                               {"file_creation_time", &simulation.file_creation_time},
                                                               {"flash_version", &simulation.flash_version},
                                                               {"build_date", &simulation.build_date},
                                                               {"build_dir", &simulation.build_dir},
                                                               {"build_machine", &simulation.build_machine},
                                                               {"cflags", &simulation.cflags},
                                                               {"fflags", &simulation.fflags},
                                                               {"setup_time_stamp", &simulation.setup_time_stamp},
                                                               {"build_time_stamp", &simulation.build_time_stamp}};
  for (const auto& [known, member] : members) {
    if (known == name) return member;
  }
  return nullptr;
}

// Of the file: how FLASH numbers its fields there is in its HDF5 files another table.
bool is_about_the_file(std::string_view name) { return name == "file_format_version" || name.starts_with("unknown_"); }

void read_attributes(const Source& source, const Blocks& blocks, FlashParameters& parameters) {
  for (const mesh::Attribute& attribute : source.definitions().attributes) {
    const bool is_global = attribute.variable == -1, is_scalar = blocks.scalars && attribute.variable == *blocks.scalars;
    const bool is_runtime = blocks.runtime_parameters && attribute.variable == *blocks.runtime_parameters;
    if (!(is_global || is_scalar || is_runtime) || (is_global && is_about_the_file(attribute.name))) continue;
    if (std::string* member = is_global ? member_of(parameters.simulation, attribute.name) : nullptr) {
      *member = text_of(attribute).value_or("");
      continue;
    }
    const auto parameter = parameter_of(attribute);
    if (!parameter) {
      parameters.left_out.push_back(attribute.name);
    } else if (is_scalar || (is_global && is_known_scalar(attribute.name))) {
      add_default(parameters.scalars, *parameter);
    } else {
      add_default(parameters.runtime_parameters, *parameter);
    }
  }
}

// Along x, y, z: how many blocks of level 1 there are, and where the domain ends.
struct Domain {
  std::array<std::int32_t, 3> roots{1, 1, 1};
  std::array<double, 3> lower{0, 0, 0}, upper{1, 1, 1};
};

Domain domain_of(const Source& source, const Blocks& blocks) {
  Domain domain;
  std::vector<std::string> flaws;
  for (int axis = 0; axis < blocks.mesh.dimensions; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    double roots = 0;
    for (std::size_t block = 0; block < blocks.mesh.blocks(); ++block) {
      const auto end = static_cast<double>(blocks.positions.of_block[block][a] + 1);
      roots = std::max(roots, std::ldexp(end, 1 - blocks.mesh.levels[block]));
    }
    if (roots != std::floor(roots) || roots > 2147483647.0) {
      flaws.push_back(fmt::format("along {} its domain is {} blocks of level 1 wide", "xyz"[axis], roots));
    }
    domain.roots[a] = static_cast<std::int32_t>(std::min(std::ceil(roots), 2147483647.0));
    domain.lower[a] = blocks.positions.lower[a];
    domain.upper[a] = domain.lower[a] + std::ceil(roots) * blocks.positions.root_width[a];
  }
  if (flaws.empty()) return domain;
  throw base::Error(base::Errc::io,
                    fmt::format("cannot convert '{}' to a FLASH file, whose domains are whole blocks of level 1: {}", source.path(),
                                listed(flaws)),
                    "--to vtkhdf has no such rule");
}

void add_mesh(const Source& source, const Blocks& blocks, FlashParameters& parameters) {
  const auto [lowest, highest] = std::minmax_element(blocks.mesh.levels.begin(), blocks.mesh.levels.end());
  auto& runtime = parameters.runtime_parameters;
  add_default(runtime, {"lrefine_min", *lowest});
  add_default(runtime, {"lrefine_max", *highest});
  std::vector<FlashParameter> of_domain;
  const auto says_all = [&] {
    for (const char* axis : {"x", "y", "z"}) {
      for (const std::string& name : {std::string("nblock") + axis, axis + std::string("min"), axis + std::string("max")}) {
        if (!has(runtime, name)) return false;
      }
    }
    return true;
  };
  if (!says_all()) {
    const Domain domain = domain_of(source, blocks);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::string name(1, "xyz"[axis]);
      set(runtime, {"nblock" + name, domain.roots[axis]});
      set(runtime, {name + "min", domain.lower[axis]});
      set(runtime, {name + "max", domain.upper[axis]});
    }
  }
  add_default(runtime, {"geometry", std::string("cartesian")});
}

}  // namespace

std::vector<std::string> flash_names(const std::vector<std::string>& names) {
  std::set<std::string> taken;
  std::vector<std::string> found;
  for (std::string name : names) {
    std::replace_if(
        name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x7f || c < 0x20 || c == '/'; }, '_');
    if (name.size() == store::flash_name_bytes) name.erase(name.find_last_not_of('_') + 1);
    name.resize(store::flash_name_bytes, ' ');
    std::string made = name;
    for (int number = 1; !taken.insert(made).second; ++number) {
      if (number == most_alike) throw base::Error(base::Errc::unsupported, "a thousand fields have names that begin with '" + name + "'");
      const std::string digits = std::to_string(number);
      made = name.substr(0, store::flash_name_bytes - digits.size()) + digits;
    }
    found.push_back(made);
  }
  return found;
}

FlashParameters flash_parameters(const Source& source, const Blocks& blocks, double time) {
  FlashParameters parameters;
  read_attributes(source, blocks, parameters);
  if (const mesh::Attribute* step = source.attribute(-1, "step"); step != nullptr && integer_of(*step)) {
    add_default(parameters.scalars, {"nstep", *integer_of(*step)});
  }
  add_default(parameters.scalars, {"nstep", 0});
  for (std::size_t axis = 0; axis < 3; ++axis) {
    set(parameters.scalars, {fmt::format("n{}b", "xyz"[axis]), static_cast<std::int32_t>(blocks.mesh.cells[axis])});
  }
  set(parameters.scalars, {"dimensionality", blocks.mesh.dimensions});
  set(parameters.scalars, {"globalnumblocks", static_cast<std::int32_t>(blocks.mesh.blocks())});
  set(parameters.scalars, {"time", time});
  add_mesh(source, blocks, parameters);
  return parameters;
}

}  // namespace glean::convert
