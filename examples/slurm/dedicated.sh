#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The last rank of each node is set aside to write and computes nothing. Only for programs that use the library and ask
# `Session::is_writer` (docs/modes.md); so there is one task more on each node than those that compute.
#
#   sbatch dedicated.sh ./simulation ARGUMENT…
#SBATCH --nodes=2 --ntasks-per-node=64 --time=01:00:00
set -euo pipefail

export GLEAN_MODE=dedicated GLEAN_REPORT_FILE=glean-$SLURM_JOB_ID.json
srun --mpi=pmix "$@"
