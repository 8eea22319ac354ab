#!/usr/bin/env bash
# Claim:    with a topology.conf in which no switch joins the leaves, a job larger than a leaf is refused, though all nodes are idle.
# Version:  Slurm 22.05.8 (Debian 12), topology/tree and otherwise defaults.
# Expected: the file says which nodes are near each other, and a tree makes jobs faster, not impossible: what is not
#           joined is far, not out of reach.
# Seen:     six nodes of two leaves of four: "Requested node configuration is not available". One more line, a switch above
#           both, and the job is placed.
# Matters:  a generated file that lists leaves alone (racks, NVLink domains) makes every larger gang impossible. A reader of
#           such a file for another scheduler must not add a root, or gangs lie where Slurm would never put them.
set -euo pipefail
source "$(dirname "$0")/slurm-controller.bash"

cat > topology.conf <<'END'
SwitchName=leaf0 Nodes=n[0-3]
SwitchName=leaf1 Nodes=n[4-7]
END
controller <<'END'
TopologyPlugin=topology/tree
SelectTypeParameters=CR_Core
NodeName=n[0-7] CPUs=64 State=CLOUD
PartitionName=a Nodes=ALL Default=YES
END

{
	timeout 5 sinfo -h -o '%D nodes'
	echo "no root: $(submit -N6)"
	echo 'SwitchName=spine Switches=leaf[0-1]' >> topology.conf
	timeout 20 scontrol reconfigure
	echo "a root: $(state "$(submit -N6)" '%T %N')"
} > now

cat > seen <<'END'
8 nodes
no root: sbatch: error: Batch job submission failed: Requested node configuration is not available
a root: CONFIGURING n[0-5]
END

cat now
diff seen now || { echo "this finding has changed: see the lines above" >&2; exit 1; }
