#!/usr/bin/env bash
# Claim:    a job that asks for one CPU and no memory holds a node's whole memory, and the next waits beside 63 idle CPUs.
# Version:  Slurm 22.05.8 (Debian 12), select/cons_tres with CR_Core_Memory and otherwise defaults, a node of 64 CPUs.
# Expected: no memory asked means no memory reserved (as in Kubernetes), or a share that goes with the CPUs.
# Seen:     the default of DefMemPerNode is all there is. A job that says --mem starts beside another that does.
# Matters:  what is left of a node, its GPUs too, is of no use to anybody then. A reader of scontrol or of a trace
#           sees a job that asked for the node's memory, although nobody wrote that.
set -euo pipefail
source "$(dirname "$0")/slurm-controller.bash"

controller <<'END'
SelectTypeParameters=CR_Core_Memory
NodeName=n[0-1] CPUs=64 RealMemory=500000 State=CLOUD
PartitionName=a Nodes=n0
PartitionName=b Nodes=n1
END

# show OPTION...: what becomes of a job.
show() {
	job=$(submit "${@:1}")
	echo "${*:3}: $(state "$job" '%T %r'), $(timeout 5 scontrol show job "$job" | grep -o ' TRES=.*')"
}
{
	show -p a -n1
	show -p a -n1
	show -p b -n1 --mem=4000
	show -p b -n1 --mem=4000
} > now

cat > seen <<'END'
-n1: CONFIGURING None,  TRES=cpu=1,mem=500000M,node=1,billing=1
-n1: PENDING Resources,  TRES=cpu=1,mem=500000M,node=1,billing=1
-n1 --mem=4000: CONFIGURING None,  TRES=cpu=1,mem=4000M,node=1,billing=1
-n1 --mem=4000: CONFIGURING None,  TRES=cpu=1,mem=4000M,node=1,billing=1
END

cat now
diff seen now || { echo "this finding has changed: see the lines above" >&2; exit 1; }
