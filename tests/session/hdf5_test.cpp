// SPDX-License-Identifier: BSD-3-Clause
//
// Outputs of format HDF5, read and compared by h5py and h5diff (hdf5_files.py). COMMAND: `glean`, which verifies the checksums.
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "ranks.hpp"

#if GLEAN_HAVE_PARALLEL_HDF5
#include <hdf5.h>
#endif

namespace glean::test {

namespace {

class Hdf5 : public Ranks {
 protected:
  // What hdf5_files.py says of a file: "good", or what is wrong. On rank 0, with the others waiting.
  std::string checked(const std::string& what, const std::string& file, int steps) {
    MPI_Barrier(MPI_COMM_WORLD);
    std::string said;
    if (rank_ == 0) {
      const std::string command = std::string(GLEAN_PYTHON) + " -B " + GLEAN_HDF5_FILES + " " + what + " '" + path(file) + "' " +
                                  std::to_string(steps) + " " + std::to_string(size_) + " 2>&1";
      FILE* const pipe = popen(command.c_str(), "r");
      for (char part[256]; pipe != nullptr && std::fgets(part, sizeof part, pipe) != nullptr;) said += part;
      if (pipe != nullptr) pclose(pipe);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return rank_ == 0 ? said : "good\n";
  }
  int verified(const std::string& name) const {
    const char* command = std::getenv("COMMAND");
    if (rank_ != 0 || command == nullptr) return 0;
    return std::system(("env -i " + std::string(command) + " verify --quiet '" + path(name) + "' >&2").c_str());
  }
};

// Several record variables, fixed ones and groups; each rank but the last has two rows, and the last has nothing.
struct Flow {
  Flow(Session& session, const std::string& path) : out(session.open(path, Format::hdf5)) {
    int size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    has_rows = size == 1 || rank < size - 1;
    const auto all_rows = 2 * static_cast<std::uint64_t>(size);
    const Dimension t = out.define_unlimited("t"), y = out.define_dimension("y", all_rows), x = out.define_dimension("x", columns);
    const Dimension txy[] = {t, y, x};
    const auto whole = [&](std::uint64_t length) { return rank == 0 ? std::vector<Box>{{{0}, {length}}} : std::vector<Box>{}; };
    std::vector<Box> mine;
    if (has_rows) mine.push_back({{2 * static_cast<std::uint64_t>(rank), 0}, {2, columns}});
    along_x = out.define_variable("grid/x", Type::float64, std::span(&x, 1), whole(columns));
    ids = out.define_variable("ids", Type::int32, std::span(txy + 1, 2), mine);
    time = out.define_variable("time", Type::float64, std::span(&t, 1), rank == 0 ? std::vector<Box>{{{}, {}}} : std::vector<Box>{});
    density = out.define_variable("fluid/density", Type::float64, txy, mine);
    const std::vector<Box> my_rows = has_rows ? std::vector<Box>{{{2 * static_cast<std::uint64_t>(rank)}, {2}}} : std::vector<Box>{};
    label = out.define_variable("label", Type::text, std::span(txy, 2), my_rows);
    single = out.define_variable("fluid/species/h", Type::float32, txy, mine, {.fill = Fill::on});
    const double bounds[] = {0.5, 2};
    const std::int32_t one[] = {7};
    out.define_attribute("title", "A flow");
    out.define_attribute("fluid/name", "w\xc3\xa4sser");
    out.define_attribute(density, "units", "g/cm3");
    out.define_attribute(density, "bounds", std::span<const double>(bounds));
    out.define_attribute(density, "one", std::span<const std::int32_t>(one));
    out.define_attribute(density, "nothing", "");
  }

