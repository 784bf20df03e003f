#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The last nodes of the job are set aside to write: stagers there get what the ranks on the other nodes have captured. The job ends when
# they have written everything.
#
#   STAGERS=2 sbatch staged.sh ./simulation ARGUMENT…
#SBATCH --nodes=10 --ntasks-per-node=64 --time=01:00:00
set -euo pipefail

stagers=${STAGERS:-1}
nodes=$((SLURM_NNODES - stagers))
tasks=$((nodes * ${SLURM_NTASKS_PER_NODE:?start it with --ntasks-per-node}))
export GLEAN_MODE=staged GLEAN_STAGING_ADDRESS=$PWD/stage-$SLURM_JOB_ID.json

srun --exact --relative="$nodes" -N "$stagers" -n "$stagers" --ntasks-per-node=1 \
  glean stage --directory "$PWD" --address-file "$GLEAN_STAGING_ADDRESS" --grace 10min &
service=$!
# All stagers have to be there when the program begins.
until [ "$(glean stage status --address-file "$GLEAN_STAGING_ADDRESS" 2> /dev/null | grep -c ' since ')" = "$stagers" ]; do
  kill -0 "$service" 2> /dev/null || { echo "the stagers have ended" >&2; exit 1; }
  sleep 1
done

status=0
glean run -- srun --mpi=pmix --exact --relative=0 -N "$nodes" -n "$tasks" "$@" || status=$?
# The step of the stagers: they write what they still have, and end. (SIGTERM would have Slurm kill them after KillWait.)
scancel --signal=INT "$SLURM_JOB_ID.0" || true   # Slurm 22.05 reports a step that ends meanwhile as an error
wait "$service" || status=$?
exit "$status"
