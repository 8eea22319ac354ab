#!/usr/bin/env bash
# Claim:    a job of two nodes with --constraint="a100|h100" gets a node of each.
# Version:  Slurm 22.05.8 (Debian 12), select/cons_tres, nodes with a feature for their GPU model.
# Expected: one model or the other for the whole job, as a choice among kinds of nodes means elsewhere.
# Seen:     the expression is held against each node by itself. With brackets, "[a100|h100]", all nodes of a job have one model,
#           and the job is refused where no model has two nodes.
# Matters:  a gang runs at the speed of its slowest GPU. A tool that turns Slurm's jobs into gangs of one kind of GPU
#           must keep the two forms apart, as the text differs by two brackets.
set -euo pipefail
source "$(dirname "$0")/slurm-controller.bash"

controller <<'END'
SelectTypeParameters=CR_Core
NodeName=a0,b0 CPUs=64 Feature=a100 State=CLOUD
NodeName=a1,b1 CPUs=64 Feature=h100 State=CLOUD
PartitionName=a Nodes=a[0-1]
PartitionName=b Nodes=b[0-1]
END

{
	job=$(submit -p a -N2 -C 'a100|h100')
	echo "a100|h100: $(state "$job" '%T %N')"
	echo "[a100|h100]: $(submit -p b -N2 -C '[a100|h100]')"
} > now

cat > seen <<'END'
a100|h100: CONFIGURING a[0-1]
[a100|h100]: sbatch: error: Batch job submission failed: Requested node configuration is not available
END

cat now
diff seen now || { echo "this finding has changed: see the lines above" >&2; exit 1; }
