// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <charconv>
#include <stdexcept>

namespace sedov {

namespace {

constexpr int most_steps = 1'000'000'000;
constexpr int most_levels = 8;   // a Tree can have more, and no run that ends

template <class Number>
Number number(const std::string& option, std::string_view text, Number least, Number most) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most) {
    throw std::invalid_argument(option + " wants a number from " + std::to_string(least) + " to " +
                                std::to_string(most) + ", not '" + std::string(text) + "'");
  }
  return value;
}

Position blocks(const std::string& option, std::string_view text) {
  Position result{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::size_t comma = text.find(',');
    if ((comma == std::string_view::npos) != (axis == 2)) {
      throw std::invalid_argument(option + " wants three numbers, such as 6,6,6");
    }
    result[axis] = number(option, text.substr(0, comma), 1, Tree::most_roots);
    text.remove_prefix(axis == 2 ? 0 : comma + 1);
  }
  return result;
}

template <class Value>
Value choice(const std::string& option, std::string_view text,
             std::initializer_list<std::pair<std::string_view, Value>> choices) {
  std::string known;
  for (const auto& [name, value] : choices) {
    if (name == text) return value;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  throw std::invalid_argument(option + " is one of " + known + ", not '" + std::string(text) + "'");
}

}  // namespace

Options parse_options(std::span<char* const> arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string option = arguments[i];
    const auto value = [&]() -> std::string {
      if (++i == arguments.size()) throw std::invalid_argument(option + " wants a value");
      return arguments[i];
    };
    if (option == "--help" || option == "-h") options.help = true;
    else if (option == "--fsync") options.durability = Durability::fsync;
    else if (option == "--blocks") options.blocks = blocks(option, value());
    else if (option == "--levels") options.levels = number(option, value(), 1, most_levels);
    else if (option == "--refine-every") options.refine_every = number(option, value(), 1, most_steps);
    else if (option == "--time") options.end_time = number(option, value(), 0.0, 1e6);
    else if (option == "--steps") options.steps = number(option, value(), 0, most_steps);
    else if (option == "--checkpoint-every") options.checkpoint_every = number(option, value(), 0, most_steps);
    else if (option == "--plot-every") options.plot_every = number(option, value(), 0, most_steps);
    else if (option == "--directory") options.directory = value();
    else if (option == "--trace") options.trace_file = value();
    else if (option == "--output") {
      options.output = choice<Through>(
          option, value(),
          {{"glean", Through::glean}, {"pnetcdf", Through::pnetcdf},
#ifdef SEDOV_HAVE_HDF5
           {"hdf5", Through::hdf5},
#endif
           {"none", Through::none}});
    } else if (option == "--format") {
      options.format = choice<FileFormat>(
          option, value(),
          {{"cdf1", FileFormat::cdf1}, {"cdf2", FileFormat::cdf2}, {"cdf5", FileFormat::cdf5}});
    } else {
      throw std::invalid_argument("unknown argument '" + option + "'; --help lists them");
    }
  }
  return options;
}

std::string usage() {
  return R"(Usage: mpirun -n RANKS sedov [OPTION]...
The Sedov blast wave in three dimensions, writing checkpoint and plot files as FLASH does.

  --output WAY            glean (default), pnetcdf, hdf5 (where the program was built with it), or none
  --directory DIR         where the files go (default: .)
  --blocks X,Y,Z          blocks of 16 x 16 x 16 cells (default: 6,6,6), of level 1
  --levels L              blocks of up to L levels, each of half the width, where the gas needs them (default: 1)
  --refine-every N        steps between changes of the mesh (default: 4, in which the shock goes 3 cells)
  --time T                simulate until this time (default: 0.05, as FLASH)
  --steps N               or until this many steps, whichever comes first
  --checkpoint-every N    steps between checkpoints; there is always one at the start and one at the end
  --plot-every N          the same for plot files
  --format F              cdf1, cdf2 or cdf5 (default); not for hdf5
  --fsync                 with pnetcdf: wait after each file until the disk has it
  --trace FILE            write what every rank did when, as JSON
  --help                  this text

Exit status: 0 when the run kept mass and energy and met the exact shock radius, 1 when not, 2 for an error.
)";
}

}  // namespace sedov
