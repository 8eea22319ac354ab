#!/usr/bin/env bash
# slurm.bash OUT runs forty jobs of every kind under a real Slurm, and leaves in the folder OUT what sacct, sshare and
# scontrol print of them, and what was submitted: lines of an ID, a kind, and what is to be read of it.
#
# Slurm 22.05 of Debian 12 is unpacked into a temporary folder, not installed, with munge and MariaDB: slurmctld,
# slurmdbd, and a slurmd for each of eight pretend nodes of eight pretend GPUs, on loopback. It runs as root, as slurmd
# does; jobs are sleeps of a few seconds. It takes three minutes, of which two are the hold after a requeue, and exits
# with 3 where the packages cannot be had.
set -euo pipefail
out=$(realpath "$1")
dir=$(mktemp -d)
pids=()
clean() {
	for pid in "${pids[@]}"; do
		kill "$pid" 2> /dev/null || true
	done
	for pid in "${pids[@]}"; do
		wait "$pid" 2> /dev/null || true
	done
	rm -rf "$dir"
}
trap clean EXIT
trap 'echo "failed at line $LINENO" >&2' ERR
cd "$dir"
unset "${!SLURM_@}" "${!SBATCH_@}" "${!SQUEUE_@}" "${!SINFO_@}" "${!SACCT_@}"

apt-get -qq -o APT::Sandbox::User=root download 'slurm-client=22.05.8-*' 'slurm-wlm-basic-plugins=22.05.8-*' \
	'slurm-wlm-mysql-plugin=22.05.8-*' 'slurmctld=22.05.8-*' 'slurmd=22.05.8-*' 'slurmdbd=22.05.8-*' munge libmunge2 \
	libreadline8 mariadb-server-core mariadb-client-core libmariadb3 libaio1 libhwloc15 liburing2 libsnappy1v5 2> apt.err || { cat apt.err >&2; exit 3; }
for package in *.deb; do
	dpkg -x "$package" .
	rm "$package"
done
plugins=$(dirname "$(find "$dir/usr/lib" -name libslurmfull.so)")
export PATH=$dir/usr/bin:$dir/usr/sbin:$PATH LD_LIBRARY_PATH=$plugins:$(dirname "$plugins"):$dir/lib/$(uname -m)-linux-gnu SLURM_CONF=$dir/slurm.conf
for daemon in slurmctld slurmd slurmstepd; do
	ln -s "$daemon-wlm" "usr/sbin/$daemon" # by its name a daemon knows what it is: slurmctld-wlm crashes with slurmdbd
done
port=$((20000 + RANDOM % 9000))
host=$(uname -n | cut -d. -f1)
mkdir state munge db spool

