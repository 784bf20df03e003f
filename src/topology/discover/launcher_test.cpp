// SPDX-License-Identifier: BSD-3-Clause
#include "topology/discover/launcher.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace glean::topology {
namespace {

using Hosts = std::vector<std::string>;
using Nodes = std::vector<NodeId>;

TEST(Launcher, SlurmTellsNodesAndRanks) {
  const Job job = job_from({{"SLURM_JOB_ID", "42"}, {"SLURM_JOB_NODELIST", "n[1-3]"}, {"SLURM_TASKS_PER_NODE", "4(x2),2"},
                            {"SLURM_NODEID", "1"}}, "x");

  EXPECT_EQ(job, (Job{.launcher = "Slurm", .id = "42", .hosts = {"n1", "n2", "n3"}, .ranks = {4, 4, 2}, .here = 1}));
  EXPECT_EQ(placement_of(job, {0, 1, 2}), (Placement{.ranks = 10, .ranks_per_node = 4}));
}

TEST(Launcher, AStepOfSlurmIsMoreThanItsJob) {
  const Job job = job_from({{"SLURM_JOB_NODELIST", "n[1-3]"}, {"SLURM_TASKS_PER_NODE", "4(x3)"}, {"SLURM_STEP_NODELIST", "n[2-3]"},
                            {"SLURM_STEP_TASKS_PER_NODE", "1"}, {"SLURM_DISTRIBUTION", "cyclic"}}, "x");

  EXPECT_EQ(job.hosts, (Hosts{"n2", "n3"}));
  EXPECT_EQ(job.ranks, (std::vector<int>{1, 1}));
  EXPECT_EQ(job.order, Placement::Order::round_robin);
}

TEST(Launcher, WhatSlurmSaysIsNotBelievedBlindly) {
  const Job no_list = job_from({{"SLURM_JOB_NODELIST", "n[1-"}}, "x");
  const Job no_counts = job_from({{"SLURM_JOB_NODELIST", "n[1-3]"}, {"SLURM_TASKS_PER_NODE", "4(x2)"}, {"SLURM_NODEID", "77"}}, "x");
  const Job plane = job_from({{"SLURM_JOB_NODELIST", "n1"}, {"SLURM_DISTRIBUTION", "plane=2"}}, "x");

  EXPECT_EQ(no_list.hosts, Hosts{"x"});
  EXPECT_EQ(no_list.notes, Hosts{"the node list 'n[1-' of Slurm is none"});
  EXPECT_EQ(no_counts.ranks, (std::vector<int>{1, 1, 1}));
  EXPECT_EQ(no_counts.here, 2U);
  EXPECT_EQ(no_counts.notes.size(), 1U);
  EXPECT_EQ(plane.notes, Hosts{"the distribution 'plane=2' of Slurm is taken for blocks"});
}

// From `mpirun -n 6 --host a:4,b:4` of Open MPI 4.1.
TEST(Launcher, OpenMpiTellsHowManyRanksShareANode) {
  const Job job = job_from({{"OMPI_COMM_WORLD_SIZE", "6"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "2"},
                            {"OMPI_MCA_orte_num_nodes", "2"}, {"PMIX_RANK", "2"}}, "a");

  EXPECT_EQ(job, (Job{.launcher = "Open MPI", .hosts = {"a", ""}, .ranks = {4, 2}}));
}

TEST(Launcher, OpenMpiInsideOfSlurmTakesTheNamesOfItsNodes) {
  const Job job = job_from({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "3"},
                            {"SLURM_JOB_NODELIST", "n[1-2]"}, {"SLURM_STEP_NODELIST", "n2"}, {"SLURM_STEP_TASKS_PER_NODE", "1"}}, "n2");

  EXPECT_EQ(job.hosts, (Hosts{"n1", "n2"}));
  EXPECT_EQ(job.ranks, (std::vector<int>{2, 2}));
  EXPECT_EQ(job.here, 1U);
}

TEST(Launcher, OthersTellItByPmi) {
  const Job job = job_from({{"PMI_SIZE", "5"}, {"PMI_RANK", "4"}, {"MPI_LOCALNRANKS", "2"}}, "x");

  EXPECT_EQ(job, (Job{.launcher = "PMI", .hosts = {"", "", "x"}, .ranks = {2, 2, 1}, .here = 2}));
}

TEST(Launcher, WithoutOneThereIsThisNode) {
  EXPECT_EQ(job_from({}, "x"), (Job{.hosts = {"x"}, .ranks = {1}}));
  EXPECT_EQ(job_from({{"OMPI_COMM_WORLD_SIZE", "0"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "0"}}, "x").hosts, Hosts{"x"});
  EXPECT_EQ(job_from({{"PMIX_RANK", "3"}}, "x").launcher, "PMIx");
}

TEST(Launcher, VariablesAreThoseOfLaunchersOnly) {
  setenv("SLURM_JOB_ID", "1=2", 1);
  setenv("SLURP", "1", 1);

  const base::Environment environment = launcher_environment();
  unsetenv("SLURM_JOB_ID");
  unsetenv("SLURP");

  EXPECT_EQ(environment.at("SLURM_JOB_ID"), "1=2");
  EXPECT_EQ(environment.count("SLURP"), 0U);
}

TEST(Launcher, PlacesRanksInBlocksAndRounds) {
  const auto placed = [](std::vector<int> ranks, Placement::Order order, const Nodes& nodes) {
    return placement_of({.hosts = Hosts(ranks.size()), .ranks = std::move(ranks), .order = order}, nodes);
  };
  constexpr auto block = Placement::Order::block;
  constexpr auto round_robin = Placement::Order::round_robin;

  EXPECT_TRUE(placed({4, 4, 3}, block, {0, 1, 2}).listed.empty());
  EXPECT_EQ(placed({3, 4}, block, {0, 1}).listed, (Nodes{0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(placed({2, 2}, block, {5, 3}).listed, (Nodes{5, 5, 3, 3}));
  EXPECT_TRUE(placed({2, 2, 1}, round_robin, {0, 1, 2}).listed.empty());
  EXPECT_EQ(placed({1, 3}, round_robin, {0, 1}).listed, (Nodes{0, 1, 1, 1}));
  EXPECT_EQ(placed({4, 4, 3}, block, {0, 1, 2}).ranks, 11);
}

}  // namespace
}  // namespace glean::topology
