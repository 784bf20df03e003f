// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <charconv>
#include <optional>
#include <stdexcept>
#include <utility>

namespace nekcem {

namespace {

constexpr std::pair<Way, const char*> ways[] = {{Way::none, "none"},
                                                {Way::file_per_process, "1pfpp"},
                                                {Way::collective, "coio"},
                                                {Way::reduced, "rbio"},
                                                {Way::threaded_reduced, "threaded-rbio"},
                                                {Way::glean, "glean"}};

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
    if ((comma == std::string_view::npos) != (axis == 2)) throw std::invalid_argument(option + " wants three numbers, such as 4,2,8");
    result[axis] = number(option, text.substr(0, comma), 1, 1024);
    text.remove_prefix(axis == 2 ? 0 : comma + 1);
  }
  return result;
}

Way way(const std::string& option, const std::string& text) {
  std::string known;
  for (const auto& [value, name] : ways) {
    if (name == text) return value;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  throw std::invalid_argument(option + " is one of " + known + ", not '" + text + "'");
}

// te11, tm21, te10x3: polarisation, m, n, and wavelengths in the guide.
void set_mode(const std::string& option, std::string_view text, WaveguideMode::Shape& mode) {
  const bool te = text.starts_with("te");
  const std::size_t waves = text.find('x');
  if ((!te && !text.starts_with("tm")) || text.substr(0, waves).size() != 4) {
    throw std::invalid_argument(option + " wants te or tm and two digits, such as te11, tm21 or te11x2, not '" + std::string(text) + "'");
  }
  mode.polarisation = te ? Polarisation::te : Polarisation::tm;
  mode.m = number(option, text.substr(2, 1), 0, 9);
  mode.n = number(option, text.substr(3, 1), 0, 9);
  if (waves != std::string_view::npos) mode.waves = number(option, text.substr(waves + 1), 1, 99);
}

bool sends_to_writers(Way way) { return way == Way::reduced || way == Way::threaded_reduced; }

// What only GLEAN can do, and what it does not.
void require_what_glean_has(const WriterSettings& writer, bool has_format) {
  if (writer.way == Way::glean && writer.files != 1) throw std::invalid_argument("--files of glean is 1");
  if (writer.way != Way::glean && (has_format || writer.cells != Cells::linear)) {
    throw std::invalid_argument("--format and --lagrange are for --output glean: " + std::string(name_of(writer.way)) +
                                " writes NekCEM's files");
  }
}

// What depends on several options and the number of ranks.
void complete(Options& options, int ranks, std::optional<Writers> writers) {
  WriterSettings& writer = options.writer;
  const bool reduced = sends_to_writers(writer.way);
  writer.groups = std::max(1, ranks / options.ranks_per_writer);
  options.writers = writers.value_or(writer.way == Way::reduced ? Writers::dedicated : Writers::computing);
  if (reduced && writer.files != 1 && writer.files != writer.groups) {
    throw std::invalid_argument("--files of " + std::string(name_of(writer.way)) + " is 1 or the number of writers, which is " +
                                std::to_string(writer.groups));
  }
  if (writer.way == Way::collective && writer.files > ranks) {
    throw std::invalid_argument("--files is at most the number of ranks, which is " + std::to_string(ranks));
  }
  if (reduced && options.writers == Writers::dedicated && writer.groups == ranks) {
    throw std::invalid_argument("with a dedicated writer for each rank no rank computes: use --ratio, --writers computing, or more ranks");
  }
  options.mode.lengths = options.box.lengths;
  static_cast<void>(WaveguideMode(options.mode));   // throws for a mode that does not exist
}

}  // namespace

const char* name_of(Way way) {
  for (const auto& [value, name] : ways) {
    if (value == way) return name;
  }
  throw std::logic_error("no such way to write");
}

std::vector<Role> Options::roles(int ranks) const {
  std::vector<Role> roles(static_cast<std::size_t>(ranks), Role::computes);
  if (!sends_to_writers(writer.way) || writers == Writers::computing) return roles;
  const Groups groups(ranks, writer.groups);
  for (int group = 0; group < groups.count(); ++group) roles[static_cast<std::size_t>(groups.first(group))] = Role::set_aside;
  return roles;
}

