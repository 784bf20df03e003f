// SPDX-License-Identifier: BSD-3-Clause
//
// Writes the same output twice through the library, as NetCDF and as HDF5: what `glean convert` makes of the one is to be the other.
//
//   native DIRECTORY      native.nc, native.h5; and what only HDF5 has, in "groups 100%.h5"
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "glean/glean.hpp"

namespace {

template <class T>
void add_attributes(glean::Output& out, glean::Variable variable, const std::string& of) {
  out.define_attribute(variable, "units", std::string("10 µm of ") + of);
  const T fill[] = {static_cast<T>(-1)};
  out.define_attribute(variable, "_FillValue", std::span<const T>(fill));
  const std::vector<double> range = {-1, 1e30};
  out.define_attribute(variable, "valid_range", std::span<const double>(range));
}

// One fixed variable, and one with steps, of a type.
template <class T>
struct Pair {
  glean::Variable fixed, of_steps;
  std::vector<T> values;

  Pair(glean::Output& out, const std::string& name, glean::Type type, std::span<const glean::Dimension> dimensions, const glean::Box& mine,
       std::uint64_t elements)
      : values(elements) {
    const glean::Dimension grid[] = {dimensions[1], dimensions[2]};
    fixed = out.define_variable(name, type, grid, {mine});
    of_steps = out.define_variable(name + " of steps", type, dimensions, {mine});
    add_attributes<T>(out, of_steps, name);
    std::iota(values.begin(), values.end(), T{1});
  }
};

void write(glean::Session& session, const std::string& path, glean::Format format, int rank, int ranks) {
  constexpr std::uint64_t rows = 5, columns = 7;
  const auto mine_of = static_cast<std::uint64_t>(rank), all = static_cast<std::uint64_t>(ranks);
  glean::Output out = session.open(path, format);
  out.define_attribute("title", "ein Titel mit Umläuten");
  const std::vector<std::int64_t> many = {1, -2, 3};
  out.define_attribute("numbers", std::span<const std::int64_t>(many));
  const glean::Dimension dimensions[] = {out.define_unlimited("time"), out.define_dimension("row", rows * all),
                                         out.define_dimension("column", columns)};
  const glean::Box mine = {{rows * mine_of, 0}, {rows, columns}};
  const glean::Variable row = out.define_variable("row", glean::Type::float64, std::span(&dimensions[1], 1), {{{rows * mine_of}, {rows}}});
  const std::vector<glean::Box> of_first = mine_of == 0 ? std::vector<glean::Box>{{{}, {}}} : std::vector<glean::Box>{};
  const glean::Variable time = out.define_variable("time", glean::Type::float64, std::span(&dimensions[0], 1), of_first);
  Pair<std::int8_t> bytes(out, "int8", glean::Type::int8, dimensions, mine, rows * columns);
  Pair<std::int16_t> shorts(out, "int16", glean::Type::int16, dimensions, mine, rows * columns);
  Pair<std::uint32_t> words(out, "uint32", glean::Type::uint32, dimensions, mine, rows * columns);
  Pair<std::int64_t> longs(out, "int64", glean::Type::int64, dimensions, mine, rows * columns);
  Pair<float> singles(out, "float32", glean::Type::float32, dimensions, mine, rows * columns);
  Pair<double> doubles(out, "float64", glean::Type::float64, dimensions, mine, rows * columns);
  for (int step = 0; step < 3; ++step) {
    out.begin_step();
    if (step == 0) out.put(row, std::vector<double>(rows, 0.5 * (rank + 1)));
    if (rank == 0) out.put(time, std::vector<double>{0.25 * step});
    const auto put = [&](auto& pair) {
      if (step == 0) out.put(pair.fixed, pair.values);
      for (auto& value : pair.values) ++value;
      out.put(pair.of_steps, pair.values);
    };
    put(bytes), put(shorts), put(words), put(longs), put(singles), put(doubles);
    out.end_step();
  }
  out.close(glean::Level::durable);
}

// Groups, one number, text, what no rank puts, and more steps than the header has room for.
void write_groups(glean::Session& session, const std::string& path, int rank, int ranks) {
  constexpr std::uint64_t each = 6;
  const auto mine = static_cast<std::uint64_t>(rank), all = static_cast<std::uint64_t>(ranks);
  glean::Output out = session.open(path, glean::Format::hdf5);
  const glean::Dimension time = out.define_unlimited("time"), x = out.define_dimension("x", each * all);
  const glean::Dimension row[] = {x}, steps[] = {time, x};
  out.define_attribute("run/author", "a test");
  out.define_attribute("run/empty/note", "");
  const std::vector<glean::Box> of_last = rank == ranks - 1 ? std::vector<glean::Box>{{}} : std::vector<glean::Box>{};
  const glean::Variable seed = out.define_variable("run/seed", glean::Type::int64, {}, of_last);
  out.define_variable("run/missing", glean::Type::int64, {}, {}, {.fill = glean::Fill::on});
  const glean::Variable word = out.define_variable("run/50% done", glean::Type::text, row, {{{each * mine}, {each}}});
  const std::vector<glean::Box> apart = {{{each * mine}, {2}}, {{each * mine + 4}, {1}}};
  const glean::Variable filled = out.define_variable("fluid/filled", glean::Type::float32, steps, apart, {.fill = glean::Fill::on});
  const glean::Variable holes = out.define_variable("fluid/holes", glean::Type::float32, row, apart);
  const float fill[] = {-1};
  out.define_attribute(holes, "_FillValue", std::span<const float>(fill));   // zeros in the file all the same
  out.define_variable("fluid/untouched", glean::Type::float64, steps, {});
  for (int step = 0; step < 300; ++step) {
    const std::vector<float> values = {100.0F * static_cast<float>(rank) + static_cast<float>(step), 2, 3};
    out.begin_step();
    if (step == 0 && rank == ranks - 1) out.put(seed, std::vector<std::int64_t>{42});
    if (step == 0) out.put(word, std::vector<char>(each, static_cast<char>('a' + rank)));
    if (step == 0) out.put(holes, values);
    out.put(filled, values);
    out.end_step();
  }
  out.close(glean::Level::durable);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  {
    glean::Session session(MPI_COMM_WORLD);
    const std::string directory = argv[1];
    write(session, directory + "/native.nc", glean::Format::cdf5, rank, ranks);
    write(session, directory + "/native.h5", glean::Format::hdf5, rank, ranks);
    write_groups(session, directory + "/groups 100%.h5", rank, ranks);
    session.close();
  }
  MPI_Finalize();
}
