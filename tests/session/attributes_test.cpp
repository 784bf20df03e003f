// SPDX-License-Identifier: BSD-3-Clause
//
// Attributes whose values come until an output is closed: the file is the one that has them from the beginning. With stagers
// tests/with_stagers has chosen the mode.
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "ranks.hpp"

namespace glean::test {

namespace {

constexpr const char* first_text = "not known yet, and long enough for all";

class LateAttributes : public Ranks {
 protected:
  enum class Values { first, last };
  struct Attributes {
    std::string state = first_text;
    double seconds = -1;
    std::array<std::int32_t, 3> counts{};
    std::int8_t flag = 0;
    float residual = 0;
  };
  [[nodiscard]] static Attributes last() {
    Attributes values{"done", 12.5, {7, -8, 9'000'000}, 3, 1e-7F};
    values.state.resize(std::string(first_text).size(), '\0');   // how shorter text is padded
    return values;
  }

  // A file with everything that a step more might disturb: filled records, a filled fixed variable, one that no rank puts.
  struct File {
    File(Session& session, const std::string& path, Format format, const Attributes& values, bool may_change)
        : out(session.open(path, format)) {
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      MPI_Comm_size(MPI_COMM_WORLD, &size);
      const auto all = 4 * static_cast<std::uint64_t>(size);
      const Dimension dimensions[] = {out.define_unlimited("t"), out.define_dimension("x", all)};
      const Box mine{{4 * static_cast<std::uint64_t>(rank)}, {4}};
      record = out.define_variable("record", Type::float64, dimensions, {mine}, {.fill = Fill::on});
      fixed = out.define_variable("fixed", Type::int16, std::span(dimensions + 1, 1), {mine}, {.fill = Fill::on});
      out.define_attribute("state", values.state);
      out.define_attribute("title", "of no change");
      out.define_attribute("seconds", std::span(&values.seconds, 1));
      out.define_attribute(record, "counts", std::span<const std::int32_t>(values.counts));
      out.define_attribute(fixed, "flag", std::span(&values.flag, 1));
      out.define_attribute(record, "residual", std::span(&values.residual, 1));
      if (!may_change) return;
      for (const char* name : {"state", "seconds"}) out.allow_attribute_change(name);
      for (const char* name : {"counts", "residual"}) out.allow_attribute_change(record, name);
      out.allow_attribute_change(fixed, "flag");
    }
    void set(const Attributes& values) {
      out.set_attribute("seconds", std::span(&values.seconds, 1));
      out.set_attribute("state", std::string_view(values.state.c_str()));   // without what it is padded with
      out.set_attribute(record, "counts", std::span<const std::int32_t>(values.counts));
      out.set_attribute(record, "residual", std::span(&values.residual, 1));
      out.set_attribute(fixed, "flag", std::span(&values.flag, 1));
    }
    void step(int number) {
      out.begin_step();
      if (number == 1 && rank != size - 1) out.put(fixed, std::vector<int>(4, 5));
      if (rank % 2 == 0) out.put(record, std::vector<double>(4, 0.5 + number));
      out.end_step();
    }
    Output out;
    Variable record, fixed;
    int rank = 0, size = 1;
  };

