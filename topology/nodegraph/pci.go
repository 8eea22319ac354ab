package nodegraph

// PathOverPCI says what the path from one device to another goes through, from where each hangs:
// the names of its bridge of the host, of the bridges below, and of itself, as sysfs has them. A
// switch is two bridges, its own port and that of the device, so that devices at ports of one
// switch have one bridge each below what they share. Devices below different bridges of the host
// are NODE apart on one NUMA node, and else SYS. No names, no path: PathNone.
func PathOverPCI(a, b []string, oneNUMA bool) PathKind {
	if len(a) == 0 || len(b) == 0 {
		return PathNone
	}
	shared := 0
	for shared < min(len(a), len(b)) && a[shared] == b[shared] {
		shared++
	}
	switch {
	case shared == 0 && !oneNUMA:
		return PathSYS
	case shared == 0:
		return PathNODE
	case shared == 1:
		return PathPHB
	case max(len(a), len(b))-shared > 2:
		return PathPXB
	}
	return PathPIX
}
