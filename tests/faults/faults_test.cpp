// SPDX-License-Identifier: BSD-3-Clause
//
// Bad input and a world that fails: every rank gets a clear error, nothing incomplete is published, the old file is
// untouched, and the same session writes another file afterwards.
//
//   faults_test DIRECTORY [MODE]
//
// DIRECTORY/full and DIRECTORY/readonly are used if they are small and read-only file systems (see in_own_mounts).
#include <mpi.h>
#include <pnetcdf.h>

#include <cstdio>
#include <exception>

#include "cases.hpp"

namespace glean::test {

std::uint64_t first_cell() { return static_cast<std::uint64_t>(world_rank()) * cells; }

Simple open_simple(Session& session, const std::string& path, Type external, const std::string& name,
                   std::vector<Box> blocks) {
  Simple simple{session.open(path, Format::cdf5), {}};
  const Dimension x[] = {simple.out.define_dimension("x", cells * static_cast<std::uint64_t>(world_size()))};
  simple.dens = simple.out.define_variable(name, external, x, std::move(blocks));
  return simple;
}

std::vector<double> values() { return std::vector<double>(cells, 1.0 + world_rank()); }

void expect_another_file_arrives(Session& session, const std::string& path) {
  const auto error = thrown_by([&] {
    Simple good = open_simple(session, path);
    good.out.begin_step();
    good.out.put(good.dens, values());
    good.out.end_step();
    good.out.close();
    good.out.wait(Level::durable, 60);
  });
  expect_no_error(error, "writing another file");
  if (world_rank() != 0 || error) return;
  int file = -1, id = -1;
  expect(ncmpi_open(MPI_COMM_SELF, path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &file) == NC_NOERR, "it can be opened");
  std::vector<double> read(cells * static_cast<std::uint64_t>(world_size()));
  expect(ncmpi_inq_varid(file, "dens", &id) == NC_NOERR, "it has the variable");
  expect(ncmpi_get_var_double_all(file, id, read.data()) == NC_NOERR, "it can be read");
  for (std::uint64_t i = 0; i < read.size(); ++i) {
    if (read[i] != 1.0 + static_cast<double>(i / cells)) return expect(false, "its values are those that were put");
  }
  ncmpi_close(file);
}

int run(const World& world) {
  unknown_keys(world);
  a_full_pool_is_waited_for_as_long_as_was_said(world);
  Session session(MPI_COMM_WORLD, {{"mode", world.mode}, {"pool.budget", "64MiB"}, {"log.level", "off"}});
  bad_puts(world, session);
  faults_that_only_the_drain_sees(world, session);
  find_variable_of_a_name_that_is_not_there(world, session);
  bad_definitions(world, session);
  paths_that_cannot_be(world, session);
  an_abandoned_output_is_not_published(world, session);
  disk_full_before_the_file_is_made(world, session);
  disk_full(world, session);
  if (world.threaded()) disk_full_after_close_reaches_the_next_call(world, session);
  begin_case("session_close");
  expect_no_error(thrown_by([&] { session.close(); }), "closing the session after all these faults");
  const int failures = failures_of_all_ranks();
  if (world_rank() == 0) std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace glean::test

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 2;
  try {
    if (argc >= 2) status = glean::test::run({argv[1], argc > 2 ? argv[2] : "threaded"});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: not caught: %s\n", glean::test::world_rank(), error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