  void write(Session& session, const std::string& name, Format format, int steps, Values values) {
    File file(session, path(name), format, values == Values::first ? Attributes{} : last(), values == Values::first);
    file.out.end_definitions();
    for (int step = 0; step < steps; ++step) {
      if (values == Values::first) file.set({"step " + std::to_string(step), static_cast<double>(step), {step, step, step}, 1, 0.5F});
      file.step(step);
    }
    if (values == Values::first) file.set(last());
    file.out.close(Level::durable);
  }
  [[nodiscard]] int verified(const std::string& name) const {
    const char* command = std::getenv("COMMAND");
    if (rank_ != 0 || command == nullptr) return 0;
    return std::system(("env -i " + std::string(command) + " verify --quiet '" + path(name) + "' >&2").c_str());
  }
  void expect_last_values(Session& session, const std::string& name) {
    const Input in = session.open_input(path(name));
    EXPECT_EQ(in.attribute<double>("seconds"), std::vector<double>{12.5}) << name;
    EXPECT_EQ(in.attribute<std::int32_t>(in.find_variable("record"), "counts"), (std::vector<std::int32_t>{7, -8, 9'000'000})) << name;
  }
  // In that setting the file with late attributes is the one with early ones.
  void expect_same(const Settings& settings, Format format, int steps) {
    Session session(MPI_COMM_WORLD, with(settings));
    write(session, "early", format, steps, Values::last);
    write(session, "late", format, steps, Values::first);
    expect_same_files("late", "early");
    if (settings.contains("checksums")) EXPECT_EQ(verified("late"), 0);
    expect_last_values(session, "late");
    for (const OutputStatus& status : session.outputs()) {
      EXPECT_EQ(status.state, OutputState::published);
      EXPECT_EQ(status.steps_ended, static_cast<std::uint64_t>(steps));
      EXPECT_EQ(status.steps_durable, static_cast<std::uint64_t>(steps));
    }
    session.close();
  }
};

TEST_F(LateAttributes, AreInTheFileAsIfTheyHadBeenKnownAtFirst) {
  expect_same({{"checksums", "true"}}, Format::cdf1, 0);
  expect_same({{"checksums", "true"}}, Format::cdf2, 1);
  expect_same({{"checksums", "true"}}, Format::cdf5, 3);
}

TEST_F(LateAttributes, AreInHdf5Files) {
  const auto without_hdf5 = thrown([&] { expect_same({{"checksums", "true"}}, Format::hdf5, 2); });
  if (without_hdf5) GTEST_SKIP() << without_hdf5->what();
  expect_same({}, Format::hdf5, 0);
}

TEST_F(LateAttributes, AreSetInEveryMode) {
  if (std::getenv("GLEAN_MODE") != nullptr) GTEST_SKIP() << "the mode is chosen";
  expect_same({{"mode", "passthrough"}}, Format::cdf1, 2);
  expect_same({{"mode", "collective"}}, Format::cdf5, 2);
  for (const char* full : {"spill", "synchronous", "drop"}) {
    const bool is_unfit = std::string(full) == "drop" && std::getenv("GLEAN_TOPOLOGY_RANKS_PER_NODE") != nullptr;   // on one node only
    if (!is_unfit) expect_same({{"full", full}, {"spill.directory", directory_.string()}, {"spill.budget", "4MiB"}}, Format::cdf2, 1);
  }
}

TEST_F(LateAttributes, KeepTheFirstValuesWhereNoneAreSet) {
  Session session(MPI_COMM_WORLD, with({}));
  {
    File file(session, path("early"), Format::cdf5, {}, false);
    file.step(0);
    file.out.close(Level::durable);
  }
  File file(session, path("late"), Format::cdf5, {}, true);
  file.step(0);
  file.out.close(Level::durable);
  expect_same_files("late", "early");
}

TEST_F(LateAttributes, AreThoseOfRank0) {
  Session session(MPI_COMM_WORLD, with({}));
  File file(session, path("a.nc"), Format::cdf5, {}, true);
  file.step(0);
  const double seconds = 0.25 + rank_;
  file.out.late_attribute(Variable{}, "seconds", Type::float64, &seconds, 1);
  file.out.close(Level::durable);
  EXPECT_EQ(session.open_input(path("a.nc")).attribute<double>("seconds"), std::vector<double>{0.25});
}

TEST_F(LateAttributes, ThatCannotBeAreRefusedByName) {
  const float single = 1;
  const double two[] = {1, 2};
  Session session(MPI_COMM_WORLD, with({}));
  const auto refused = [&](const std::string& name, Errc code, const std::string& text, auto call) {
    File file(session, path(name), Format::cdf5, {}, true);
    file.out.end_definitions();
    EXPECT_ERROR(call(file), code, text);
    EXPECT_ERROR(file.out.close(Level::durable), code, text);   // as of a put that is refused, there is no file
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_FALSE(exists(name));
  };
  refused("a", Errc::not_found, "no attribute 'second' is defined", [&](File& f) { f.out.set_attribute("second", std::span(two, 1)); });
  refused("b", Errc::not_found, "no attribute 'units' of 'record'", [&](File& f) { f.out.set_attribute(f.record, "units", "m"); });
  refused("c", Errc::invalid_state, "'title' keeps the values of its definition", [&](File& f) { f.out.set_attribute("title", "x"); });
  refused("d", Errc::invalid_argument, "'seconds' was defined as float64, and float32 is given",
          [&](File& f) { f.out.set_attribute("seconds", std::span(&single, 1)); });
  refused("e", Errc::invalid_argument, "'seconds' was defined with 1 element, and 2 are given",
          [&](File& f) { f.out.set_attribute("seconds", std::span<const double>(two)); });
  refused("f", Errc::invalid_argument, "'state' was defined with 38 elements, and 39 are given",
          [&](File& f) { f.out.set_attribute("state", std::string(39, 'x')); });

  File file(session, path("g"), Format::cdf5, {}, true);
  file.step(0);
  file.out.close();
  EXPECT_ERROR(file.out.set_attribute("state", "x"), Errc::invalid_state, "it is closed");
  session.wait(Level::durable);
  session.close();   // none of those that have failed is waited for in vain
}

TEST_F(LateAttributes, AreAllowedByDefinitions) {
  Session session(MPI_COMM_WORLD, with({}));
  const auto refused = [&](Format format, Errc code, const std::string& text, auto define) {
    Output out = session.open(path("a"), format);
    EXPECT_ERROR(define(out); out.end_definitions(), code, text);
  };
  refused(Format::cdf5, Errc::not_found, "no attribute 'a' is defined", [](Output& out) { out.allow_attribute_change("a"); });
  refused(Format::cdf5, Errc::invalid_argument, "it has no values", [](Output& out) {
    out.define_attribute("a", "");
    out.allow_attribute_change("a");
  });
  refused(Format::cdf5, Errc::invalid_argument, "elements that no rank puts have its value", [&](Output& out) {
    const Dimension x = out.define_dimension("x", 1);
    const Variable variable = out.define_variable("v", Type::float64, std::span(&x, 1), {});
    const double none = -1;
    out.define_attribute(variable, "_FillValue", std::span(&none, 1));
    out.allow_attribute_change(variable, "_FillValue");
  });
  refused(Format::cdf5, Errc::invalid_state, "the definitions have not ended", [](Output& out) {
    out.define_attribute("a", "b");
    out.allow_attribute_change("a");
    out.set_attribute("a", "c");
  });
  refused(Format::vtk, Errc::unsupported, "legacy VTK files have no attributes", [&](Output& out) {
    const auto rows = static_cast<std::uint64_t>(size_);
    const Grid grid = out.define_grid(UniformGrid{{rows, 2}, {0, 0}, {1, 1}, {{{static_cast<std::uint64_t>(rank_), 0}, {1, 2}}}, {}});
    static_cast<void>(out.define_variable("v", Type::float64, grid));
    out.define_attribute("a", "b");
    out.allow_attribute_change("a");
  });
}

TEST_F(LateAttributes, OfAFileThatIsAppendedToDoNotChange) {
  if (std::getenv("GLEAN_MODE") != nullptr) GTEST_SKIP() << "stagers add nothing to a file";
  Session session(MPI_COMM_WORLD, with({}));
  {
    File file(session, path("a.nc"), Format::cdf5, {}, true);
    file.step(0);
    file.out.close(Level::durable);
  }
  Output out = session.append(path("a.nc"));
  EXPECT_ERROR(out.set_attribute("state", "x"), Errc::unsupported, "is appended to, and what is in it does not change");
}

}  // namespace
}  // namespace glean::test
