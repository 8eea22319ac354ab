#!/usr/bin/env bash
# Claim:    CPU numbers of nvidia-smi topo -m, given to hwloc-calc, name other CPUs, half of them on the wrong socket.
# Version:  hwloc 2.9.0 (Debian 12), on a made-up machine of 2 sockets, 4 cores each, 2 threads a core, numbered as Linux
#           numbers most servers: first threads 0 to 7, second threads 8 to 15.
# Expected: pu:4-7 is what taskset -c 4-7 means, as CPUs have but one number each.
# Seen:     hwloc's numbers are its own, in the order of sockets, cores and threads. CPU affinity 4-7,12-15, the second socket,
#           becomes two cores of either socket. With --physical-input it is the second socket.
# Matters:  a job script that binds ranks near their GPUs by these numbers runs without a word, and half of its threads reach
#           their GPU, NIC and memory across the sockets.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

apt-get -qq -o APT::Sandbox::User=root download 'hwloc=2.9.0-*' 'libhwloc15=2.9.0-*' libnuma1
for package in *.deb; do
	dpkg -x "$package" .
done
LD_LIBRARY_PATH=$(dirname "$(find "$dir/usr/lib" -name 'libhwloc.so.15')")
export LD_LIBRARY_PATH

# calc OPTION...: hwloc-calc on the made-up machine. What it prints are Linux's numbers.
calc() {
	usr/bin/hwloc-calc -i 'package:2 [numa] core:4 pu:2(indexes=0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15)' --physical-output -I pu "$@"
}
{
	echo "socket 0 has CPUs           $(calc package:0)"
	echo "socket 1 has CPUs           $(calc package:1)"
	echo "pu:4-7,12-15                $(calc pu:4-7 pu:12-15)"
	echo "pu:4-7,12-15, physical      $(calc --physical-input pu:4-7 pu:12-15)"
} > now

cat > seen <<'END'
socket 0 has CPUs           0,8,1,9,2,10,3,11
socket 1 has CPUs           4,12,5,13,6,14,7,15
pu:4-7,12-15                2,10,3,11,6,14,7,15
pu:4-7,12-15, physical      4,12,5,13,6,14,7,15
END

cat now
diff seen now || { echo "this finding has changed: see the lines above" >&2; exit 1; }
