// SPDX-License-Identifier: BSD-3-Clause
//
// HDF5 files as inputs: those of sessions, and those that h5py writes (hdf5_inputs.py).
#include <fcntl.h>
#include <sys/stat.h>

#include <cstdio>
#include <random>

#include "ranks.hpp"

namespace glean::test {
namespace {

namespace fs = std::filesystem;

// Ranks of a communicator of its own, which write or read.
struct Group {
  Group(int ranks, int rank) { MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : 1, rank, &comm); }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group() { MPI_Comm_free(&comm); }
  MPI_Comm comm = MPI_COMM_NULL;
};

class Hdf5Inputs : public Ranks {
 protected:
  void make(const std::string& kind, const std::string& name) {
    if (rank_ == 0) {
      const std::string command = std::string(GLEAN_PYTHON) + " -B " + GLEAN_HDF5_INPUTS + " " + kind + " '" + path(name) + "' 2>&1";
      FILE* const pipe = popen(command.c_str(), "r");
      std::string said;
      for (char part[256]; pipe != nullptr && std::fgets(part, sizeof part, pipe) != nullptr;) said += part;
      if (pipe != nullptr) pclose(pipe);
      EXPECT_EQ(said, "written\n");
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  template <class Action>
  void alone(Action action) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == 0) action();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  // One that lies in the shape, as a seed has it.
  static Box some_box(const std::vector<std::uint64_t>& shape, std::mt19937& random) {
    Box box;
    for (const std::uint64_t length : shape) {
      box.start.push_back(random() % length);
      box.count.push_back(1 + random() % (length - box.start.back()));
    }
    return box;
  }
  // The places of the box's elements in its array.
  static std::vector<std::uint64_t> places(const Box& box, const std::vector<std::uint64_t>& shape) {
    std::vector<std::uint64_t> all{0};
    for (std::size_t d = 0; d < shape.size(); ++d) {
      std::vector<std::uint64_t> next;
      for (const std::uint64_t outer : all) {
        for (std::uint64_t i = 0; i < box.count[d]; ++i) next.push_back(outer * shape[d] + box.start[d] + i);
      }
      all = std::move(next);
    }
    return all;
  }
  // Numbers are as hdf5_inputs.py has them: boxes of all steps, as all types.
  template <class T>
  void expect_counted(const Input& in, const VariableDescription& known, std::mt19937& random) {
    const Variable variable = in.find_variable(known.name);
    for (std::uint64_t step = 0; step < (known.per_step ? 4 : 1); ++step) {
      const Box box = some_box(known.shape, random);
      const auto at = places(box, known.shape);
      std::vector<T> values(at.size());
      in.read(variable, step, box, values);
      const std::uint64_t before = step * 15;
      for (std::size_t i = 0; i < at.size(); ++i) ASSERT_EQ(values[i], static_cast<T>((before + at[i]) % 100)) << known.name;
    }
  }
  static std::string text(const Input& in, const std::string& name, std::uint64_t length) {
    std::string found(length, ' ');
    const Variable variable = in.find_variable(name);
    const auto shape = in.describe(variable).shape;
    in.read(variable, 0, Box{std::vector<std::uint64_t>(shape.size()), shape}, std::span(found));
    return found;
  }
  static std::string text_attribute(const Input& in, const std::string& name) { return text_attribute(in, Variable{}, name); }
  static std::string text_attribute(const Input& in, Variable variable, const std::string& name) {
    const auto found = in.attribute<char>(variable, name);
    return {found.begin(), found.end()};
  }
};

// Rows of a grid, of which a rank has as many as come to it, and what goes with them.
struct Grid {
  static constexpr std::uint64_t rows = 24, columns = 7;
  static double value(std::uint64_t step, std::uint64_t place) { return 1000.0 * static_cast<double>(step) + static_cast<double>(place); }

