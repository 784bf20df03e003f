// SPDX-License-Identifier: BSD-3-Clause
//
// Writes ever new versions of the same files, all ranks together, and says when GLEAN says that one is durable.
//
//   mpirun -n R powercut_writer DIRECTORY REPORT SEED FIRST_VERSION ROUNDS NAME:CELLS…
//
// Lines of REPORT, each written by one write(2): `open NAME VERSION` before the output is opened, `durable NAME
// VERSION` after it was closed and wait(durable) has returned. While one round is on its way to the disk the next one
// is put, so that two versions of a file are in flight. content.py knows what the files must hold.
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <glean/glean.hpp>
#include <string>
#include <vector>

namespace {

constexpr int steps = 2;

struct Target {
  std::string name;
  std::uint64_t cells;
};

struct InFlight {
  glean::Output output;
  std::string name;
  std::int64_t version;
};

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Element i of part p (0: the fixed variable, 1 + s: step s) of a version of a file.
class Content {
 public:
  Content(std::uint64_t seed, std::uint64_t file, std::int64_t version)
      : key_(mix(mix(mix(seed) + file) + static_cast<std::uint64_t>(version))) {}
  [[nodiscard]] std::vector<std::int64_t> part(std::uint64_t p, std::uint64_t first, std::uint64_t count) const {
    const auto base = static_cast<std::int64_t>(mix(key_ + p) >> 3);
    std::vector<std::int64_t> values(count);
    for (std::uint64_t i = 0; i < count; ++i) values[i] = base + static_cast<std::int64_t>((first + i) * 1048583);
    return values;
  }

 private:
  std::uint64_t key_;
};

class Writer {
 public:
  Writer(std::string directory, const char* report, std::uint64_t seed, std::vector<Target> targets)
      : session_(MPI_COMM_WORLD), directory_(std::move(directory)), seed_(seed), targets_(std::move(targets)) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    if (rank_ == 0) report_ = open(report, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  }

  void run(std::int64_t first_version, std::int64_t rounds) {
    std::vector<InFlight> earlier;
    for (std::int64_t round = 0; round < rounds; ++round) {
      std::vector<InFlight> now;
      for (std::size_t file = 0; file < targets_.size(); ++file) now.push_back(write(file, first_version + round));
      settle(earlier);
      earlier = std::move(now);
    }
    settle(earlier);
    session_.close();
  }

 private:
  InFlight write(std::size_t file, std::int64_t version) {
    const auto& [name, cells] = targets_[file];
    say("open", name, version);
    const Content content(seed_, file, version);
    const std::uint64_t first = cells * static_cast<std::uint64_t>(rank_) / static_cast<std::uint64_t>(ranks_);
    const std::uint64_t end = cells * static_cast<std::uint64_t>(rank_ + 1) / static_cast<std::uint64_t>(ranks_);

    glean::Output output = session_.open(directory_ + "/" + name, glean::Format::cdf5);
    const glean::Dimension dimensions[] = {output.define_unlimited("time"), output.define_dimension("x", cells)};
    const std::vector<glean::Box> blocks{{{first}, {end - first}}};
    const glean::Variable fixed =
        output.define_variable("fixed", glean::Type::int64, std::span(dimensions).subspan(1), blocks);
    const glean::Variable field =
        output.define_variable("field", glean::Type::int64, dimensions, blocks, {.per_step = true});
    output.define_attribute("version", std::span<const std::int64_t>(&version, 1));
    for (std::uint64_t step = 0; step < steps; ++step) {
      output.begin_step();
      if (step == 0) output.put(fixed, content.part(0, first, end - first));
      output.put(field, content.part(1 + step, first, end - first));
      output.end_step();
    }
    output.close();
    return {std::move(output), name, version};
  }

  void settle(std::vector<InFlight>& outputs) {
    for (InFlight& one : outputs) {
      one.output.wait(glean::Level::durable);
      say("durable", one.name, one.version);
    }
    outputs.clear();
  }

  void say(const char* what, const std::string& name, std::int64_t version) const {
    if (rank_ != 0) return;
    const std::string line = std::string(what) + " " + name + " " + std::to_string(version) + "\n";
    if (::write(report_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
  }

  glean::Session session_;
  std::string directory_;
  std::uint64_t seed_;
  std::vector<Target> targets_;
  int rank_ = 0, ranks_ = 1, report_ = -1;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) {
    std::fprintf(stderr, "usage: powercut_writer DIRECTORY REPORT SEED FIRST_VERSION ROUNDS NAME:CELLS...\n");
    return 2;
  }
  MPI_Init(&argc, &argv);
  try {
    std::vector<Target> targets;
    for (int i = 6; i < argc; ++i) {
      const std::string text = argv[i];
      const std::size_t colon = text.find(':');
      targets.push_back({text.substr(0, colon), std::stoull(text.substr(colon + 1))});
    }
    Writer(argv[1], argv[2], std::stoull(argv[3]), std::move(targets)).run(std::stoll(argv[4]), std::stoll(argv[5]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "powercut_writer: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
}
