// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <algorithm>
#include <charconv>
#include <span>
#include <stdexcept>
#include <utility>

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

constexpr std::pair<Way, const char*> ways[] = {{Way::posix, "posix"}, {Way::glean, "glean"}, {Way::none, "none"}};
constexpr std::pair<FileFormat, const char*> formats[] = {{FileFormat::vtkhdf, "vtkhdf"}, {FileFormat::vtk, "vtk"}};

template <class Value>
Value one_of(const std::string& option, const std::string& text, std::span<const std::pair<Value, const char*>> names) {
  std::string known;
  for (const auto& [value, name] : names) {
    if (name == text) return value;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  throw std::invalid_argument(option + " is one of " + known + ", not '" + text + "'");
}

}  // namespace

Options parse_options(std::span<char* const> arguments) {
  constexpr int most_steps = 1'000'000'000;
  Options options;
  bool has_format = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string option = arguments[i];
    const auto value = [&]() -> std::string {
      if (++i == arguments.size()) throw std::invalid_argument(option + " wants a value");
      return arguments[i];
    };
    if (option == "--help" || option == "-h") options.help = true;
    else if (option == "--fsync") options.writer.durability = Durability::fsync;
    else if (option == "--cubes") options.box.cubes = three_numbers(option, value());
    else if (option == "--levels") options.box.levels = number(option, value(), 0, 24);
    else if (option == "--radius") options.radius = number(option, value(), 0.0, 1e6);
    else if (option == "--steps") options.steps = number(option, value(), 0, most_steps);
    else if (option == "--every") options.every = number(option, value(), 1, most_steps);
    else if (option == "--dt") options.dt = number(option, value(), 0.0, 1e6);
    else if (option == "--directory") options.writer.directory = value();
    else if (option == "--json") options.json_file = value();
    else if (option == "--output") options.writer.way = one_of<Way>(option, value(), ways);
    else if (option == "--format") {
      options.writer.format = one_of<FileFormat>(option, value(), formats);
      has_format = true;
    } else {
      throw std::invalid_argument("unknown argument '" + option + "'; --help lists them");
    }
  }
  if (has_format && options.writer.way != Way::glean) throw std::invalid_argument("--format is for --output glean");
  return options;
}

std::string usage() {
  return R"(Usage: mpirun -n RANKS phasta_like [OPTION]...
A mesh of tetrahedra that is refined around a vortex and follows it, written as PHASTA does.

  --output WAY       posix: PHASTA's files, two for each part (default)
                     glean: through GLEAN, one file for each output, in the background
                     none
  --format FORMAT    of glean: vtkhdf (default), or vtk
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
