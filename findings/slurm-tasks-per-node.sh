#!/usr/bin/env bash
# Claim:    a job of 16 tasks on 4 nodes gets one node for 13 tasks, and three nodes for a task each.
# Version:  Slurm 22.05.8 (Debian 12), select/cons_tres with CR_Core and otherwise defaults, 4 idle nodes of 64 CPUs.
# Expected: -N4 -n16 means 4 tasks a node: the nodes are equal, and so is what is asked of them.
# Seen:     CPUs are taken node by node, as many as there are, while each further node keeps one task. --spread-job changes
#           nothing here. --ntasks-per-node=4 gives 4 tasks a node.
# Matters:  training with one task a GPU is often written as -N and -n. Ranks of one node share its NVLink and its NIC, so
#           how a gang lies decides its speed, and a replay of such a job from its node and task counts must
#           not divide the one by the other.
set -euo pipefail
source "$(dirname "$0")/slurm-controller.bash"

controller <<'END'
SelectTypeParameters=CR_Core
NodeName=n[0-11] CPUs=64 State=CLOUD
PartitionName=a Nodes=n[0-3]
PartitionName=b Nodes=n[4-7]
PartitionName=c Nodes=n[8-11]
END

# show TITLE OPTION...: how many CPUs each node of a job of one CPU a task gives.
show() {
	echo "$1"
	job=$(submit "${@:2}")
	state "$job" '  %T' > /dev/null
	timeout 5 scontrol show job -d "$job" | grep -o 'Nodes=.* CPU_IDs=[^ ]*' | sed 's/^/  /'
}
{
	show '-N4 -n16' -p a -N4 -n16
	show '-N4 -n16 --spread-job' -p b -N4 -n16 --spread-job
	show '-N4 -n16 --ntasks-per-node=4' -p c -N4 -n16 --ntasks-per-node=4
} > now

cat > seen <<'END'
-N4 -n16
  Nodes=n0 CPU_IDs=0-12
  Nodes=n[1-3] CPU_IDs=0
-N4 -n16 --spread-job
  Nodes=n4 CPU_IDs=0-12
  Nodes=n[5-7] CPU_IDs=0
-N4 -n16 --ntasks-per-node=4
  Nodes=n[8-11] CPU_IDs=0-3
END

cat now
diff seen now || { echo "this finding has changed: see the lines above" >&2; exit 1; }
