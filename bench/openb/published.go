package openb

import "slices"

// PublishedFirst and PublishedLast are the first and the last of the seeds of the published
// experiment.
const PublishedFirst, PublishedLast = 42, 51

// Published is a figure of the published experiment on a trace: the part of the GPUs that is left
// over when as much as the fleet has was asked for, in percent, the mean of the seeds. The policy
// has its name in package bench. It is false where nothing was published: the trace is known by
// what was read, not by its name. The figures are from the results that come with the simulator of
// Weng et al. (github.com/hkust-adsl/kubernetes-scheduler-simulator).
func (t *Trace) Published(policy string) (unallocated float64, ok bool) {
	column := slices.Index(publishedPolicies[:], policy)
	row := slices.IndexFunc(published[:], func(p publishedTrace) bool { return p.checksum == t.checksum })
	if column < 0 || row < 0 {
		return 0, false
	}
	return published[row].unallocated[column], true
}

// A publishedTrace is a list of tasks with the published list of nodes, and its figures in the
// order of publishedPolicies.
type publishedTrace struct {
	tasks       string // its name, for readers of the figures
	checksum    uint32
	unallocated [len(publishedPolicies)]float64
}

var publishedPolicies = [...]string{"random", "dot-product", "gpu-clustering", "gpu-packing", "best-fit", "fgd"}

var published = [...]publishedTrace{
	{"default", 0x042e5672, [...]float64{13.70, 9.38, 8.35, 8.22, 7.14, 4.77}},
	{"cpu050", 0xa6da918c, [...]float64{10.98, 6.97, 6.48, 6.54, 6.44, 5.00}},
	{"cpu100", 0xc9a74fd6, [...]float64{12.57, 8.27, 7.58, 7.50, 6.74, 4.79}},
	{"cpu200", 0x5126f130, [...]float64{16.97, 12.55, 10.33, 10.02, 7.85, 5.18}},
	{"gpushare40", 0x28974d45, [...]float64{15.14, 10.70, 10.24, 10.23, 8.56, 6.04}},
	{"gpushare60", 0xb9abeb08, [...]float64{17.19, 13.18, 13.10, 12.85, 10.94, 8.75}},
	{"gpushare100", 0xfea0bddb, [...]float64{21.10, 18.02, 17.78, 17.87, 15.38, 13.36}},
	{"gpuspec10", 0x44bd7c4d, [...]float64{13.74, 9.83, 8.04, 7.76, 6.90, 5.34}},
	{"gpuspec20", 0x576362b3, [...]float64{14.10, 11.71, 10.89, 10.72, 11.54, 5.34}},
	{"gpuspec33", 0xe952ea2d, [...]float64{16.13, 20.18, 18.91, 17.78, 19.61, 12.16}},
	{"multigpu20", 0x9f351a5d, [...]float64{13.08, 8.15, 6.66, 6.50, 6.27, 4.47}},
	{"multigpu30", 0xd2a57f2e, [...]float64{13.37, 6.89, 5.45, 5.30, 5.43, 3.64}},
	{"multigpu50", 0xcebe6d3c, [...]float64{18.72, 5.27, 4.31, 3.94, 4.38, 2.91}},
}
