// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace phasta {

namespace {

template <class Number>
Number number(const std::string& option, std::string_view text, Number least, Number most) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most) {
    throw std::invalid_argument(option + " wants a number from " + std::to_string(least) + " to " + std::to_string(most) + ", not '" +
                                std::string(text) + "'");
  }
  return value;
}

std::array<int, 3> three_numbers(const std::string& option, std::string_view text) {
  std::array<int, 3> result{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::size_t comma = text.find(',');
    if ((comma == std::string_view::npos) != (axis == 2)) throw std::invalid_argument(option + " wants three numbers, such as 8,8,8");
    result[axis] = number(option, text.substr(0, comma), 1, 256);
    text.remove_prefix(axis == 2 ? 0 : comma + 1);
  }
  return result;
}

}  // namespace

Options parse_options(std::span<char* const> arguments) {
  constexpr int most_steps = 1'000'000'000;
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string option = arguments[i];
    const auto value = [&]() -> std::string {
      if (++i == arguments.size()) throw std::invalid_argument(option + " wants a value");
      return arguments[i];
    };
    if (option == "--help" || option == "-h") options.help = true;
    else if (option == "--fsync") options.durability = Durability::fsync;
    else if (option == "--cubes") options.box.cubes = three_numbers(option, value());
    else if (option == "--levels") options.box.levels = number(option, value(), 0, 24);
    else if (option == "--radius") options.radius = number(option, value(), 0.0, 1e6);
    else if (option == "--steps") options.steps = number(option, value(), 0, most_steps);
    else if (option == "--every") options.every = number(option, value(), 1, most_steps);
    else if (option == "--dt") options.dt = number(option, value(), 0.0, 1e6);
    else if (option == "--directory") options.directory = value();
    else if (option == "--json") options.json_file = value();
    else if (option == "--output") {
      const std::string way = value();
      if (way != "posix" && way != "none") throw std::invalid_argument(option + " is one of posix, none, not '" + way + "'");
      options.way = way == "posix" ? Way::posix : Way::none;
    } else {
      throw std::invalid_argument("unknown argument '" + option + "'; --help lists them");
    }
  }
  return options;
}

std::string usage() {
  return R"(Usage: mpirun -n RANKS phasta_like [OPTION]...
A mesh of tetrahedra that is refined around a vortex and follows it, written as PHASTA does.

  --output WAY       posix: PHASTA's files, two for each part (default); none
  --directory DIR    where the files go (default: .)
  --fsync            files are on the storage before they are closed
  --cubes X,Y,Z      of the coarse mesh, each of six tetrahedra (default: 8,8,8); they are 1/X wide
  --levels N         how often a tetrahedron is bisected; three times halve its edges (default: 6)
  --radius R         around the vortex in which the mesh is finest, by the radius of its core (default: 3)
  --steps N          (default: 8); the mesh is made anew for each
  --every N          steps between outputs; there is one at the start as well (default: 2)
  --dt T             time of a step (default: 0.08)
  --json FILE        writes what was measured
  --help             this text

Exit status: 0 when all meshes conformed and resolved the vortex, 1 when not, 2 for an error.
)";
}

}  // namespace phasta
