// SPDX-License-Identifier: BSD-3-Clause
//
// Writes checkpoints and series of steps whose contents are known, and leaves word of every step that a rank has ended
// where no SIGKILL reaches it.
//
//   mpirun -n R kill_writer DIRECTORY WITNESS SEED        the program of that seed
//   mpirun -n R kill_writer --references DIRECTORY SEED   each of its files as N@S: file N with its first S steps only
//   kill_writer --list SEED                               one line for each file: name, steps
//
// WITNESS.RANK, mapped and shared, holds 32-bit words: how far the rank is (Phase), then for each file how many steps it
// has entered the end of, and how many it has ended.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <glean/glean.hpp>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "witness.hpp"

namespace {

using kill::Phase;
using kill::Witness;

constexpr int checkpoints = 6, checkpoint_names = 3, series = 4, series_steps_max = 6;
// Which of the files are none of NetCDF's: a series, and two checkpoints.
constexpr std::uint32_t hdf5_file = KILL_WITH_HDF5 != 0 ? checkpoints + series - 1 : ~std::uint32_t{0};
constexpr std::uint32_t vtkhdf_file = KILL_WITH_HDF5 != 0 ? 3 : ~std::uint32_t{0}, vtk_file = 4;

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

struct File {
  std::string name;
  std::uint32_t index;
  std::uint32_t steps;
  bool is_series;   // otherwise its variables are fixed
  std::uint64_t rows, columns;
  [[nodiscard]] bool is_for_vtk() const { return index == vtkhdf_file || index == vtk_file; }
  [[nodiscard]] bool is_netcdf() const { return index != hdf5_file && !is_for_vtk(); }
};

// What runs, the same on every rank.
struct Program {
  std::vector<File> files;
  std::vector<std::uint32_t> order;   // of which file the next step is
};

Program make_program(unsigned seed) {
  std::mt19937 random(seed);
  Program program;
  for (std::uint32_t i = 0; i < checkpoints + series; ++i) {
    const bool is_series = i >= checkpoints;
    const std::string name = is_series ? "series_" + std::to_string(i - checkpoints) + ".nc"
                                       : "checkpoint_" + std::to_string(i % checkpoint_names) + ".nc";
    const auto steps = is_series ? static_cast<std::uint32_t>(2 + random() % (series_steps_max - 1)) : 1;
    program.files.push_back({name, i, steps, is_series, 4 + random() % 40, 64 + random() % (random() % 3 == 0 ? 12000 : 1500)});
    program.order.insert(program.order.end(), steps, i);
  }
  std::shuffle(program.order.begin(), program.order.end(), random);
  // A name is written again later, so checkpoints come in their order.
  std::uint32_t next = 0;
  for (std::uint32_t& file : program.order) {
    if (file < checkpoints) file = next++;
  }
  return program;
}

class Writer {
 public:
  Writer(unsigned seed, Witness witness, std::map<std::string, std::string> settings = {})
      : seed_(seed), program_(make_program(seed)), witness_(witness), session_(MPI_COMM_WORLD, settings) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    witness_.reach(Phase::in_session);
  }

  void run(const std::string& directory) {
    std::map<std::uint32_t, Open> open;
    std::mt19937 alike(seed_ + 1), own(seed_ + 2 + static_cast<unsigned>(rank_));
    for (const std::uint32_t index : program_.order) {
      const File& file = program_.files[index];
      auto found = open.find(index);
      if (found == open.end()) found = open.emplace(index, define(file, directory + "/" + file.name)).first;
      Open& output = found->second;
      step(file, output);
      if (file.is_series && alike() % 8 == 0) output.output.wait(glean::Level::written);
      if (output.steps == file.steps) {
        output.output.close();
        open.erase(found);
      }
      if (alike() % 12 == 0) session_.wait(alike() % 2 == 0 ? glean::Level::staged : glean::Level::written);
      usleep(static_cast<useconds_t>(own() % 2000));
    }
    witness_.reach(Phase::all_closed);
    session_.close();
    witness_.reach(Phase::session_closed);
  }

  void write_references(const std::string& directory, bool of_netcdf) {
    for (const File& file : program_.files) {
      if (file.is_netcdf() != of_netcdf) continue;
      for (std::uint32_t steps = 1; steps <= file.steps; ++steps) {
        Open output = define(file, directory + "/" + std::to_string(file.index) + "@" + std::to_string(steps));
        while (output.steps < steps) step(file, output);
        output.output.close();
      }
    }
    session_.close();
  }

 private:
  struct Open {
    glean::Output output;
    glean::Variable state, flags, mask;
    glean::Box mine;
    std::uint32_t steps = 0;
  };

  // The first row of a rank: parts of any size, some of them empty.
  [[nodiscard]] std::uint64_t first_row(const File& file, int rank) const {
    std::uint64_t before = 0, all = 0;
    for (int r = 0; r < ranks_; ++r) {
      const std::uint64_t weight = r == 0 ? 1 : mix(seed_ + 64 * file.index + static_cast<std::uint64_t>(r)) % 4;
      all += weight;
      if (r < rank) before += weight;
    }
    return file.rows * before / all;
  }

