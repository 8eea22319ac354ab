# No finding: the slurm-*.sh scripts source it for a real controller on pretend nodes.
#
# Slurm 22.05.8 of Debian 12 is unpacked into a temporary folder, not installed, and slurmctld runs there as the
# calling user. It listens on all addresses (NoCtldInAddrAny changes nothing there), so munge with a key of its own
# keeps others out. The nodes are cloud nodes, and the program that is to power them up does nothing: the controller
# places jobs on them, holds them in CONFIGURING, and starts none. So a script sees where the controller puts jobs,
# and nothing of slurmd.

dir=$(mktemp -d)
pids=()
clean() {
	for pid in "${pids[@]}"; do
		kill "$pid" 2> /dev/null || true
		wait "$pid" 2> /dev/null || true
	done
	rm -rf "$dir"
}
trap clean EXIT
cd "$dir" || exit
unset "${!SLURM_@}" "${!SBATCH_@}" "${!SQUEUE_@}" "${!SINFO_@}"

# unpack PACKAGE...: puts Debian packages into the folder.
unpack() {
	apt-get -qq -o APT::Sandbox::User=root download "$@"
	for package in *.deb; do
		dpkg -x "$package" .
		rm "$package"
	done
}

# clients: makes Slurm's commands callable, without a controller.
clients() {
	unpack 'slurm-client=22.05.8-*' 'slurm-wlm-basic-plugins=22.05.8-*' libreadline8 libmunge2
	plugins=$(dirname "$(find "$dir/usr/lib" -name libslurmfull.so)")
	libraries=$(dirname "$plugins")
	export PATH=$dir/usr/bin:$PATH LD_LIBRARY_PATH=$plugins:$libraries SLURM_CONF=$dir/slurm.conf
	port=$((20000 + RANDOM % 10000))
	cat > slurm.conf <<-END
		ClusterName=finding
		SlurmctldHost=$(uname -n | cut -d. -f1)(127.0.0.1)
		SlurmctldPort=$port
		SlurmdPort=$((port + 1))
		SlurmUser=$(id -un)
		AuthType=auth/munge
		AuthInfo=socket=$dir/munge/socket
		CredType=cred/munge
		PluginDir=$plugins
		StateSaveLocation=$dir/state
		SlurmctldPidFile=$dir/slurmctld.pid
		SlurmctldLogFile=$dir/slurmctld.log
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		MpiDefault=none
		PrivateData=cloud
		ResumeProgram=/bin/true
		SuspendProgram=/bin/true
		SuspendTime=INFINITE
		ResumeTimeout=3600
		SelectType=select/cons_tres
	END
}

# controller: starts slurmctld with the lines of standard input at the end of slurm.conf.
controller() {
	clients
	unpack 'slurmctld=22.05.8-*' munge
	cat >> slurm.conf
	mkdir state munge
	(umask 077 && head -c 128 /dev/urandom > munge/key)
	usr/sbin/munged --foreground --force --num-threads=1 --key-file="$dir/munge/key" --socket="$dir/munge/socket" \
		--pid-file="$dir/munge/pid" --seed-file="$dir/munge/seed" --log-file="$dir/munge/log" 2> munge/err &
	pids+=($!)
	for _ in {1..60}; do
		[ ! -S munge/socket ] || break
		sleep 0.1
	done
	usr/sbin/slurmctld-wlm -D -f "$dir/slurm.conf" > /dev/null 2> slurmctld.err &
	pids+=($!)
	for _ in {1..60}; do
		if timeout 5 sinfo -h > /dev/null 2>&1; then
			return
		fi
		sleep 0.5
	done
	cat munge/err slurmctld.err slurmctld.log >&2
	echo "slurmctld does not answer: nothing is known about the finding" >&2
	exit 2
}

# submit OPTION...: prints the ID of a job that asks for this, or why it is refused.
submit() {
	timeout 20 sbatch --parsable --wrap true "$@" 2>&1 || true
}

# state JOB FORMAT: prints fields of a job as squeue does, once the scheduler has looked at it.
state() {
	for _ in {1..60}; do
		case $(timeout 5 squeue -h -j "$1" -o '%T %r') in
			CONFIGURING* | PENDING\ [!NP]*) break ;;
		esac
		sleep 0.5
	done
	timeout 5 squeue -h -j "$1" -o "$2"
}