  static void write(Session& session, MPI_Comm comm, const std::string& path, std::uint64_t steps) {
    int rank = 0, size = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const std::uint64_t first = rows * rank / size, mine = rows * (rank + 1) / size - first;
    Output out = session.open(path, Format::hdf5);
    const Dimension t = out.define_unlimited("t"), y = out.define_dimension("y", rows), x = out.define_dimension("x", columns);
    const Dimension txy[] = {t, y, x};
    const Box box{{first, 0}, {mine, columns}};
    const auto on_first = [&](Box whole) { return rank == 0 ? std::vector<Box>{std::move(whole)} : std::vector<Box>{}; };
    const Variable along = out.define_variable("x", Type::float64, std::span(&x, 1), on_first({{0}, {columns}}));
    const Variable ids = out.define_variable("ids", Type::int16, std::span(txy + 1, 2), {box});
    const Variable density = out.define_variable("fluid/density", Type::float64, txy, {box});
    const Variable label = out.define_variable("label", Type::text, std::span(txy, 2), {Box{{first}, {mine}}});
    const Variable time = out.define_variable("time", Type::float64, std::span(&t, 1), on_first({{}, {}}));
    out.define_attribute("title", "A grid");
    out.define_attribute("fluid/name", "water");
    out.define_attribute(density, "units", "g/cm3");
    const std::int64_t number[] = {42};
    out.define_attribute("step", std::span<const std::int64_t>(number));
    for (std::uint64_t step = 0; step < steps; ++step) {
      out.begin_step();
      std::vector<double> values(mine * columns);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = value(step, first * columns + i);
      if (step == 0 && rank == 0) out.put(along, std::vector<double>(columns, 0.5));
      if (step == 0) out.put(ids, values);
      out.put(density, values);
      out.put(label, std::vector<char>(mine, static_cast<char>('a' + step % 26)));
      if (rank == 0) out.put(time, std::vector<double>{0.5 * static_cast<double>(step)});
      out.end_step();
    }
    out.close();
  }
};

TEST_F(Hdf5Inputs, AreRestartsOnAnyNumberOfRanks) {
  for (const std::uint64_t steps : {1U, 5U, 300U}) {   // of 300 the indexes of chunks lie behind the data
    SCOPED_TRACE(steps);
    const std::string name = "chk_" + std::to_string(steps) + ".h5";
    const int writers = steps == 5 ? (size_ + 1) / 2 : size_, readers = steps == 5 ? size_ : (size_ + 1) / 2;
    const Group write_group(writers, rank_), read_group(readers, rank_);
    if (rank_ < writers) {
      Session session(write_group.comm, with({}));
      Grid::write(session, write_group.comm, path(name), steps);
      session.wait(Level::durable);
      session.close();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ >= readers) continue;
    Session session(read_group.comm, with({}));
    const Input in = session.restart(path("chk_*.h5"));

    ASSERT_EQ(in.path(), path(name));
    EXPECT_EQ(in.steps(), steps);
    EXPECT_EQ(in.attribute<std::int64_t>("step"), std::vector<std::int64_t>{42});
    EXPECT_EQ(text_attribute(in, "fluid/name"), "water");
    const Variable density = in.find_variable("fluid/density");
    EXPECT_EQ(text_attribute(in, density, "units"), "g/cm3");
    const VariableDescription known = in.describe(density);
    EXPECT_EQ(known.shape, (std::vector<std::uint64_t>{Grid::rows, Grid::columns}));
    EXPECT_TRUE(known.per_step);
    EXPECT_EQ(known.external, Type::float64);
    EXPECT_EQ(known.dimensions.back(), "x");
    std::mt19937 random(static_cast<unsigned>(rank_));
    for (int turn = 0; turn < 20; ++turn) {
      const std::uint64_t step = random() % steps;
      const Box box = some_box(known.shape, random);
      const auto at = places(box, known.shape);
      std::vector<double> values(at.size());
      in.read(density, step, box, values);
      for (std::size_t i = 0; i < at.size(); ++i) ASSERT_EQ(values[i], Grid::value(step, at[i]));
    }
    EXPECT_EQ(in.read<double>(in.find_variable("time"), steps - 1).front(), 0.5 * static_cast<double>(steps - 1));
    EXPECT_EQ(in.read<std::int64_t>(in.find_variable("ids")).back(), Grid::rows * Grid::columns - 1);
    EXPECT_EQ(in.read<char>(in.find_variable("label"), steps - 1).front(), static_cast<char>('a' + (steps - 1) % 26));
    EXPECT_EQ(in.read<float>(in.find_variable("x")).front(), 0.5F);
    EXPECT_ERROR((void)in.read<double>(density, steps), Errc::not_found, "has no step");
    session.close();
  }
}

TEST_F(Hdf5Inputs, OfAnOutputThatIsOpenHaveTheStepsThatAreWritten) {
  Session session(MPI_COMM_WORLD, with({}));
  Simple file(session, path("a.h5"), 8, Format::hdf5);
  file.whole_step(1.5);
  file.whole_step(2.5);

  const Input in = session.open_input(path("a.h5"), {.reading = Reading::written});

  EXPECT_EQ(in.steps(), 2U);
  EXPECT_EQ(in.read<double>(in.find_variable("record"), 1).back(), 2.5);
  file.out.close();
  session.close();
}

TEST_F(Hdf5Inputs, OfAllTypesInBothByteOrdersAndAllLayouts) {
  for (const char* kind : {"numbers", "numbers+latest", "numbers+user"}) {
    SCOPED_TRACE(kind);
    const std::string name = std::string(kind) + ".h5";
    make(kind, name);
    Session session(MPI_COMM_WORLD, with({}));

    const Input in = session.open_input(path(name));

    const auto variables = in.variables();
    EXPECT_EQ(variables.size(), 2U * 4 * 10 + 4);
    std::mt19937 random(static_cast<unsigned>(rank_));
    for (const VariableDescription& known : variables) {
      if (known.name == "filled") {
        EXPECT_EQ(in.read<float>(in.find_variable("filled")), std::vector<float>(60, 7));
        continue;
      }
      EXPECT_EQ(known.per_step, known.name.find("/steps/") != std::string::npos) << known.name;
      expect_counted<double>(in, known, random);
      expect_counted<float>(in, known, random);
      expect_counted<std::int8_t>(in, known, random);
      expect_counted<std::uint64_t>(in, known, random);
      expect_counted<std::int32_t>(in, known, random);
    }
    EXPECT_EQ(in.describe(in.find_variable("big/compressed/u2")).external, Type::uint16);
    EXPECT_EQ(in.describe(in.find_variable("half")).external, Type::float32);
    session.close();
  }
}

TEST_F(Hdf5Inputs, HaveGroupsAttributesNamesOfDimensionsAndTexts) {
  make("objects", "a.h5");
  Session session(MPI_COMM_WORLD, with({}));

  const Input in = session.open_input(path("a.h5"));

  EXPECT_EQ(in.read<double>(in.find_variable("scalar")), std::vector<double>{2.5});
  EXPECT_EQ(in.describe(in.find_variable("empty")).shape, (std::vector<std::uint64_t>{0, 3}));
  EXPECT_TRUE(in.read<double>(in.find_variable("empty")).empty());
  EXPECT_TRUE(in.read<double>(in.find_variable("null")).empty());
  EXPECT_EQ(in.read<int>(in.find_variable("flags")), (std::vector<int>{1, 0, 1}));
  EXPECT_EQ(text(in, "names", 12), std::string("dens") + std::string("pr\0\0", 4) + "temp");
  EXPECT_EQ(text(in, "letters", 2), "ab");
  EXPECT_EQ(in.describe(in.find_variable("a/b/deep")).dimensions, std::vector<std::string>{"x"});
  EXPECT_EQ(in.describe(in.find_variable("x")).dimensions, std::vector<std::string>{"x"});
  EXPECT_EQ(in.describe(in.find_variable("temperature")).dimensions, std::vector<std::string>{"lon"});
  EXPECT_ERROR((void)in.find_variable("lon"), Errc::not_found, "no variable 'lon'");
  const Variable labelled = in.find_variable("labelled");
  EXPECT_EQ(in.describe(labelled).dimensions, (std::vector<std::string>{"row", "column"}));
  EXPECT_EQ(in.attribute<double>(labelled, "scale"), std::vector<double>{0.5});
  EXPECT_EQ(text_attribute(in, "title"), "Größe");
  EXPECT_EQ(text_attribute(in, "fixed"), "fixed");
  EXPECT_EQ(text_attribute(in, "a/b/units"), "cm");
  EXPECT_EQ(in.attribute<int>("big"), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(in.attribute<double>("matrix"), (std::vector<double>{1.5, 2.5, 3.5, 4.5}));
  EXPECT_EQ(in.attribute<int>("flag"), std::vector<int>{1});
  EXPECT_TRUE(in.attribute<float>("nothing").empty());
  EXPECT_TRUE(in.attributes(in.find_variable("x")).empty());   // what marks a scale is none
  session.close();
}

TEST_F(Hdf5Inputs, SayWhatCannotBeRead) {
  make("objects", "a.h5");
  Session session(MPI_COMM_WORLD, with({}));

  const Input in = session.open_input(path("a.h5"));

  for (const auto& known : in.variables()) {
    EXPECT_TRUE(known.name != "text" && known.name != "link" && known.name != "virtual") << known.name;
  }
  EXPECT_ERROR((void)in.find_variable("text"), Errc::unsupported, "cannot read variable 'text'");
  EXPECT_ERROR((void)in.find_variable("text"), Errc::unsupported, "texts of variable length");
  EXPECT_ERROR((void)in.find_variable("link"), Errc::unsupported, "it has references");
  EXPECT_ERROR((void)in.find_variable("virtual"), Errc::unsupported, "it is virtual");
  EXPECT_ERROR((void)text_attribute(in, "texts"), Errc::unsupported, "it has 2 texts");
  EXPECT_ERROR((void)in.find_variable("soft"), Errc::not_found, "no variable 'soft'");
  EXPECT_ERROR((void)in.find_variable("elsewhere"), Errc::not_found, "no variable 'elsewhere'");
  session.close();
}

TEST_F(Hdf5Inputs, HaveThePartsOfTables) {
  make("flash", "flash_hdf5_chk_0001");
  Session session(MPI_COMM_WORLD, with({}));

  const Input in = session.restart(path("flash_hdf5_chk_*"));

  EXPECT_EQ(in.read<int>(in.find_variable("integer scalars.value")), (std::vector<int>{11, 42}));
  EXPECT_EQ(in.read<double>(in.find_variable("real scalars.value")), (std::vector<double>{0.25, 1.5}));
  EXPECT_EQ(text(in, "real scalars.name", 160).substr(80, 6), "nstep ");
  std::string piece(3, ' ');
  in.read(in.find_variable("integer scalars.name"), 0, Box{{1, 2}, {1, 3}}, std::span(piece));
  EXPECT_EQ(piece, "tep");
  EXPECT_EQ(text(in, "unknown names", 8), "denspres");
  EXPECT_EQ(in.read<double>(in.find_variable("dens"))[95], 95);
  EXPECT_ERROR((void)in.find_variable("real scalars"), Errc::unsupported, "'real scalars.PART'");
  session.close();
}

TEST_F(Hdf5Inputs, AreCompleteForARestart) {
  make("flash", "chk_1.h5");
  for (const char* name : {"chk_2.h5", "chk_3.h5", "chk_4.h5"}) make("flash+latest", name);
  alone([&] {
    fs::resize_file(path("chk_2.h5"), fs::file_size(path("chk_2.h5")) - 1);
    fs::resize_file(path("chk_3.h5"), fs::file_size(path("chk_3.h5")) + 1);
    fs::resize_file(path("chk_4.h5"), 20);
    std::ofstream(path("chk_5.h5")) << "no such file";
    const timespec long_ago[2] = {{0, UTIME_OMIT}, {1'700'000'000, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, path("chk_1.h5").c_str(), long_ago, 0), 0);
  });
  Session session(MPI_COMM_WORLD, with({}));

  EXPECT_EQ(session.restart(path("chk_*.h5")).path(), path("chk_1.h5"));
  EXPECT_ERROR((void)session.restart(path("chk_2.h5")), Errc::io, "it ends 1 bytes before the end that its superblock states");
  EXPECT_ERROR((void)session.restart(path("chk_3.h5")), Errc::io, "1 bytes lie behind the end");
  EXPECT_ERROR((void)session.restart(path("chk_4.h5")), Errc::io, "chk_4.h5");
  EXPECT_ERROR((void)session.open_input(path("chk_2.h5")), Errc::invalid_argument, "truncated file");
  EXPECT_EQ(session.open_input(path("chk_3.h5")).variables().size(), 6U);
  session.close();
}

TEST_F(Hdf5Inputs, WithoutStepsWereNotFinished) {
  for (const char* checksums : {"false", "true"}) {
    SCOPED_TRACE(checksums);
    Session session(MPI_COMM_WORLD, with({{"checksums", checksums}}));
    Grid::write(session, MPI_COMM_WORLD, path("chk_1.h5"), 0);
    session.wait(Level::durable);
    EXPECT_ERROR((void)session.restart(path("chk_*.h5")), Errc::io, "counts no steps");
    Grid::write(session, MPI_COMM_WORLD, path("chk_1.h5"), 2);
    session.wait(Level::durable);
    EXPECT_EQ(session.restart(path("chk_*.h5")).steps(), 2U);
    session.close();
  }
}

}  // namespace
}  // namespace glean::test