  // Over the cells of a grid, as these formats have it.
  Open define_for_vtk(const File& file, const std::string& path) {
    glean::Output output = session_.open(path, file.index == vtk_file ? glean::Format::vtk : glean::Format::vtkhdf);
    const std::uint64_t first = first_row(file, rank_);
    const glean::Box mine{{first, 0}, {first_row(file, rank_ + 1) - first, file.columns}};
    const glean::Grid grid = output.define_grid(glean::UniformGrid{{file.rows, file.columns}, {0, 0}, {1, 1}, {mine}, {}});
    const auto mask = output.define_variable("mask", glean::Type::float32, grid, {.fill = glean::Fill::on});
    const auto state = output.define_variable("state", glean::Type::float64, grid);
    const auto flags = output.define_variable("flags", glean::Type::int32, grid, {.fill = glean::Fill::on});
    output.define_attribute("title", "a file that survives");
    output.set_time(file.index);
    return {std::move(output), state, flags, mask, mine};
  }

  Open define(const File& file, const std::string& path) {
    if (file.is_for_vtk()) return define_for_vtk(file, path);
    const auto netcdf = file.index % 2 == 0 ? glean::Format::cdf5 : glean::Format::cdf2;
    glean::Output output = session_.open(path, file.index == hdf5_file ? glean::Format::hdf5 : netcdf);
    std::vector<glean::Dimension> dimensions{output.define_dimension("row", file.rows),
                                             output.define_dimension("column", file.columns)};
    const std::uint64_t first = first_row(file, rank_);
    const glean::Box mine{{first, 0}, {first_row(file, rank_ + 1) - first, file.columns}};
    const auto mask = output.define_variable("mask", glean::Type::float32, dimensions, {mine}, {.fill = glean::Fill::on});
    if (file.is_series) dimensions.insert(dimensions.begin(), output.define_unlimited("time"));
    const auto state = output.define_variable("state", glean::Type::float64, dimensions, {mine}, {.per_step = file.is_series});
    const auto flags = output.define_variable("flags", glean::Type::int32, dimensions, {mine},
                                              {.fill = glean::Fill::on, .per_step = file.is_series});
    output.define_attribute("title", "a file that survives");
    return {std::move(output), state, flags, mask, mine};
  }

  // Element by element known, and the same in every type.
  void put(const File& file, Open& open, glean::Variable variable, std::uint64_t rows_each) {
    const std::uint64_t end = open.mine.start[0] + open.mine.count[0];
    for (std::uint64_t row = open.mine.start[0]; row < end; row += rows_each) {
      const std::uint64_t rows = std::min(rows_each, end - row);
      values_.resize(rows * file.columns);
      for (std::uint64_t i = 0; i < values_.size(); ++i) {
        const std::uint64_t element = row * file.columns + i;
        values_[i] = static_cast<double>((7 * element + 1301 * open.steps + 31 * static_cast<std::uint64_t>(variable.id) +
                                          101 * file.index + seed_) % 30011);
      }
      open.output.put(variable, {{row, 0}, {rows, file.columns}}, values_.data());
    }
  }

  void step(const File& file, Open& open) {
    const auto rank = static_cast<std::uint32_t>(rank_);
    open.output.begin_step();
    put(file, open, open.state, 1 + mix(seed_ + file.index + open.steps) % 20);
    // Holes that have to be filled: another rank's in every step, and where a fixed variable comes in a later step.
    if ((rank + open.steps + file.index) % 3 != 0) put(file, open, open.flags, file.rows);
    if (rank % file.steps == open.steps) put(file, open, open.mask, file.rows);
    witness_.enter_end(file.index, ++open.steps);
    open.output.end_step();
    witness_.ended(file.index, open.steps);
  }

  unsigned seed_;
  Program program_;
  Witness witness_;
  glean::Session session_;
  int rank_ = 0, ranks_ = 0;
  std::vector<double> values_;
};

void go(const std::vector<std::string>& arguments) {
  const auto seed = static_cast<unsigned>(std::stoul(arguments.back()));
  if (arguments[0] == "--references") {
    Writer(seed, {}).write_references(arguments[1], true);
    // No library writes others as the drain does: tests/session and tests/meshes let other programs read such files.
    return Writer(seed, {}, {{"mode", "threaded"}}).write_references(arguments[1], false);
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Witness witness(arguments[1] + "." + std::to_string(rank), make_program(seed).files.size());
  witness.reach(Phase::started);
  Writer(seed, witness).run(arguments[0]);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 2 && arguments[0] == "--list") {
    for (const File& file : make_program(static_cast<unsigned>(std::stoul(arguments[1]))).files) {
      std::printf("%s %u\n", file.name.c_str(), file.steps);
    }
    return 0;
  }
  if (arguments.size() != 3) {
    std::fprintf(stderr, "usage: kill_writer DIRECTORY WITNESS SEED | --references DIRECTORY SEED | --list SEED\n");
    return 2;
  }
  MPI_Init(&argc, &argv);
  try {
    go(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kill_writer: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
}
