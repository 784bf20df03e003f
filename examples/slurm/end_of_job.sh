#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A job that is ended by its time, by preemption or by a crash, recovers what it had captured, and restarts from the newest file that is
# complete: docs/end-of-job.md.
#
#   CHECKPOINTS='chk_*.nc' sbatch end_of_job.sh ./simulation ARGUMENT…      # gets `--restart FILE` behind its arguments
#SBATCH --nodes=2 --ntasks-per-node=64 --time=12:00:00
#SBATCH --signal=TERM@300 --requeue --open-mode=append
set -euo pipefail

# When the job ends, which Slurm says by itself from version 23.02 on.
SLURM_JOB_END_TIME=${SLURM_JOB_END_TIME:-$(date -d "$(squeue -h -j "$SLURM_JOB_ID" -o %e)" +%s)}
export SLURM_JOB_END_TIME

recover() {
  srun --mpi=pmix -N "$SLURM_NNODES" -n "$SLURM_NNODES" --ntasks-per-node=1 glean recover || echo "not all could be recovered" >&2
}

recover   # what an earlier job has left on these nodes
if checkpoint=$(glean latest "${CHECKPOINTS:-chk_*.nc}"); then set -- "$@" --restart "$checkpoint"; fi
status=0
glean run -- srun --mpi=pmix "$@" || status=$?   # a program that uses the library: srun --mpi=pmix "$@"
((status == 0)) || recover                       # what this one has left
exit "$status"
