#!/usr/bin/env bash
# Claim:    --switches=1@12:00:00 waits five minutes for one switch, not twelve hours.
# Version:  Slurm 22.05.8 (Debian 12), topology/tree and otherwise defaults.
# Expected: a job that would rather wait half a day than be spread over two switches says so, and is heeded or told no.
# Seen:     the time is cut to max_switch_wait of SchedulerParameters, 300 s by default, without a word. scontrol
#           show job tells. With max_switch_wait=86400 the twelve hours stand.
# Matters:  --switches is a wish with a deadline, never a constraint. A scheduler that reads it as "one leaf, or wait" places
#           gangs otherwise than Slurm does, and the user of such a job finds the gang torn after five minutes.
set -euo pipefail
source "$(dirname "$0")/slurm-controller.bash"

cat > topology.conf <<'END'
SwitchName=leaf0 Nodes=n[0-3]
SwitchName=leaf1 Nodes=n[4-7]
SwitchName=spine Switches=leaf[0-1]
END
controller <<'END'
TopologyPlugin=topology/tree
SelectTypeParameters=CR_Core
NodeName=n[0-7] CPUs=64 State=CLOUD
PartitionName=a Nodes=ALL Default=YES
END

# show: what the controller keeps of a wait for twelve hours.
show() {
	timeout 5 scontrol show job "$(submit -H -N2 --switches=1@12:00:00)" | grep -o 'Switches=.*'
}
{
	echo "default: $(show)"
	echo 'SchedulerParameters=max_switch_wait=86400' >> slurm.conf
	timeout 20 scontrol reconfigure
	echo "max_switch_wait=86400: $(show)"
} > now

cat > seen <<'END'
default: Switches=1@00:05:00
max_switch_wait=86400: Switches=1@12:00:00
END

cat now
diff seen now || { echo "this finding has changed: see the lines above" >&2; exit 1; }
