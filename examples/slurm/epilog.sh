#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# For `Epilog=` in slurm.conf: completes what a job on one node has left, before something cleans /dev/shm. Jobs on several nodes are left
# as they are, which the log then says, because an epilog has no launcher. Epilogs are run by root, and pools are the user's.
glean=/usr/local/bin/glean   # where it is installed

runuser -u "$SLURM_JOB_USER" -- "$glean" recover --wait=60s 2>&1 | logger -t glean
exit 0   # anything else would drain the node
