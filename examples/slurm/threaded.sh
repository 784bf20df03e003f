#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Threads of each node's first rank write the files while the program computes: the default.
#
#   sbatch threaded.sh ./simulation ARGUMENT…
#SBATCH --nodes=2 --ntasks-per-node=64 --time=01:00:00
set -euo pipefail

export GLEAN_REPORT_FILE=glean-$SLURM_JOB_ID.json   # what it did, for `jq` and for people: docs/report.md
# Where a node has cores that the ranks leave free, the threads can be told to use them:
# export GLEAN_DRAIN_CORES=63

glean run -- srun --mpi=pmix "$@"   # a program that uses the library: srun --mpi=pmix "$@"
