// SPDX-License-Identifier: BSD-3-Clause
//
// Definitions that cannot be: what a program is told that handles the error and goes on. And what definitions make by themselves.
#include <string>
#include <vector>

#include "ranks.hpp"

namespace glean::test {

namespace {

class Definitions : public Ranks {
 protected:
  [[nodiscard]] Box row() const { return {{static_cast<std::uint64_t>(rank_), 0}, {1, 2}}; }
  [[nodiscard]] UniformGrid grid() const { return {{static_cast<std::uint64_t>(size_), 2}, {0, 0}, {1, 1}, {row()}, {}}; }
};

TEST_F(Definitions, ThatHaveFailedAreSaidByTheNextCallThatFails) {
  for (const char* mode : {"threaded", "passthrough"}) {
    Session session(MPI_COMM_WORLD, with({{"mode", mode}}));
    Output out = session.open(path("a.nc"), Format::cdf5);
    Grid none;
    UniformGrid wrong = grid();
    wrong.spacing[0] = -1;
    const std::string first = "the uniform grid of rank " + std::to_string(rank_) + " cannot be used";
    EXPECT_ERROR(none = out.define_grid(wrong), Errc::invalid_argument, first);
    EXPECT_ERROR(out.define_variable("v", Type::float64, none), Errc::not_found, "an earlier call has failed, and");
    EXPECT_ERROR(out.define_variable("v", Type::float64, none), Errc::not_found, first);
    EXPECT_ERROR(static_cast<void>(out.find_variable("v")), Errc::not_found, first);
    EXPECT_ERROR(out.set_time(1.0 / 0.0), Errc::invalid_argument, first);
    static_cast<void>(out.define_grid(grid()));   // which is good, and of no use
    const auto at_last = thrown([&] { out.begin_step(); });
    EXPECT_TRUE(says(at_last, "the uniform grid of rank 0 cannot be used") && says(at_last, "becomes no file, also where the program"));
    EXPECT_ERROR(out.begin_step(), Errc::invalid_state, "there is no file: cannot create");
    session.close();
    EXPECT_EQ(others(), std::vector<std::string>{});
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST_F(Definitions, WithAZeroByteInTheirNamesAreRefused) {
  using namespace std::string_view_literals;
  for (const Format format : {Format::cdf1, Format::cdf5, Format::npy, Format::vtk}) {
    Session session(MPI_COMM_WORLD, with({}));
    Output out = session.open(path("a.nc"), format);
    constexpr std::string_view name = "a\0b"sv;
    UniformGrid named = grid();
    named.dimension_names = {std::string(name), "x"};
    EXPECT_ERROR(out.define_dimension(name, 3), Errc::invalid_argument, "dimension 'a\\0b' cannot be used: it has a zero byte");
    EXPECT_ERROR(out.define_unlimited(name), Errc::invalid_argument, "it has a zero byte");
    EXPECT_ERROR(out.define_grid(named), Errc::invalid_argument, "it has a zero byte");
    EXPECT_ERROR(out.define_variable(name, Type::int8, {}, std::vector<Box>{}), Errc::invalid_argument, "variable 'a\\0b' cannot be used");
    EXPECT_ERROR(out.define_attribute(name, "text"), Errc::invalid_argument, "attribute 'a\\0b' cannot be used");
    EXPECT_ERROR(out.set_time(1, "s\0"sv), Errc::invalid_argument, "the unit has a zero byte");
    EXPECT_ERROR(static_cast<void>(out.find_variable(name)), Errc::not_found, "has no variable 'a\\0b'");
    EXPECT_ERROR(static_cast<void>(session.open(std::string("x\0.nc", 5), format)), Errc::invalid_argument, "zero byte");
    EXPECT_ERROR(static_cast<void>(session.open_input(std::string("x\0.nc", 5))), Errc::invalid_argument, "zero byte");
    session.close();
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST_F(Definitions, PerStepOnAGridMakeTheRecordDimensionTime) {
  Session session(MPI_COMM_WORLD, with({}));
  Output out = session.open(path("a.nc"), Format::cdf5);
  const Grid cells = out.define_grid(grid());
  const Variable v = out.define_variable("v", Type::float64, cells, {.per_step = true});
  out.begin_step();
  out.put(v, std::vector<double>{1, 2});
  out.end_step();
  out.close(Level::durable);
  Input in = session.open_input(path("a.nc"));
  EXPECT_EQ(in.describe(in.find_variable("v")).dimensions, (std::vector<std::string>{"time", "y", "x"}));
  EXPECT_EQ(in.steps(), 1u);
  session.close();
}

// As docs/api.md shows it.
TEST_F(Definitions, WithoutDimensionsAreScalars) {
  Session session(MPI_COMM_WORLD, with({}));
  Output out = session.open(path("a.nc"), Format::cdf5);
  const int rank = rank_;
  const double value = 0.25;
  const Variable dt = out.define_variable("dt", Type::float64, {}, rank == 0 ? std::vector{Box{}} : std::vector<Box>{});
  out.begin_step();
  if (rank == 0) out.put(dt, std::span<const double>(&value, 1));
  out.end_step();
  out.close(Level::durable);
  Input in = session.open_input(path("a.nc"));
  EXPECT_EQ(in.read<double>(in.find_variable("dt")), std::vector<double>{0.25});
  session.close();
}

}  // namespace
}  // namespace glean::test
