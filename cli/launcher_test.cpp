// SPDX-License-Identifier: BSD-3-Clause
#include "cli/launcher.hpp"

#include <gtest/gtest.h>

#include <map>

namespace glean::cli {
namespace {

using Variables = std::map<std::string, std::string>;
using Kind = Launcher::Kind;

Launcher launcher_in(const Variables& variables) {
  return find_launcher([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

Variables operator+(Variables one, const Variables& more) {
  for (const auto& [name, value] : more) one[name] = value;
  return one;
}

// As Slurm 22.05 and Open MPI 4.1 set them.
const Variables allocation{{"SLURM_JOB_ID", "4"}, {"SLURM_NTASKS", "3"}, {"SLURM_NPROCS", "3"}, {"SLURM_NNODES", "3"}};
const Variables job_script = allocation + Variables{{"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}, {"SLURM_GTIDS", "0"}};
const Variables step = job_script + Variables{{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "3"}};
const Variables pmix_step = step + Variables{{"PMIX_NAMESPACE", "slurm.pmix.4.0"}, {"PMIX_RANK", "1"}, {"SLURM_MPI_TYPE", "pmix"}};
const Variables pmi2_step =
    step + Variables{{"PMI_FD", "11"}, {"PMI_SIZE", "3"}, {"PMI_RANK", "1"}, {"SLURM_MPI_TYPE", "pmi2"}};
const Variables mpirun{{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "0"}, {"PMIX_NAMESPACE", "1553989633"}, {"PMIX_RANK", "0"}};
const Variables mpiexec{{"PMI_SIZE", "4"}, {"PMI_RANK", "3"}, {"PMI_FD", "9"}, {"MPI_LOCALNRANKS", "4"}};

TEST(Launcher, IsNoneInAShell) {
  EXPECT_EQ(launcher_in({}).kind, Kind::none);
  EXPECT_EQ(launcher_in({}).count, 1);
}

TEST(Launcher, IsNoneInAJobScriptAndInTheShellOfAnAllocation) {
  EXPECT_EQ(launcher_in(allocation).count, 1);
  EXPECT_EQ(launcher_in(job_script).count, 1);
}

TEST(Launcher, IsMpirunOfOpenMpi) {
  const Launcher launcher = launcher_in(mpirun);
  EXPECT_EQ(launcher.kind, Kind::open_mpi);
  EXPECT_EQ(launcher.count, 2);
  EXPECT_EQ(launcher.describe(), "2 processes that mpirun has started (OMPI_COMM_WORLD_SIZE=2)");
}

TEST(Launcher, IsMpiexecOfMpich) {
  EXPECT_EQ(launcher_in(mpiexec).kind, Kind::pmi);
  EXPECT_EQ(launcher_in(mpiexec).count, 4);
  EXPECT_FALSE(launcher_in(mpiexec).lacks_pmi);
}

TEST(Launcher, IsSrunInAStep) {
  for (const Variables& variables : {pmix_step, pmi2_step, step}) {
    const Launcher launcher = launcher_in(variables);
    EXPECT_EQ(launcher.kind, Kind::slurm);
    EXPECT_EQ(launcher.count, 3);
  }
  EXPECT_FALSE(launcher_in(pmix_step).lacks_pmi);
  EXPECT_FALSE(launcher_in(pmi2_step).lacks_pmi);
  EXPECT_TRUE(launcher_in(step).lacks_pmi) << "srun --mpi=none";
}

TEST(Launcher, IsAloneInAStepOfOneTask) {
  EXPECT_EQ(launcher_in(pmix_step + Variables{{"SLURM_STEP_NUM_TASKS", "1"}}).count, 1);
}

TEST(Launcher, IsTheInnerOne) {
  EXPECT_EQ(launcher_in(step + mpirun).count, 2) << "mpirun has started its daemons with srun";
  EXPECT_EQ(launcher_in(step + Variables{{"OMPI_COMM_WORLD_SIZE", "1"}}).count, 1);
  EXPECT_EQ(launcher_in(step + mpiexec).kind, Kind::pmi);
  EXPECT_EQ(launcher_in(mpirun + pmix_step).kind, Kind::slurm) << "srun in a process of mpirun";
}

TEST(Launcher, IsNoneWhereANumberIsNone) {
  EXPECT_EQ(launcher_in({{"OMPI_COMM_WORLD_SIZE", "many"}}).count, 1);
  EXPECT_EQ(launcher_in({{"PMI_SIZE", ""}}).count, 1);
}

}  // namespace
}  // namespace glean::cli
