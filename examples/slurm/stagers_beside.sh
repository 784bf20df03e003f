#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Two stagers on the job's first node, beside the ranks there: no node is set aside, and what the other nodes have captured is out of their
# memory as fast as the network takes it. `glean run` starts the stagers, starts them again when one is killed, and waits for them.
#
#   sbatch stagers_beside.sh ./simulation ARGUMENT…
#SBATCH --nodes=2 --ntasks-per-node=64 --time=01:00:00
set -euo pipefail

glean run --stagers 2 -- srun --mpi=pmix "$@"
