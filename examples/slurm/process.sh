#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A job on one node: a helper process writes the files, and outlives ranks that crash. On several nodes threads write, as in threaded.sh.
#
#   sbatch process.sh ./simulation ARGUMENT…
#SBATCH --nodes=1 --ntasks-per-node=64 --time=01:00:00
set -euo pipefail

export GLEAN_DRAIN_PLACE=process GLEAN_REPORT_FILE=glean-$SLURM_JOB_ID.json
status=0
glean run -- srun --mpi=pmix "$@" || status=$?   # a program that uses the library: srun --mpi=pmix "$@"
# Slurm ends the helper together with the step of the ranks, unless it was quicker. What it had not written is still in memory.
((status == 0)) || glean recover --wait=60s
exit "$status"
