// SPDX-License-Identifier: BSD-3-Clause
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "cases.hpp"

namespace glean::test {
namespace {

bool is_small_file_system(const std::string& directory) {
  struct statvfs status{};
  if (statvfs(directory.c_str(), &status) == 0 && status.f_blocks * status.f_frsize <= (16u << 20)) return true;
  if (world_rank() == 0) std::printf("    skipped: %s is not a small file system\n", directory.c_str());
  return false;
}

}  // namespace

void paths_that_cannot_be(const World& world, Session& session) {
  const auto fault = [&](const std::string& name, Errc code, const std::vector<std::string>& words,
                         const std::function<void(Files&)>& prepare, const std::string& file,
                         OutputOptions options = {}) {
    begin_case(name);
    Files files(world.directory + "/" + name);
    files.make_old("chk.nc");
    prepare(files);
    MPI_Barrier(MPI_COMM_WORLD);
    expect_error_everywhere(code, words, [&] { (void)session.open(files.path(file), Format::cdf5, options); });
    expect_another_file_arrives(session, files.path("next.nc"));
    files.expect_only_old_and({"next.nc"});
  };
  const auto nothing = [](Files&) {};
  fault("path_that_exists", Errc::exists, {"chk.nc"}, nothing, "chk.nc", {.existing = Existing::refuse});
  fault("directory_that_is_not_there", Errc::not_found, {"none"}, nothing, "none/chk.nc");
  fault("read_only_file", Errc::permission, {"chk.nc"},
        [](Files& files) {
          if (world_rank() == 0) chmod(files.path("chk.nc").c_str(), 0444);
        },
        "chk.nc");
  fault("path_below_a_file", Errc::not_found, {"chk.nc"}, nothing, "chk.nc/x.nc");

  begin_case("path_that_is_a_directory");
  const auto error = thrown_by([&] { (void)session.open(world.directory, Format::cdf5); });
  expect(error.has_value(), "it is refused");

  begin_case("unwritable_directory");
  const std::string readonly = world.directory + "/readonly";
  struct statvfs status{};
  if (statvfs(readonly.c_str(), &status) != 0 || (status.f_flag & ST_RDONLY) == 0) {
    if (world_rank() == 0) std::printf("    skipped: %s is not a read-only file system\n", readonly.c_str());
    return;
  }
  expect_error_everywhere(Errc::permission, {"readonly"},
                          [&] { (void)session.open(readonly + "/chk.nc", Format::cdf5); });
  Files files(world.directory + "/unwritable_directory");
  expect_another_file_arrives(session, files.path("next.nc"));
  files.expect_only_old_and({"next.nc"});
}

// Not even the header has room. MPI-IO may keep that from PnetCDF.
void disk_full_before_the_file_is_made(const World& world, Session& session) {
  begin_case("disk_full_before_the_file_is_made");
  const std::string full = world.directory + "/full";
  if (!is_small_file_system(full)) return;
  Files files(full);
  files.make_old("chk.nc");
  const std::string filler = files.path("filler");
  if (world_rank() == 0) {
    std::ofstream out(filler, std::ios::binary);
    const std::vector<char> page(4096, 'x');
    while (out.write(page.data(), 4096).flush()) {}
  }
  MPI_Barrier(MPI_COMM_WORLD);
  {
    Simple simple = open_simple(session, files.path("chk.nc"));
    expect_error_everywhere(world.threaded() ? Errc::no_space : Errc::io, {"chk.nc"},
                            [&] { simple.out.begin_step(); });
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank() == 0) std::filesystem::remove(filler);
  MPI_Barrier(MPI_COMM_WORLD);
  expect_another_file_arrives(session, files.path("next.nc"));
  files.expect_only_old_and({"next.nc"});
}

void disk_full(const World& world, Session& session) {
  begin_case("disk_full");
  const std::string full = world.directory + "/full";
  if (!is_small_file_system(full)) return;
  Files files(full);
  files.make_old("chk.nc");
  {
    Output out = session.open(files.path("chk.nc"), Format::cdf5);
    const std::uint64_t many = 1 << 20;   // 8 MiB of each rank, on a disk of 8 MiB
    const Dimension x[] = {out.define_dimension("x", many * static_cast<std::uint64_t>(world_size()))};
    const Variable dens = out.define_variable(
        "dens", Type::float64, x, {{{many * static_cast<std::uint64_t>(world_rank())}, {many}}});
    const auto error = thrown_by([&] {
      out.begin_step();
      out.put(dens, std::vector<double>(many, 1));
      out.end_step();
      out.close();
      out.wait(Level::durable, 60);
    });
    // MPI-IO says that it failed, not why.
    expect_error(error, world.threaded() ? Errc::no_space : Errc::io, {"chk.nc"});
  }
  expect_another_file_arrives(session, files.path("next.nc"));
  files.expect_only_old_and({"next.nc"});
}

void disk_full_after_close_reaches_the_next_call(const World& world, Session& session) {
  begin_case("disk_full_after_close");
  const std::string full = world.directory + "/full";
  if (!is_small_file_system(full)) return;
  Files files(full);
  {
    Output out = session.open(files.path("chk.nc"), Format::cdf5);
    const std::uint64_t many = 1 << 20;
    const Dimension x[] = {out.define_dimension("x", many * static_cast<std::uint64_t>(world_size()))};
    const Variable dens = out.define_variable(
        "dens", Type::float64, x, {{{many * static_cast<std::uint64_t>(world_rank())}, {many}}});
    out.begin_step();
    out.put(dens, std::vector<double>(many, 1));
    out.end_step();
    expect_no_error(thrown_by([&] { out.close(); }), "close");
  }
  expect_error_everywhere(Errc::no_space, {"chk.nc"}, [&] { session.wait(Level::durable, 60); });
  // Told once, it is told: the next wait has nothing to say.
  expect_no_error(thrown_by([&] { session.wait(Level::durable, 60); }), "the next wait");
  files.expect_only_old_and({});
}

// While the drain stands still, the pool fills up; the put gives up at its deadline and says what it waited for.
void a_full_pool_is_waited_for_as_long_as_was_said(const World& world) {
  if (!world.threaded() || world_size() < 2) return;
  begin_case("pool_full");
  Files files(world.directory + "/pool_full");
  files.make_old("chk.nc");
  Session session(MPI_COMM_WORLD, {{"pool.budget", "16MiB"}, {"pool.deadline", "1s"}, {"log.level", "off"}});
  {
    Output out = session.open(files.path("chk.nc"), Format::cdf5);
    const std::uint64_t many = 4 << 20;   // 32 MiB, twice what the pool holds
    const Dimension x[] = {out.define_dimension("x", many)};
    std::vector<Box> mine;
    if (world_rank() == 1) mine.push_back({{0}, {many}});
    const Variable dens = out.define_variable("dens", Type::float64, x, mine);
    out.begin_step();
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank() == 0) {
      // The process whose threads drain sleeps.
      const std::string self = std::to_string(getpid());
      const std::string sleep = "kill -STOP " + self + "; sleep 4; kill -CONT " + self;
      expect(std::system(sleep.c_str()) == 0, "the drain could be stopped");
    }
    if (world_rank() == 1) {
      usleep(500'000);
      const auto begin = std::chrono::steady_clock::now();
      const auto error = thrown_by([&] { out.put(dens, std::vector<double>(many, 1)); });
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      expect_error(error, Errc::timeout, {"chk.nc", "pool"});
      expect(seconds > 0.9 && seconds < 3, "it waits as long as was said: " + std::to_string(seconds) + " s");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    out.end_step();
    expect_error_everywhere(Errc::timeout, {"chk.nc", "rank 1"}, [&] {
      out.close();
      out.wait(Level::durable, 60);
    });
  }
  expect_another_file_arrives(session, files.path("next.nc"));
  expect_no_error(thrown_by([&] { session.close(); }), "closing the session");
  files.expect_only_old_and({"next.nc"});
}

}  // namespace glean::test
