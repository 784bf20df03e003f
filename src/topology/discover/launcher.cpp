// SPDX-License-Identifier: BSD-3-Clause
#include "topology/discover/launcher.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <optional>

#include "topology/discover/host_list.hpp"

namespace glean::topology {
namespace {

// No job has more ranks; what is in an environment variable may still say so.
constexpr int ranks_max = 100'000'000;

class Variables {
 public:
  explicit Variables(const base::Environment& environment) : environment_(environment) {}

  [[nodiscard]] std::string text(const std::string& name) const {
    const auto found = environment_.find(name);
    return found == environment_.end() ? std::string() : found->second;
  }
  // The first of them that is set.
  [[nodiscard]] std::string text(const std::string& name, const std::string& otherwise) const {
    const std::string value = text(name);
    return value.empty() ? text(otherwise) : value;
  }
  [[nodiscard]] std::optional<int> number(const std::string& name) const {
    const std::string value = text(name);
    int number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (value.empty() || error != std::errc{} || *end != '\0' || number < 0 || number > ranks_max) return std::nullopt;
    return number;
  }

 private:
  const base::Environment& environment_;
};

// `ranks` on nodes of `each`, of which only this one has a name.
void fill_nodes(Job& job, int ranks, int each, int rank, std::optional<int> nodes, const std::string& host_name) {
  const int used = (ranks + each - 1) / each;
  const int count = std::max(1, std::min(nodes.value_or(used), used));
  job.hosts.assign(static_cast<std::size_t>(count), "");
  for (int i = 0; i < count; ++i) job.ranks.push_back(std::clamp(ranks - i * each, 0, each));
  job.here = static_cast<std::size_t>(std::min(rank / each, count - 1));
  job.hosts[job.here] = host_name;
}

bool read_slurm(const Variables& variables, Job& job) {
  const std::string list = variables.text("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST");
  if (list.empty()) return false;
  const auto hosts = expand_host_list(list);
  if (!hosts) {
    job.notes.push_back(fmt::format("the node list '{}' of Slurm is none", list));
    return false;
  }
  const std::string text = variables.text("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE");
  auto counts = expand_counts(text.empty() ? "1" : text);
  // One number, without "(x…)", is for all nodes.
  if (counts && counts->size() == 1) counts->resize(hosts->size(), counts->front());
  if (!counts || counts->size() != hosts->size()) {
    job.notes.push_back(fmt::format("SLURM_TASKS_PER_NODE '{}' does not fit {} nodes; one each is assumed", text, hosts->size()));
    counts = std::vector<int>(hosts->size(), 1);
  }
  job.hosts = *hosts;
  job.ranks = *counts;
  job.launcher = "Slurm";
  job.id = variables.text("SLURM_JOB_ID");
  job.here = std::min<std::size_t>(static_cast<std::size_t>(variables.number("SLURM_NODEID").value_or(0)), hosts->size() - 1);
  const std::string distribution = variables.text("SLURM_DISTRIBUTION");
  if (distribution.starts_with("cyclic")) {
    job.order = Placement::Order::round_robin;
  } else if (!distribution.empty() && !distribution.starts_with("block")) {
    job.notes.push_back(fmt::format("the distribution '{}' of Slurm is taken for blocks", distribution));
  }
  return true;
}

// Open MPI has its own idea of where ranks are when it runs inside a job of Slurm, whose step is that of its daemons.
bool read_open_mpi(const Variables& variables, Job& job, const std::string& host_name) {
  const auto size = variables.number("OMPI_COMM_WORLD_SIZE");
  const auto local_size = variables.number("OMPI_COMM_WORLD_LOCAL_SIZE");
  if (!size || !local_size || *size < 1 || *local_size < 1) return false;
  const auto hosts = expand_host_list(variables.text("SLURM_JOB_NODELIST"));
  job.launcher = "Open MPI";
  job.id = variables.text("SLURM_JOB_ID");
  fill_nodes(job, *size, *local_size, variables.number("OMPI_COMM_WORLD_RANK").value_or(0),
             variables.number("OMPI_MCA_orte_num_nodes"), host_name);
  if (hosts && hosts->size() >= job.hosts.size()) std::copy_n(hosts->begin(), job.hosts.size(), job.hosts.begin());
  return true;
}

bool read_pmi(const Variables& variables, Job& job, const std::string& host_name) {
  const auto size = variables.number("PMI_SIZE");
  const auto local_size = variables.number("MPI_LOCALNRANKS");
  if (!size || !local_size || *size < 1 || *local_size < 1) return false;
  job.launcher = "PMI";
  fill_nodes(job, *size, *local_size, variables.number("PMI_RANK").value_or(0), std::nullopt, host_name);
  return true;
}

}  // namespace

Job job_from(const base::Environment& environment, const std::string& host_name) {
  const Variables variables(environment);
  Job job;
  if (read_open_mpi(variables, job, host_name) || read_slurm(variables, job) || read_pmi(variables, job, host_name)) return job;
  // A server of PMIx answers questions, but says nothing in the environment about how many there are.
  if (!variables.text("PMIX_RANK").empty()) {
    job.launcher = "PMIx";
    job.notes.emplace_back("PMIx does not say in the environment how many nodes there are; one is assumed");
  }
  job.hosts = {host_name};
  job.ranks = {1};
  return job;
}

base::Environment launcher_environment() {
  constexpr std::array<std::string_view, 5> prefixes = {"SLURM_", "OMPI_", "PMI_", "PMIX_", "MPI_"};
  base::Environment environment;
  for (char** variable = environ; variable && *variable; ++variable) {
    const std::string_view text(*variable);
    const std::size_t equals = text.find('=');
    const bool wanted = std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) { return text.starts_with(prefix); });
    if (wanted && equals != std::string_view::npos) environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

Placement placement_of(const Job& job, const std::vector<NodeId>& nodes) {
  Placement placement{.ranks = std::accumulate(job.ranks.begin(), job.ranks.end(), std::int64_t{0}),
                      .ranks_per_node = std::max(1, job.ranks.empty() ? 1 : *std::max_element(job.ranks.begin(), job.ranks.end())),
                      .order = job.order};
  std::vector<NodeId> natural(nodes.size());
  std::iota(natural.begin(), natural.end(), 0);
  // Blocks may leave room on the last node, and rounds on the last ones.
  bool regular = nodes == natural;
  for (std::size_t i = 0; regular && i < nodes.size(); ++i) {
    const auto before = static_cast<std::int64_t>(i);
    const std::int64_t expected =
        job.order == Placement::Order::block
            ? std::clamp<std::int64_t>(placement.ranks - before * placement.ranks_per_node, 0, placement.ranks_per_node)
            : (placement.ranks - before + placement.nodes() - 1) / placement.nodes();
    regular = job.ranks[i] == expected;
  }
  if (regular) return placement;
  std::vector<int> left = job.ranks;
  const int at_once = job.order == Placement::Order::block ? placement.ranks_per_node : 1;
  while (static_cast<std::int64_t>(placement.listed.size()) < placement.ranks) {
    for (std::size_t i = 0; i < left.size(); ++i) {
      const int taken = std::min(left[i], at_once);
      placement.listed.insert(placement.listed.end(), static_cast<std::size_t>(taken), nodes[i]);
      left[i] -= taken;
    }
  }
  return placement;
}

}  // namespace glean::topology
