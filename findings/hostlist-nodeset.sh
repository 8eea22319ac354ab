#!/usr/bin/env bash
# Claim:    what ClusterShell folds, Slurm may refuse, and Slurm's own lists keep order and doubles.
# Version:  ClusterShell 1.9.1, scontrol of Slurm 22.05.8 (both Debian 12).
# Expected: n[1-3] is one notation, and each tool reads what the other writes.
# Seen:     nodeset folds names that go on behind the number, as of a second network, to n[1-2]-ib; scontrol neither writes
#           that nor reads it. nodeset folds two numbers at once, scontrol only the last. nodeset sorts and keeps a
#           name once; scontrol show hostlist keeps the order and a name twice. Steps, n[1-9/2], are nodeset's alone.
# Matters:  lists of nodes go from one tool to the other in scripts around every cluster. The order is that of ranks, and
#           the count of a Slurm list is not the count of its nodes.
set -euo pipefail
source "$(dirname "$0")/slurm-controller.bash"
clients
unpack 'clustershell=1.9.1-*' 'python3-clustershell=1.9.1-*'
export PYTHONPATH=$dir/usr/lib/python3/dist-packages

{
	for names in n3,n1,n2 n1,n1,n2 n1-ib,n2-ib r1n1,r1n2,r2n1,r2n2; do
		echo "fold $names: slurm $(scontrol show hostlist "$names"), nodeset $(python3 usr/bin/nodeset -f "$names")"
	done
	for list in 'n[08-11]' 'n[1-2]-ib' 'n[1-9/2]'; do
		slurm=$(scontrol show hostnames "$list" 2>&1 | grep -v error: | paste -sd ' ') || true
		echo "expand $list: slurm $slurm"
		echo "expand $list: nodeset $(python3 usr/bin/nodeset -e "$list")"
	done
} > now

cat > seen <<'END'
fold n3,n1,n2: slurm n[3,1-2], nodeset n[1-3]
fold n1,n1,n2: slurm n[1,1-2], nodeset n[1-2]
fold n1-ib,n2-ib: slurm n1-ib,n2-ib, nodeset n[1-2]-ib
fold r1n1,r1n2,r2n1,r2n2: slurm r1n[1-2],r2n[1-2], nodeset r[1-2]n[1-2]
expand n[08-11]: slurm n08 n09 n10 n11
expand n[08-11]: nodeset n08 n09 n10 n11
expand n[1-2]-ib: slurm Invalid hostlist: n[1-2]-ib
expand n[1-2]-ib: nodeset n1-ib n2-ib
expand n[1-9/2]: slurm Invalid hostlist: n[1-9/2]
expand n[1-9/2]: nodeset n1 n3 n5 n7 n9
END

cat now
diff seen now || { echo "this finding has changed: see the lines above" >&2; exit 1; }
