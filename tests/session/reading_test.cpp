// SPDX-License-Identifier: BSD-3-Clause
//
// What was put is what is read, wherever it is on its way.
#include <dlfcn.h>
#include <pnetcdf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <thread>

#include "program.hpp"
#include "ranks.hpp"

// While it is true, an fsync of a directory waits: no name becomes durable.
static std::atomic<bool> holds_names{false};
struct NamesHeld {
  NamesHeld() { holds_names = true; }
  ~NamesHeld() { holds_names = false; }
};

extern "C" __attribute__((visibility("default"))) int fsync(int file) {
  static auto* const next = reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, "fsync"));
  struct stat status {};
  const bool is_directory = fstat(file, &status) == 0 && S_ISDIR(status.st_mode);
  while (is_directory && holds_names) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return next(file);
}

namespace glean::test {

namespace {

constexpr InputOptions through{.reading = Reading::written};

void barrier() { MPI_Barrier(MPI_COMM_WORLD); }

class Reads : public Ranks {
 protected:
  [[nodiscard]] int last() const { return size_ - 1; }
  [[nodiscard]] std::string last_rank() const { return "rank " + std::to_string(last()); }

  // All elements of `record` in a step, of all ranks.
  static void expect_record(const Input& in, std::uint64_t step, double value) {
    const auto values = in.read<double>(in.find_variable("record"), step);
    const auto wrong = std::count_if(values.begin(), values.end(), [&](double read) { return read != value; });
    EXPECT_EQ(wrong, 0) << "of " << values.size() << " in step " << step << ", the first is " << values.front();
  }

  // Reads what `program` says that all ranks have put, of the steps before `steps`, in the type of the file, and
  // compares with what PnetCDF reads from the file that PnetCDF has written.
  void expect_program(const Input& in, const Program& program, const std::string& expected_name) {
    int file = -1;
    ASSERT_EQ(ncmpi_open(MPI_COMM_SELF, path(expected_name).c_str(), NC_NOWRITE, MPI_INFO_NULL, &file), NC_NOERR);
    ASSERT_EQ(ncmpi_begin_indep_data(file), NC_NOERR);
    for (std::size_t v = 0; v < program.variables.size(); ++v) {
      const auto& variable = program.variables[v];
      SCOPED_TRACE(variable.name);
      const Variable handle = in.find_variable(variable.name);
      const VariableDescription description = in.describe(handle);
      EXPECT_EQ(description.external, variable.external);
      EXPECT_EQ(description.per_step, variable.per_step);
      EXPECT_EQ(description.shape, program.shape(variable));
      for (std::uint64_t step = 0; step < program.steps; ++step) {
        if (!variable.put_in_step[step]) continue;
        for (const Part& part : variable.parts) expect_part(in, handle, variable, step, part.box, file);
      }
      std::vector<std::string> dimensions;
      for (const int d : variable.dimensions) dimensions.push_back(name_of_dimension(file, d));
      EXPECT_EQ(description.dimensions, dimensions);
      expect_attributes(in, handle, variable.attributes);
    }
    expect_attributes(in, Variable{}, program.attributes);
    ncmpi_close(file);
  }

  static void expect_part(const Input& in, Variable handle, const ProgramVariable& variable, std::uint64_t step,
                          const Box& box, int file) {
    std::size_t elements = 1;
    for (const auto count : box.count) elements *= count;
    std::vector<std::byte> found(elements * size_of(variable.external)), expected(found.size());
    in.read_box(handle, step, box, variable.external, found.data(), elements);
    std::vector<MPI_Offset> start(box.start.begin(), box.start.end()), count(box.count.begin(), box.count.end());
    if (variable.per_step) {
      start.insert(start.begin(), static_cast<MPI_Offset>(step));
      count.insert(count.begin(), 1);
    }
    // The type of the file, nothing converted.
    const MPI_Datatype types[] = {MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_SHORT, MPI_UNSIGNED_SHORT, MPI_INT, MPI_UNSIGNED,
                                  MPI_LONG_LONG_INT, MPI_UNSIGNED_LONG_LONG, MPI_FLOAT, MPI_DOUBLE, MPI_CHAR};
    ASSERT_EQ(ncmpi_get_vara(file, handle.id, start.data(), count.data(), expected.data(),
                             static_cast<MPI_Offset>(elements), types[static_cast<int>(variable.external)]),
              NC_NOERR);
    EXPECT_EQ(found, expected) << "step " << step;
  }