Options parse_options(std::span<char* const> arguments, int ranks) {
  constexpr int most_steps = 1'000'000'000;
  Options options;
  std::optional<Writers> writers;
  bool has_format = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string option = arguments[i];
    const auto value = [&]() -> std::string {
      if (++i == arguments.size()) throw std::invalid_argument(option + " wants a value");
      return arguments[i];
    };
    if (option == "--help" || option == "-h") options.help = true;
    else if (option == "--fsync") options.writer.durability = Durability::fsync;
    else if (option == "--output") options.writer.way = way(option, value());
    else if (option == "--files") options.writer.files = number(option, value(), 1, 1 << 20);
    else if (option == "--ratio") options.ranks_per_writer = number(option, value(), 1, 1 << 20);
    else if (option == "--directory") options.writer.directory = value();
    else if (option == "--elements") options.box.elements = three_numbers(option, value());
    else if (option == "--order") options.box.order = number(option, value(), 1, 24);
    else if (option == "--mode") set_mode(option, value(), options.mode);
    else if (option == "--courant") options.courant = number(option, value(), 1e-6, 10.0);
    else if (option == "--steps") options.steps = number(option, value(), 1, most_steps);
    else if (option == "--every") options.every = number(option, value(), 1, most_steps);
    else if (option == "--json") options.json_file = value();
    else if (option == "--lagrange") options.writer.cells = Cells::lagrange;
    else if (option == "--format") {
      const std::string format = value();
      if (format != "vtk" && format != "vtkhdf") throw std::invalid_argument(option + " is vtk or vtkhdf, not '" + format + "'");
      options.writer.format = format == "vtk" ? FileFormat::vtk : FileFormat::vtkhdf;
      has_format = true;
    } else if (option == "--writers") {
      const std::string who = value();
      if (who != "dedicated" && who != "computing") throw std::invalid_argument(option + " is dedicated or computing, not '" + who + "'");
      writers = who == "dedicated" ? Writers::dedicated : Writers::computing;
    } else {
      throw std::invalid_argument("unknown argument '" + option + "'; --help lists them");
    }
  }
  if (options.help) return options;
  require_what_glean_has(options.writer, has_format);
  complete(options, ranks, writers);
  return options;
}

std::string usage() {
  return R"(Usage: mpirun -n RANKS nekcem_like [OPTION]...
A mode of a rectangular waveguide by spectral elements, written as NekCEM does.

  --output WAY        1pfpp: a file of each rank
                      coio: collective MPI-IO (default)
                      rbio: ranks send to writers, which write with MPI-IO
                      threaded-rbio: the same, and writers write in a thread
                      glean: through GLEAN, in the background
                      none
  --files N           of an output. coio: 1 (default) to the number of ranks; rbio: 1, or one of each writer
  --ratio R           ranks per writer, in rbio and threaded-rbio (default: 4)
  --writers WHO       dedicated: writers have no elements (default in rbio); computing: they have (default in threaded-rbio)
  --format FORMAT     of glean: vtk (default), or vtkhdf
  --lagrange          with glean: each element is one hexahedron of order N, not N³ linear ones
  --directory DIR     where the files go (default: .)
  --fsync             files are on the storage before they are closed
  --elements X,Y,Z    (default: 4,2,8), in a guide of 1 x 0.5 x 2
  --order N           of the polynomials in an element (default: 7)
  --mode MODE         te or tm, m, n, and wavelengths in the guide: te11 (default), tm21, te10x3
  --courant C         time step by the distance of points (default: 0.8)
  --steps N           (default: 200)
  --every N           steps between outputs; there is one at the start as well (default: 50)
  --json FILE         writes what was measured
  --help              this text

Exit status: 0 when the run met the exact solution with spectral accuracy, 1 when not, 2 for an error.
)";
}

}  // namespace nekcem
