// SPDX-License-Identifier: BSD-3-Clause
#include <cstdlib>
#include <functional>

#include "cases.hpp"

namespace glean::test {
namespace {

// A fault somewhere between begin_step and the drain. `step` is what the ranks do inside the step; on the ranks
// where the call itself fails, it checks that. Every rank must learn of it by the end of wait() or close().
void fault_in_step(const World& world, Session& session, const std::string& name, Errc code,
                   const std::vector<std::string>& words, const std::function<Simple(const std::string&)>& open,
                   const std::function<void(Simple&)>& step) {
  begin_case(name);
  Files files(world.directory + "/" + name);
  files.make_old("chk.nc");
  {
    Simple simple = open(files.path("chk.nc"));
    simple.out.begin_step();
    step(simple);
    (void)thrown_by([&] { simple.out.end_step(); });   // put_after_end_step has ended it
    expect_error_everywhere(code, words, [&] {
      simple.out.close();
      simple.out.wait(Level::durable, 60);
    });
  }
  expect_another_file_arrives(session, files.path("next.nc"));
  files.expect_only_old_and({"next.nc"});
}

}  // namespace

void bad_puts(const World& world, Session& session) {
  const auto open = [&](const std::string& path) { return open_simple(session, path); };
  const bool bad_rank = world_rank() == world_size() - 1;
  // The last rank does something wrong, which fails there at once; the others put what they have.
  const auto bad_put = [&](Errc code, const std::vector<std::string>& words,
                           const std::function<void(Simple&)>& action) {
    return [=](Simple& simple) {
      if (bad_rank) {
        expect_error(thrown_by([&] { action(simple); }), code, words);
      } else {
        simple.out.put(simple.dens, values());
      }
    };
  };
  fault_in_step(world, session, "shape_mismatch", Errc::invalid_argument, {"dens", "99"}, open,
                bad_put(Errc::invalid_argument, {"dens", "99", "100"}, [](Simple& simple) {
                  simple.out.put(simple.dens, std::vector<double>(99));
                }));
  fault_in_step(world, session, "type_mismatch", Errc::invalid_argument, {"dens", "text"}, open,
                bad_put(Errc::invalid_argument, {"dens", "text", "float64"}, [](Simple& simple) {
                  simple.out.put(simple.dens, std::vector<char>(cells));
                }));
  fault_in_step(world, session, "put_outside_the_selection", Errc::invalid_argument, {"dens"}, open,
                bad_put(Errc::invalid_argument, {"dens", "outside"}, [](Simple& simple) {
                  const double value = 1;
                  simple.out.put(simple.dens, Box{{0}, {1}}, &value);
                }));
  fault_in_step(world, session, "wrong_number_of_dimensions", Errc::invalid_argument, {"dens"}, open,
                bad_put(Errc::invalid_argument, {"dens", "2"}, [](Simple& simple) {
                  const double value = 1;
                  simple.out.put(simple.dens, Box{{0, 0}, {1, 1}}, &value);
                }));
  fault_in_step(world, session, "undefined_variable", Errc::not_found, {"99"}, open,
                bad_put(Errc::not_found, {"99"}, [](Simple& simple) {
                  simple.out.put(Variable{99}, values());
                }));
  fault_in_step(world, session, "put_after_end_step", Errc::invalid_state, {"begin_step"}, open, [&](Simple& simple) {
    simple.out.put(simple.dens, values());
    simple.out.end_step();
    if (bad_rank) {
      expect_error(thrown_by([&] { simple.out.put(simple.dens, values()); }), Errc::invalid_state, {"step"});
    }
  });
}

void faults_that_only_the_drain_sees(const World& world, Session& session) {
  fault_in_step(
      world, session, "value_out_of_range", Errc::out_of_range,
      // PnetCDF does not say which value.
      world.threaded() ? std::vector<std::string>{"dens", "300"} : std::vector<std::string>{"dens"},
      [&](const std::string& path) { return open_simple(session, path, Type::int8); },
      [](Simple& simple) {
        std::vector<double> data(cells, 7);
        if (world_rank() == world_size() - 1) data[42] = 300;
        simple.out.put(simple.dens, data);
      });
  if (!world.threaded()) return;   // PnetCDF does not look for overlaps
  fault_in_step(
      world, session, "overlapping_puts_of_two_ranks", Errc::overlap, {"dens"},
      [&](const std::string& path) {
        // Each rank begins one cell too early.
        const std::uint64_t early = world_rank() == 0 ? 0 : 1;
        return open_simple(session, path, Type::float64, "dens", {{{first_cell() - early}, {cells}}});
      },
      [](Simple& simple) { simple.out.put(simple.dens, values()); });
  fault_in_step(
      world, session, "the_same_put_twice", Errc::overlap, {"dens"},
      [&](const std::string& path) { return open_simple(session, path); },
      [](Simple& simple) {
        simple.out.put(simple.dens, values());
        if (world_rank() == 0) simple.out.put(simple.dens, values());
      });
}

void find_variable_of_a_name_that_is_not_there(const World& world, Session& session) {
  begin_case("find_variable");
  Files files(world.directory + "/find_variable");
  {
    Simple simple = open_simple(session, files.path("chk.nc"));
    expect_error(thrown_by([&] { (void)simple.out.find_variable("temp"); }), Errc::not_found, {"temp"});
    // Asking is no fault: the output goes on.
    expect(simple.out.find_variable("dens").id == simple.dens.id, "dens is found");
    simple.out.begin_step();
    simple.out.put(simple.dens, values());
    simple.out.end_step();
    simple.out.close();
  }
  expect_no_error(thrown_by([&] { session.wait(Level::durable, 60); }), "wait");
  files.expect_only_old_and({"chk.nc"});
}

// The definitions are wrong: every rank learns of it when they end.
void bad_definitions(const World& world, Session& session) {
  const auto fault = [&](const std::string& name, Errc code, const std::vector<std::string>& words,
                         const std::function<void(const std::string&)>& define) {
    begin_case(name);
    Files files(world.directory + "/" + name);
    files.make_old("chk.nc");
    expect_error_everywhere(code, words, [&] { define(files.path("chk.nc")); });
    expect_another_file_arrives(session, files.path("next.nc"));
    files.expect_only_old_and({"next.nc"});
  };
  const std::string long_name(300, 'n');
  fault("name_too_long_for_cdf", Errc::invalid_argument, {"nnnn"}, [&](const std::string& path) {
    Simple simple = open_simple(session, path, Type::float64, long_name);
    simple.out.begin_step();
  });
  fault("name_that_cdf_does_not_allow", Errc::invalid_argument, {"a/b"}, [&](const std::string& path) {
    Simple simple = open_simple(session, path, Type::float64, "a/b");
    simple.out.begin_step();
  });
  fault("type_that_cdf1_does_not_have", Errc::invalid_argument, {"count"}, [&](const std::string& path) {
    Output out = session.open(path, Format::cdf1);
    const Dimension x[] = {out.define_dimension("x", 3)};
    out.define_variable("count", Type::uint64, x, {});
    out.begin_step();
  });
  fault("ranks_that_define_differently", Errc::invalid_argument, {"otherwise than rank 0"},
        [&](const std::string& path) {
          Simple simple = open_simple(session, path, world_rank() == 0 ? Type::float64 : Type::float32);
          simple.out.begin_step();
        });
  fault("block_outside_the_array", Errc::invalid_argument, {"dens"}, [&](const std::string& path) {
    // On the last rank only; the others learn of it when the definitions end.
    const std::uint64_t beyond = world_rank() == world_size() - 1 ? 1 : 0;
    Simple simple{session.open(path, Format::cdf5), {}};
    const Dimension x[] = {simple.out.define_dimension("x", cells * static_cast<std::uint64_t>(world_size()))};
    const auto error = thrown_by([&] {
      simple.dens = simple.out.define_variable("dens", Type::float64, x, {{{first_cell() + beyond}, {cells}}});
    });
    if (beyond != 0) expect_error(error, Errc::invalid_argument, {"dens", "[300]"});
    simple.out.begin_step();
  });
}

void an_abandoned_output_is_not_published(const World& world, Session& session) {
  begin_case("abandoned");
  Files files(world.directory + "/abandoned");
  files.make_old("chk.nc");
  {
    Simple simple = open_simple(session, files.path("chk.nc"));
    simple.out.begin_step();
    simple.out.put(simple.dens, values());
  }
  expect_another_file_arrives(session, files.path("next.nc"));
  files.expect_only_old_and({"next.nc"});
}

void unknown_keys(const World& world) {
  begin_case("unknown_configuration_key");
  expect_error_everywhere(Errc::invalid_config, {"pool.budgett", "pool.budget"},
                          [&] { const Session session(MPI_COMM_WORLD, {{"pool.budgett", "64MiB"}}); });
  expect_error_everywhere(Errc::invalid_config, {"drain.threads", "many"},
                          [&] { const Session session(MPI_COMM_WORLD, {{"drain.threads", "many"}}); });
  expect_error_everywhere(Errc::invalid_config, {"pool.budget"},
                          [&] { const Session session(MPI_COMM_WORLD, {{"mode", "threaded"}, {"pool.budget", "4KiB"}}); });
  setenv("GLEAN_POOL_BUGDET", "64MiB", 1);
  expect_error_everywhere(Errc::invalid_config, {"GLEAN_POOL_BUGDET", "GLEAN_POOL_BUDGET"},
                          [&] { const Session session(MPI_COMM_WORLD); });
  unsetenv("GLEAN_POOL_BUGDET");
  Files files(world.directory + "/unknown_configuration_key");
  Session session(MPI_COMM_WORLD, {{"mode", world.mode}, {"pool.budget", "64MiB"}});
  expect_another_file_arrives(session, files.path("next.nc"));
}

}  // namespace glean::test