# wait_for SECONDS COMMAND...: until it succeeds.
wait_for() {
	for ((i = 0; i < 2 * $1; i++)); do
		if "${@:2}" > /dev/null 2>&1; then
			return
		fi
		sleep 0.5
	done
	"${@:2}" >&2 || true
	tail -n 5 "$dir"/*.err "$dir"/*.log >&2
	echo "gave up waiting for: ${*:2}" >&2
	exit 1
}

(umask 077 && head -c 128 /dev/urandom > munge/key)
chmod 711 "$dir" munge
munged --foreground --force --num-threads=2 --key-file="$dir/munge/key" --socket="$dir/munge/socket" \
	--pid-file="$dir/munge/pid" --seed-file="$dir/munge/seed" --log-file="$dir/munge/log" 2> munge.err &
pids+=($!)

mariadb-install-db --no-defaults --user=root --basedir="$dir/usr" --datadir="$dir/db" --skip-test-db --auth-root-authentication-method=normal > db.log 2>&1
mariadbd --no-defaults --user=root --basedir="$dir/usr" --datadir="$dir/db" --socket="$dir/db.socket" --skip-networking \
	--innodb-buffer-pool-size=64M --pid-file="$dir/db.pid" >> db.log 2>&1 &
pids+=($!)
sql=(mariadb --no-defaults --socket="$dir/db.socket" -e)
wait_for 30 "${sql[@]}" "SELECT 1"
"${sql[@]}" "CREATE USER 'slurm'@'localhost' IDENTIFIED BY 'slurm'; GRANT ALL ON *.* TO 'slurm'@'localhost'"

cat > slurmdbd.conf <<END
DbdHost=$host
DbdAddr=127.0.0.1
DbdPort=$port
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
PluginDir=$plugins
SlurmUser=root
StorageType=accounting_storage/mysql
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm
PidFile=$dir/slurmdbd.pid
LogFile=$dir/slurmdbd.log
END
chmod 600 slurmdbd.conf
cat > slurm.conf <<END
ClusterName=pretended
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$((port + 1))
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
CredType=cred/munge
PluginDir=$plugins
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd-%n.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=1000
SchedulerParameters=sched_interval=2,bf_interval=2,permit_job_expansion
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PriorityType=priority/multifactor
PriorityWeightFairshare=1000
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$port
AccountingStoragePass=$dir/munge/socket
AccountingStorageEnforce=associations
AccountingStorageTRES=gres/gpu,gres/gpu:h100,gres/gpu:a100
GresTypes=gpu
NodeName=n[1-6] NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((port + 11))-$((port + 16)) CPUs=64 Sockets=2 CoresPerSocket=32 RealMemory=200000 Gres=gpu:h100:8
NodeName=n7 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((port + 17)) CPUs=64 Sockets=2 CoresPerSocket=32 RealMemory=200000 Gres=gpu:a100:8
NodeName=n8 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((port + 18)) CPUs=64 Sockets=2 CoresPerSocket=32 RealMemory=200000 Gres=gpu:a100:4,gpu:h100:4
PartitionName=gpu Nodes=n[1-6] Default=YES PriorityTier=1
PartitionName=urgent Nodes=n[1-6] PriorityTier=10
PartitionName=Mixed Nodes=n[7-8]
END
mkdir dev
touch dev/gpu{0..7}
cat > gres.conf <<END
NodeName=n[1-6] Name=gpu Type=h100 File=$dir/dev/gpu[0-7]
NodeName=n7 Name=gpu Type=a100 File=$dir/dev/gpu[0-7]
NodeName=n8 Name=gpu Type=a100 File=$dir/dev/gpu[0-3]
NodeName=n8 Name=gpu Type=h100 File=$dir/dev/gpu[4-7]
END
# What slurmdbd takes for the socket of the database, its settings cannot say.
MYSQL_UNIX_PORT=$dir/db.socket slurmdbd -D > slurmdbd.err 2>&1 &
pids+=($!)
wait_for 30 timeout 5 sacctmgr -n show cluster
sacctmgr -i add cluster pretended > /dev/null 2>&1 || true
for line in 'account science fairshare=50' 'account cs fairshare=50' 'account phys parent=science fairshare=1' \
	'account bio parent=science fairshare=1' 'user root account=phys,bio,cs defaultaccount=phys'; do
	# shellcheck disable=SC2086
	sacctmgr -i add $line > /dev/null
done
slurmctld -D > slurmctld.err 2>&1 &
pids+=($!)
wait_for 20 timeout 5 sinfo -h
for n in n1 n2 n3 n4 n5 n6 n7 n8; do
	mkdir "spool/$n"
	slurmd -D -d "$dir/usr/sbin/slurmstepd" -N "$n" > "$n.err" 2>&1 &
	pids+=($!)
done
idle() { [ "$(timeout 5 sinfo -h -N -o '%T' | sort | uniq -c | tr -s ' ')" = " $1 idle" ]; }
wait_for 60 idle 14

# submit KIND WHAT OPTION...: submits a job of account phys, and notes what is to be read of it.
submit() {
	local id
	id=$(sbatch --parsable --account phys --output /dev/null --mem-per-cpu=10 --time 5 "${@:3}")
	echo "$id|$1|$2" >> submitted
	echo "$id"
}
run() { echo "--wrap=sleep $1"; }

again=$(submit requeued '1x8 for 4, 1x8 for 8' --requeue --gres=gpu:8 "$(run 8)")
for account in phys bio cs; do
	for seconds in 2 3 4; do
		submit plain "1x2 for $seconds" --account "$account" --gres=gpu:2 "$(run $seconds)" > /dev/null
	done
done
for seconds in 2 4; do
	submit typed "1x1 h100 for $seconds" --gres=gpu:h100:1 "$(run $seconds)" > /dev/null
	submit gang "2x8 for $seconds" --nodes 2 --gres=gpu:8 "$(run $seconds)" > /dev/null
	submit total "2x8 for $seconds" --gpus 16 "$(run $seconds)" > /dev/null
	submit mixed "1x4 a100 for $seconds" --partition Mixed --gres=gpu:a100:4 "$(run $seconds)" > /dev/null
	submit host 'no GPU' "$(run $seconds)" > /dev/null
	submit failed "1x1 for $seconds" --gres=gpu:1 --wrap "sleep $seconds; false" > /dev/null
done
first=$(submit plain '1x1 for 6' --gres=gpu:1 "$(run 6)")
submit dependent '1x1 for 2, waits less than 5' --dependency "afterany:$first" --gres=gpu:1 "$(run 2)" > /dev/null
submit begin '1x1 for 2, waits less than 8' --begin now+20 --gres=gpu:1 "$(run 2)" > /dev/null
submit array 'six of 1x1 for 3' --array 1-6%2 --gres=gpu:1 "$(run 3)" > /dev/null
sbatch --parsable --account bio --output /dev/null --mem-per-cpu=10 --time 5 --gres=gpu:2 : --mem-per-cpu=10 --gres=gpu:h100:1 "$(run 5)" |
	sed 's/$/|parts|1x2 + 1x1 h100 for 5/' >> submitted
suspended=$(submit suspended '1x2 for 7' --gres=gpu:2 "$(run 6)")
resized=$(submit resized '3x8 for 5, 1x8 for 5' --nodes 3 --gres=gpu:8 "$(run 10)")
never=$(submit never '' --hold --gres=gpu:1 "$(run 2)")
scancel "$never"

is() { [ "$(timeout 5 squeue -h -j "$1" -o %T)" = "$2" ]; }
wait_for 30 is "$again" RUNNING
sleep 2
scontrol requeue "$again"
wait_for 60 is "$suspended" RUNNING
scontrol suspend "$suspended"
sleep 4
scontrol resume "$suspended"
wait_for 60 is "$resized" RUNNING
sleep 4
scontrol update "JobId=$resized" NumNodes=1
scontrol show node > "$out/nodes.txt"
scontrol --oneliner show node > "$out/oneliner.txt"
done_all() { [ -z "$(timeout 5 squeue -h)" ]; }
wait_for 240 done_all
sleep 3
sacct --allusers --allocations --duplicates --parsable2 --starttime now-1hour --format \
	JobID,User,Account,Partition,QOS,Submit,Eligible,Start,End,Elapsed,Suspended,Timelimit,State,ReqTRES,AllocTRES,NNodes > "$out/jobs.txt"
sshare --all --parsable > "$out/shares.txt"
cp submitted "$out/submitted.txt"
