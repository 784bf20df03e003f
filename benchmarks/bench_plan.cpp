// SPDX-License-Identifier: BSD-3-Clause
//
// What planning costs a rank: time, and the most memory that it holds meanwhile, against the number of ranks.
//
// A rank plans its own I/O group with plan_group, of S3D-like data to storage, for which all numbers of aggregators and of
// files are weighed. The machine is Blue Gene/Q with as many blocks of 128 nodes as the ranks need, 16 ranks on a node.
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "measure.hpp"
#include "plan/plan.hpp"

namespace {

// All that the program has from the heap; a block remembers its size in front of it.
// Not inlined: a compiler that sees both warns of memory before a block that it knows.
constexpr std::size_t header_bytes = alignof(std::max_align_t);
std::size_t held_bytes = 0, most_bytes = 0;

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* block = std::malloc(bytes + header_bytes);
  if (block == nullptr) throw std::bad_alloc();
  *static_cast<std::size_t*>(block) = bytes;
  held_bytes += bytes;
  if (held_bytes > most_bytes) most_bytes = held_bytes;
  return static_cast<char*>(block) + header_bytes;
}

[[gnu::noinline]] void operator delete(void* pointer) noexcept {
  if (pointer == nullptr) return;
  void* block = static_cast<char*>(pointer) - header_bytes;
  held_bytes -= *static_cast<std::size_t*>(block);
  std::free(block);
}

void operator delete(void* pointer, std::size_t /*bytes*/) noexcept { operator delete(pointer); }

using namespace glean::benchmarks;
namespace plan = glean::plan;
namespace topology = glean::topology;

namespace {

constexpr int ranks_per_node = 16;

struct Options {
  std::string directory = "bench-files";
  std::string json;
  int repetitions = 15;
  bool quick = false;
};

// Blocks of 2 x 2 x 4 x 4 x 2 nodes, doubled along one dimension after the other; of less than a block, a mesh of its nodes.
topology::Machine machine_of(std::int64_t nodes) {
  topology::Machine machine;
  machine.name = "Blue Gene/Q";
  machine.node = {.cores = 16, .memory_bytes = 16 * GiB, .copy_bytes_per_second = 4e9};
  topology::Torus torus{.extents = {2, 2, 4, 4, 2}, .link_bytes_per_second = 2e9};
  if (nodes < 128) {
    torus.extents = {static_cast<int>(nodes)};
    machine.way_out.group_extents = torus.extents;
    machine.way_out.gateways = {{0}};
  } else {
    for (std::int64_t have = 128, dimension = 0; have < nodes; have *= 2, ++dimension) torus.extents[dimension % 4] *= 2;
    machine.way_out.group_extents = {2, 2, 4, 4, 2};
    machine.way_out.gateways = {{0, 0, 0, 0, 0}, {0, 0, 0, 0, 1}};
  }
  machine.network = torus;
  machine.way_out.gateway_bytes_per_second = 2e9;
  machine.way_out.group_bytes_per_second = 4e9;
  machine.way_out.message_seconds = 50e-6;
  machine.way_out.concurrent_messages = 16;
  machine.file_system = {.name = "gpfs", .block_bytes = 8 * MiB, .targets = 128, .bytes_per_second = 240e9, .request_seconds = 1e-3,
                         .create_seconds = 2e-3};
  machine.message_seconds = 2e-6;
  return machine;
}

Json measure(std::int64_t ranks, int repetitions) {
  const topology::Machine machine = machine_of(std::max<std::int64_t>(ranks / ranks_per_node, 1));
  const topology::Placement placement{.ranks = ranks, .ranks_per_node = ranks_per_node};
  const plan::Request request{.bytes_per_rank = MiB, .pattern = plan::Pattern::s3d, .variables = 16};
  std::vector<double> seconds;
  std::size_t memory = 0;
  plan::GroupPlan made;
  // The first round warms up.
  for (int repetition = 0; repetition <= repetitions; ++repetition) {
    made = {};
    const std::size_t before = held_bytes;
    most_bytes = held_bytes;
    const double begin = now_seconds();
    made = plan::plan_group(machine, placement, request, {}, machine.groups() / 2);
    const double took = now_seconds() - begin;
    if (repetition > 0) seconds.push_back(took);
    memory = std::max(memory, most_bytes - before);
  }
  return {{"ranks", ranks},
          {"nodes", machine.nodes()},
          {"groups", machine.groups()},
          {"nodes_in_group", made.shape.members.size()},
          {"aggregators_in_group", made.shape.aggregators.size()},
          {"seconds", median(seconds)},
          {"memory_bytes", memory}};
}

int run(int argc, char** argv) {
  Options options;
  CommandLine line("What planning costs a rank");
  line.option("--directory", options.directory, "not used: nothing is written");
  line.option("--json", options.json, "write the result here, not to standard output");
  line.positive("--repetitions", options.repetitions);
  line.flag("--quick", options.quick, "fewer ranks; the figures mean nothing");
  if (const auto status = line.parse(argc, argv)) return *status;
  Ranks ranks(argc, argv);
  return run_or_abort([&] {
    Json json = {{"benchmark", "plan"},
                 {"recipe", recipe(ranks, ".", options.repetitions)},
                 {"quick", options.quick},
                 {"statement", "seconds: median of one rank's plan_group; memory: the most that it held at a time, result included"}};
    json["results"] = Json::array();
    const std::int64_t most = options.quick ? 1024 : std::int64_t{1} << 20;
    for (std::int64_t planned = 64; planned <= most; planned *= 2) json["results"].push_back(measure(planned, options.repetitions));
    if (ranks.root()) write_json(json, options.json);
    return 0;
  });
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