  void step() {
    const std::uint64_t first = steps * 1000 + 2 * static_cast<std::uint64_t>(rank) * columns;
    out.begin_step();
    if (rank == 0) out.put(time, std::vector<double>{0.5 * static_cast<double>(steps)});
    if (rank == 0 && steps == 0) out.put(along_x, std::vector<double>(columns, 0.25));
    if (has_rows) {
      std::vector<double> values(2 * columns);
      for (std::uint64_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(first + i);
      if (steps == 0) out.put(ids, values);
      out.put(density, values);
      out.put(single, values);
      out.put(label, std::vector<char>(2, static_cast<char>('a' + steps % 26)));
    }
    out.end_step();
    ++steps;
  }

  static constexpr std::uint64_t columns = 5;
  Output out;
  Variable along_x, ids, time, density, single, label;
  int rank = 0;
  bool has_rows = true;
  std::uint64_t steps = 0;
};

// Elements are in the file as in memory, and long variables begin at pages.
TEST_F(Hdf5, IsWrittenFromWhereItWasCaptured) {
  constexpr std::uint64_t per_rank = 100'003;
  {
    Session session(MPI_COMM_WORLD, with({{"report.file", path("report.json")}}));
    Output out = session.open(path("long.h5"), Format::hdf5);
    const Dimension x = out.define_dimension("x", per_rank * static_cast<std::uint64_t>(size_));
    const std::vector<Box> mine{{{per_rank * static_cast<std::uint64_t>(rank_)}, {per_rank}}};
    const Variable v = out.define_variable("v", Type::float64, std::span(&x, 1), mine);
    out.end_definitions();
    out.begin_step();
    out.put(v, std::vector<double>(per_rank, 0.5 + rank_));
    out.end_step();
    out.close();
    session.close();
  }
  EXPECT_EQ(checked("long", "long.h5", 1), "good\n");
  if (rank_ != 0) return;

  const auto report = nlohmann::json::parse(content("report.json"));

  const std::uint64_t bytes = per_rank * 8 * static_cast<std::uint64_t>(size_);
  const auto from_pool = report["drain"]["from_pool_bytes"].get<std::uint64_t>();
  if (std::getenv("GLEAN_DRAIN_PLACE") != nullptr) {   // a process of its own, which may be killed while its writes are on their way
    EXPECT_EQ(from_pool, 0U);
  } else if (report["nodes"] == 1) {   // several send it to each other
    EXPECT_GT(from_pool, bytes / 2);
  }
}

TEST_F(Hdf5, IsWhatAProgramWithTheLibraryWrites) {
  Session session(MPI_COMM_WORLD, with({{"checksums", "true"}, {"drain.request", "4KiB"}}));
  for (const int steps : {0, 1, 5, 300}) {   // of 300 the indexes of chunks lie behind the data
    const std::string name = "a" + std::to_string(steps) + ".h5";
    Flow flow(session, path(name));
    flow.out.end_definitions();
    for (int step = 0; step < steps; ++step) flow.step();
    flow.out.close(Level::durable);
    EXPECT_EQ(checked("same", name, steps), "good\n") << steps << " steps";
    EXPECT_EQ(verified(name), 0) << steps << " steps";
  }
}

TEST_F(Hdf5, CanBeReadAsFarAsItIsDurable) {
  Session session(MPI_COMM_WORLD, with({}));
  Flow flow(session, path("a.h5"));
  for (int step = 0; step < 3; ++step) flow.step();
  flow.out.wait(Level::durable);
  EXPECT_EQ(checked("steps", working_name(), 3), "good\n");
  for (int step = 0; step < 3; ++step) flow.step();
  flow.out.close(Level::durable);
  EXPECT_EQ(checked("same", "a.h5", 6), "good\n");
}

#if GLEAN_HAVE_PARALLEL_HDF5
// Which is another one than that of the module, and has a file open meanwhile.
TEST_F(Hdf5, IsReadByTheLibraryThatTheProgramHas) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  const hid_t own = H5Fcreate(path("own.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  {
    Session session(MPI_COMM_WORLD, with({}));
    Flow flow(session, path("a.h5"));
    for (int step = 0; step < 3; ++step) flow.step();
    flow.out.close(Level::durable);
    session.close();
  }
  EXPECT_GE(H5Fclose(own), 0);
  const hid_t file = H5Fopen(path("a.h5").c_str(), H5F_ACC_RDONLY, access);
  const hid_t dataset = H5Dopen2(file, "fluid/density", H5P_DEFAULT);
  std::vector<double> values(3 * 2 * static_cast<std::size_t>(size_) * Flow::columns);
  EXPECT_GE(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
  EXPECT_EQ(values[4], 4);
  EXPECT_EQ(values[2 * values.size() / 3 + 4], 2004);
  H5Dclose(dataset);
  H5Fclose(file);
  H5Pclose(access);
}
#endif

TEST_F(Hdf5, SaysWhatItCannotHold) {
  Session session(MPI_COMM_WORLD, with({}));
  {
    Simple file(session, path("a.h5"), 8, Format::hdf5);
    file.out.define_attribute(file.record, "long", std::string(100'000, 'x'));
    EXPECT_ERROR(file.out.end_definitions(), Errc::invalid_argument, "cannot define attribute 'long' of variable 'record'");
  }
  Output out = session.open(path("b.h5"), Format::hdf5);
  EXPECT_ERROR(out.define_dimension("a//b", 2), Errc::invalid_argument, "a//b");
  session.close();
  EXPECT_EQ(others(), std::vector<std::string>{});
}

TEST_F(Hdf5, IsNotWrittenDirectly) {
  for (const char* mode : {"passthrough", "collective"}) {
    Session session(MPI_COMM_WORLD, with({{"mode", mode}}));
    Simple file(session, path("a.h5"), 8, Format::hdf5);
    EXPECT_ERROR(file.out.end_definitions(), Errc::unsupported, "'hdf5'");
  }
}

}  // namespace

}  // namespace glean::test