  static std::string name_of_dimension(int file, int dimension) {
    char name[NC_MAX_NAME + 1] = {};
    EXPECT_EQ(ncmpi_inq_dimname(file, dimension, name), NC_NOERR);
    return name;
  }

  static void expect_attributes(const Input& in, Variable owner, const std::vector<Attribute>& expected) {
    const std::vector<AttributeDescription> found = in.attributes(owner);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t a = 0; a < expected.size(); ++a) {
      EXPECT_EQ(found[a].name, expected[a].name);
      EXPECT_EQ(found[a].external, expected[a].type);
      EXPECT_EQ(found[a].elements, expected[a].count);
      expect_attribute(in, owner, expected[a]);
    }
  }

  static void expect_attribute(const Input& in, Variable owner, const Attribute& attribute) {
    ASSERT_EQ(in.read_attribute(owner, attribute.name, attribute.type, nullptr, 0), attribute.count) << attribute.name;
    std::vector<std::byte> values(attribute.values.size());
    in.read_attribute(owner, attribute.name, attribute.type, values.data(), attribute.count);
    EXPECT_EQ(values, attribute.values) << attribute.name;
  }

  static std::uint64_t first_seed() { return arguments.empty() ? 1 : std::stoull(arguments[0]); }
  static std::uint64_t seeds() { return arguments.size() < 2 ? 10 : std::stoull(arguments[1]); }
};

// All types of file and of memory, all shapes, of all ranks, as soon as they are closed.
TEST_F(Reads, RandomProgramsWhileTheyDrain) {
  for (const Reading reading : {Reading::published, Reading::written}) {
    Session session(MPI_COMM_WORLD, with({{"drain.request", "4KiB"}, {"drain.threads", "2"}}));
    for (std::uint64_t seed = first_seed(); seed < first_seed() + seeds(); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      const Program program = random_program(seed, size_);
      const std::string name = "g" + std::to_string(seed), expected = "n" + std::to_string(seed);
      write_with_pnetcdf(MPI_COMM_WORLD, path(expected), program);
      write_with_glean(session, path(name), program, seed);

      const Input in = session.open_input(path(name), {.reading = reading});

      expect_program(in, program, expected);
    }
    session.close();
  }
}

// Large enough for direct writes; what was read before is in the page cache, with what lies behind it in the file.
TEST_F(Reads, StepsOfAnOutputThatIsOpen) {
  const auto per_rank = (std::uint64_t{12} << 20) / 8 / static_cast<std::uint64_t>(size_);
  Session session(MPI_COMM_WORLD, with({{"drain.request", "1MiB"}}));
  Simple file(session, path("a.nc"), per_rank);
  file.out.end_definitions();
  EXPECT_EQ(session.open_input(path("a.nc"), through).steps(), 0U);
  std::optional<Input> earlier;
  for (int step = 0; step < 4; ++step) {
    file.whole_step(step + 0.5);

    Input in = session.open_input(path("a.nc"), through);

    ASSERT_GE(in.steps(), static_cast<std::uint64_t>(step) + 1);
    expect_record(in, static_cast<std::uint64_t>(step), step + 0.5);
    expect_record(in, 0, 0.5);
    EXPECT_EQ(in.read<double>(in.find_variable("fixed")).back(), 0.5);
    if (earlier) expect_record(*earlier, static_cast<std::uint64_t>(step) - 1, step - 0.5);
    earlier.emplace(std::move(in));
  }
  EXPECT_FALSE(exists("a.nc"));
  barrier();
  file.out.close();
  expect_record(session.open_input(path("a.nc"), through), 3, 3.5);
  expect_record(session.open_input(path("a.nc")), 3, 3.5);
  EXPECT_TRUE(exists("a.nc"));
  expect_record(*earlier, 3, 3.5);   // opened under the working name
  session.close();
  expect_record(*earlier, 2, 2.5);
}

TEST_F(Reads, AFileThatIsPublishedWhenItsNameIsDurable) {
  if (const char* place = std::getenv("GLEAN_DRAIN_PLACE"); place != nullptr) GTEST_SKIP() << "another process drains";
  Session session(MPI_COMM_WORLD, with({}));
  Simple file(session, path("a.nc"));
  file.whole_step(1.5);
  std::optional<NamesHeld> held(std::in_place);
  file.out.close();

  expect_record(session.open_input(path("a.nc"), through), 0, 1.5);
  EXPECT_ERROR((void)session.open_input(path("a.nc"), {.seconds = 0.5}), Errc::timeout, "a.nc");
  barrier();
  held.reset();
  expect_record(session.open_input(path("a.nc")), 0, 1.5);
  EXPECT_EQ(session.outputs().back().state, OutputState::published);
  session.close();
}

TEST_F(Reads, NeverTheFileThatIsReplaced) {
  for (const char* mode : {"threaded", "collective", "passthrough"}) {
    for (const char* publish : {"rename", "in-place"}) {
      SCOPED_TRACE(std::string(mode) + " " + publish);
      Session session(MPI_COMM_WORLD, with({{"mode", mode}, {"publish", publish}, {"drain.threads", "2"}}));
      for (int i = 1; i <= 12; ++i) {
        Simple file(session, path("latest.nc"), i % 2 == 0 ? 8 : 50'000);
        file.whole_step(i + 0.5);
        file.out.close();
        const Input in = session.open_input(path("latest.nc"), i % 3 == 0 ? through : InputOptions{});
        EXPECT_EQ(in.steps(), 1U);
        expect_record(in, 0, i + 0.5);
        barrier();   // in place, the next one writes into the file that is being read
      }
      session.close();
      barrier();
    }
  }
}

TEST_F(Reads, ByAnyNameThatLeadsThere) {
  if (rank_ == 0) {
    std::filesystem::create_directory(path("run"));
    std::filesystem::create_symlink("run", path("link"));
    std::filesystem::create_symlink("run/a.nc", path("latest.nc"));
  }
  barrier();
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(directory_);
  Session session(MPI_COMM_WORLD, with({}));
  Simple file(session, "latest.nc");
  file.whole_step(1.5);
  std::filesystem::current_path(path("run"));
  for (const std::string& name : {path("run/a.nc"), path("link/a.nc"), path("latest.nc"), std::string("a.nc"),
                                  std::string("../run/./a.nc")}) {
    expect_record(session.open_input(name, through), 0, 1.5);
  }
  std::filesystem::current_path(before);
  file.out.close();
  for (const char* name : {"run/a.nc", "link/a.nc", "latest.nc"}) expect_record(session.open_input(path(name)), 0, 1.5);
  session.close();
}

TEST_F(Reads, OnOneRankWhileTheOthersGoOn) {
  Session session(MPI_COMM_WORLD, with({}));
  Simple file(session, path("a.nc"));
  for (int step = 0; step < 6; ++step) {
    file.whole_step(step + 0.5);
    if (step % size_ != rank_) continue;
    expect_record(session.open_input(path("a.nc"), through), static_cast<std::uint64_t>(step), step + 0.5);
  }
  file.out.close();
  if (rank_ == last()) expect_record(session.open_input(path("a.nc")), 5, 5.5);
  session.close();
}

TEST_F(Reads, NotBeforeAllRanksAreThereAndSayWhoIsMissing) {
  if (size_ < 2) GTEST_SKIP() << "needs two ranks";
  Session session(MPI_COMM_WORLD, with({}));
  Simple file(session, path("a.nc"));
  file.whole_step(1.5);
  if (rank_ != last()) {
    expect_record(session.open_input(path("a.nc"), through), 0, 1.5);
    file.whole_step(2.5);
    EXPECT_ERROR((void)session.open_input(path("a.nc"), {.reading = Reading::written, .seconds = 0.2}), Errc::timeout,
                 last_rank() + " has not ended step 1");
    file.out.close();
    EXPECT_ERROR((void)session.open_input(path("a.nc"), {.seconds = 0}), Errc::timeout, last_rank() + " has not ended step 1");
  }
  barrier();
  if (rank_ == last()) file.whole_step(2.5);
  if (rank_ != last()) {
    expect_record(session.open_input(path("a.nc"), through), 1, 2.5);   // closed here, open there
    EXPECT_ERROR((void)session.open_input(path("a.nc"), {.seconds = 0.2}), Errc::timeout, last_rank() + " has not closed it");
  } else {
    EXPECT_ERROR((void)session.open_input(path("a.nc")), Errc::invalid_state, "has not closed it");
  }
  barrier();
  if (rank_ == last()) file.out.close();
  expect_record(session.open_input(path("a.nc")), 1, 2.5);
  session.close();
}

// Not even when there is an older file of that name, and not only before the program has been told.
TEST_F(Reads, NothingOfAnOutputThatHasFailed) {
  Session session(MPI_COMM_WORLD, with({}));
  {
    Simple good(session, path("a.nc"));
    good.whole_step(1.5);
    good.out.close();
    expect_record(session.open_input(path("a.nc")), 0, 1.5);
  }
  barrier();
  Simple bad(session, path("a.nc"));
  bad.step(2.5);
  if (rank_ == last()) bad.out.put(bad.record, std::vector<double>(bad.elements, 3.5));
  bad.out.end_step();
  EXPECT_ERROR((void)session.open_input(path("a.nc"), through), Errc::overlap, "a.nc' cannot be completed");
  bad.out.close();
  for (const InputOptions options : {through, InputOptions{}}) {
    EXPECT_ERROR((void)session.open_input(path("a.nc"), options), Errc::overlap, last_rank());
  }
  barrier();
  EXPECT_ERROR(session.wait(Level::durable), Errc::overlap, "a.nc'");
  for (const InputOptions options : {through, InputOptions{}}) {
    EXPECT_ERROR((void)session.open_input(path("a.nc"), options), Errc::overlap, last_rank());
  }

  Simple again(session, path("a.nc"));
  again.whole_step(4.5);
  again.out.close();
  expect_record(session.open_input(path("a.nc")), 0, 4.5);
  session.wait(Level::durable);
  expect_record(session.open_input(path("a.nc")), 0, 4.5);
  session.close();
}

TEST_F(Reads, TheFileThatIsThereWhenAnOutputWasGivenUp) {
  Session session(MPI_COMM_WORLD, with({}));
  for (const double value : {1.5, 2.5}) {
    Simple file(session, path("a.nc"));
    file.whole_step(value);
    if (value == 1.5) file.out.close();
  }
  barrier();
  expect_record(session.open_input(path("a.nc")), 0, 1.5);
  session.close();
}

TEST_F(Reads, OutputsOfModePassthroughOnceTheyAreClosed) {
  Session session(MPI_COMM_WORLD, with({{"mode", "passthrough"}}));
  Simple file(session, path("a.nc"));
  file.whole_step(1.5);
  if (rank_ == last()) {
    EXPECT_ERROR((void)session.open_input(path("a.nc"), through), Errc::invalid_state, "passthrough");
  }
  file.out.close();
  expect_record(session.open_input(path("a.nc"), through), 0, 1.5);
  session.close();
}

TEST_F(Reads, FilesOfOthersWithConversion) {
  if (rank_ == 0) std::ofstream(path("text.nc")) << "not of this kind";
  Session session(MPI_COMM_WORLD, with({}));
  Output out = session.open(path("a.nc"), Format::cdf5);
  const Dimension dimensions[] = {out.define_dimension("y", 3), out.define_dimension("x", 4)};
  const Variable numbers = out.define_variable("numbers", Type::float64, dimensions, {Box{{0, 0}, {3, rank_ == 0 ? 4U : 0U}}});
  out.define_variable("letters", Type::text, std::span(dimensions + 1, 1), {});
  out.define_attribute("title", "here");
  const std::int16_t pair[] = {7, -8};
  out.define_attribute(numbers, "pair", std::span<const std::int16_t>(pair));
  out.begin_step();
  std::vector<double> values(rank_ == 0 ? 12 : 0);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 100 * static_cast<double>(i) + 0.5;
  out.put(numbers, values);
  out.end_step();
  out.close();
  session.close();
  barrier();

  Session other(MPI_COMM_WORLD, with({}));
  Input in = other.open_input(path("a.nc"));

  EXPECT_EQ(in.steps(), 0U);
  const Variable found = in.find_variable("numbers");
  ASSERT_EQ(in.variables().size(), 2U);
  EXPECT_EQ(in.variables()[static_cast<std::size_t>(found.id)].shape, (std::vector<std::uint64_t>{3, 4}));
  std::vector<std::int32_t> part(4);
  in.read(found, 0, Box{{1, 2}, {2, 2}}, part);
  EXPECT_EQ(part, (std::vector<std::int32_t>{600, 700, 1000, 1100}));
  EXPECT_EQ(in.attribute<double>(found, "pair"), (std::vector<double>{7, -8}));
  const auto title = in.attribute<char>("title");
  EXPECT_EQ(std::string(title.begin(), title.end()), "here");
  in.read(found, 0, Box{{3, 0}, {0, 4}}, std::span<std::int32_t>());
  in.prefetch(found, 0, Box{{1, 0}, {2, 4}});
  in.prefetch(found);

  std::int8_t small[4];
  EXPECT_ERROR(in.read(found, 0, Box{{0, 0}, {1, 4}}, std::span(small)), Errc::out_of_range, "'numbers'");
  EXPECT_EQ(small[1], 100);
  EXPECT_ERROR(in.read(found, 0, Box{{0, 0}, {3, 4}}, part), Errc::invalid_argument, "room for 4");
  EXPECT_ERROR(in.read(found, 0, Box{{0, 3}, {1, 2}}, std::span(small)), Errc::invalid_argument, "does not lie in");
  EXPECT_ERROR(in.read(found, 0, Box{{0}, {4}}, std::span(small)), Errc::invalid_argument, "1 dimensions");
  EXPECT_ERROR(in.prefetch(found, 0, Box{{0, 3}, {1, 2}}), Errc::invalid_argument, "does not lie in");
  EXPECT_ERROR(in.prefetch(Variable{7}), Errc::not_found, "no such variable");
  EXPECT_ERROR((void)in.read<char>(found), Errc::invalid_argument, "float64 as text");
  EXPECT_ERROR((void)in.read<int>(in.find_variable("letters")), Errc::invalid_argument, "text as int32");
  EXPECT_ERROR((void)in.attribute<int>("title"), Errc::invalid_argument, "text as int32");
  EXPECT_ERROR((void)in.attribute<int>("nothing"), Errc::not_found, "no attribute 'nothing'");
  EXPECT_ERROR((void)in.attribute<int>(found, "nothing"), Errc::not_found, "variable 'numbers' of");
  EXPECT_ERROR((void)in.find_variable("nothing"), Errc::not_found, "no variable 'nothing'");
  EXPECT_ERROR((void)in.describe(Variable{7}), Errc::not_found, "id 7");
  EXPECT_ERROR((void)other.open_input(path("nothing.nc")), Errc::not_found, "nothing.nc");
  EXPECT_ERROR((void)other.open_input(path("nowhere/a.nc")), Errc::not_found, "nowhere/a.nc");
  EXPECT_ERROR((void)other.open_input(path("")), Errc::invalid_argument, "it is a directory");
  const std::string text = path("text." + std::to_string(rank_)), hdf5 = path("hdf5." + std::to_string(rank_));
  std::ofstream(text) << "no data";
  std::ofstream(hdf5) << "\x89HDF\r\n\x1a\n";
  EXPECT_ERROR((void)other.open_input(text), Errc::invalid_argument, "no NetCDF file");
  EXPECT_ERROR((void)other.open_input(hdf5), Errc::invalid_argument, "and no HDF5 file");
  EXPECT_ERROR((void)other.open_input(path("text.nc")), Errc::invalid_argument, "text.nc");

  Input moved = std::move(in);
  EXPECT_ERROR((void)in.steps(), Errc::invalid_state, "moved from");
  other.close();
  EXPECT_EQ(moved.read<float>(found)[11], 1100.5F);   // the session is not needed any more
  EXPECT_ERROR((void)other.open_input(path("a.nc")), Errc::invalid_state, "the session is closed");
}

// The file ends before them, or in the middle of them.
TEST_F(Reads, ZerosWhereNoRankHasPutAnything) {
  Session session(MPI_COMM_WORLD, with({}));
  Output out = session.open(path("a.nc"), Format::cdf5);
  const Dimension x = out.define_dimension("x", 1000);
  const Variable put = out.define_variable("put", Type::float32, std::span(&x, 1), {Box{{0}, {rank_ == 0 ? 10U : 0U}}});
  out.define_variable("not_put", Type::float32, std::span(&x, 1), {});
  out.begin_step();
  out.put(put, std::vector<float>(rank_ == 0 ? 10 : 0, 2.5F));
  out.end_step();
  const Input early = session.open_input(path("a.nc"), through);
  out.close();
  const Input late = session.open_input(path("a.nc"));
  for (const Input* in : {&early, &late}) {
    EXPECT_EQ(in->read<double>(in->find_variable("put"))[9], 2.5);
    EXPECT_EQ(in->read<double>(in->find_variable("not_put")), std::vector<double>(1000, 0.0));
  }
  session.close();
}

}  // namespace

}  // namespace glean::test
