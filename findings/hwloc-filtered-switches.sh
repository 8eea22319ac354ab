#!/usr/bin/env bash
# Claim:    lstopo --filter pcidev:none keeps the GPUs and their matrix of NVLinks, in which no GPU has an NVLink any more.
# Version:  hwloc 2.9.0 (Debian 12), on a made-up machine of two GPUs with 18 links each into an NVSwitch.
# Expected: the bandwidth of 450,000 MB/s between GPU and switch becomes one between the GPUs, or the matrix goes with the switch.
# Seen:     the rows of the switch go, and what is left has zero between the GPUs, which is what hwloc writes for no link.
# Matters:  an inventory that keeps GPUs and drops PCI devices, as --no-io drops too much, takes an HGX for cards without NVLinks.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

apt-get -qq -o APT::Sandbox::User=root download 'hwloc-nox=2.9.0-*' 'libhwloc15=2.9.0-*' libnuma1
for package in *.deb; do
	dpkg -x "$package" .
done
LD_LIBRARY_PATH=$(dirname "$(find "$dir/usr/lib" -name 'libhwloc.so.15')")
export LD_LIBRARY_PATH

sets='cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1"'
cat > machine.xml <<END
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" $sets allowed_cpuset="0x1" allowed_nodeset="0x1" gp_index="1">
    <object type="NUMANode" os_index="0" $sets gp_index="2"/>
    <object type="PU" os_index="0" $sets gp_index="3"/>
    <object type="Bridge" gp_index="4" bridge_type="0-1" depth="0" bridge_pci="0000:[00-03]">
      <object type="PCIDev" gp_index="5" pci_busid="0000:01:00.0" pci_type="0302 [10de:2330] [10de:16c1] a1" pci_link_speed="63.0">
        <object type="OSDev" gp_index="6" name="nvml0" subtype="NVML" osdev_type="1"/>
      </object>
      <object type="PCIDev" gp_index="7" pci_busid="0000:02:00.0" pci_type="0302 [10de:2330] [10de:16c1] a1" pci_link_speed="63.0">
        <object type="OSDev" gp_index="8" name="nvml1" subtype="NVML" osdev_type="1"/>
      </object>
      <object type="PCIDev" gp_index="9" subtype="NVSwitch" pci_busid="0000:03:00.0" pci_type="0680 [10de:22a3] [10de:1796] a1" pci_link_speed="1.0"/>
    </object>
  </object>
  <distances2hetero nbobjs="3" kind="25" name="NVLinkBandwidth">
    <indexes length="25">OSDev:6 OSDev:8 PCIDev:9 </indexes>
    <u64values length="56">1000000 0 450000 0 1000000 450000 450000 450000 1000000 </u64values>
  </distances2hetero>
</topology>
END

# matrix OPTION...: the bandwidths, as lstopo prints it of the made-up machine.
matrix() {
	usr/bin/lstopo-no-graphics -i machine.xml --of console --distances "$@" | sed -n '/NVLinkBandwidth/,$p' | tr -s ' '
}
{
	echo 'as it is'
	matrix --filter io:all
	echo 'without PCI devices'
	matrix --filter io:all --filter pcidev:none
} > now

cat > seen <<'END'
as it is
Relative bandwidth matrix (name NVLinkBandwidth kind 25) between 3 heterogeneous objects by logical indexes:
 index nvml0 nvml1 0000:03:00.0
 nvml0 1000000 0 450000
 nvml1 0 1000000 450000
 0000:03:00.0 450000 450000 1000000
without PCI devices
Relative bandwidth matrix (name NVLinkBandwidth kind 25) between 2 heterogeneous objects by logical indexes:
 index nvml0 nvml1
 nvml0 1000000 0
 nvml1 0 1000000
END

cat now
diff seen now || { echo "this finding has changed: see the lines above" >&2; exit 1; }
