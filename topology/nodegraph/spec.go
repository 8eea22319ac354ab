package nodegraph

import (
	"strconv"

	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/skipped"
	"github.com/berth-sched/berth/topology"
)

// maxGPUs and maxNICs are the most that a node may have, as in package topology: a set is a word.
const (
	maxGPUs = topology.MaxGPUs
	maxNICs = topology.MaxNICs
)

// maxRate bounds a rate, in MB/s, so that no sum overflows: 10 TB/s.
const maxRate = 10_000_000

// A Spec says what is in a node and how it hangs together. ParseMatrix, ParseROCm, ParseHwloc
// and ParseNCCL make one from a text; an adapter fills one in from what its driver says. The zero
// values of all but GPUs mean "not known".
type Spec struct {
	// Product is the name of the GPUs, for RatesOf. A name that is not known, or
	// none, means DefaultRates.
	Product string
	// NVLinkMBps is the rate of a single NVLink and PCIe that of a GPU's port, in MB/s
	// one way; zero: the product's.
	NVLinkMBps, PCIeMBps int64
	// GPUs in the order of their indexes, 1 to topology.MaxGPUs.
	GPUs []GPUSpec
	// Links has the path from each GPU to each: square, symmetric, and the zero
	// Link on the diagonal. Nil: all paths are NODE within a NUMA node, and SYS
	// beyond it.
	Links [][]Link
	// NVLinksUntold: the source says nothing of NVLinks, which is not that there are none. Links
	// then are those of PCIe; ask the driver, or set them by what the machine is known to have.
	NVLinksUntold bool
	// NICs in the order of their indexes, up to MaxNICs.
	NICs []NICSpec
	// Skipped is what the reader of a text passed over. The graph does not look at it.
	Skipped []Skip
}

// A Skip is something in a text that the graph knows nothing of, with the line of the first.
type Skip = skipped.Skip

// A GPUSpec of a Spec.
type GPUSpec struct {
	// Bus is the PCI address. The graph does not look at it.
	Bus string
	// NUMA is the NUMA node; zero: not known.
	NUMA NUMANode
	// PCIeMBps is the rate of this GPU's port in MB/s one way; zero: the Spec's.
	PCIeMBps int64
}

// A NICSpec of a Spec.
type NICSpec struct {
	// Name, such as mlx5_0.
	Name string
	// NUMA is the NUMA node; zero: not known.
	NUMA NUMANode
	// MBps is the rate of the port in MB/s: 50,000 for 400 Gbit/s. Zero: not known.
	MBps int64
	// Paths has the kind of path to each GPU, none of them NVLink. Nil: all of them
	// are NODE within a NUMA node, and SYS beyond it.
	Paths []PathKind
}

// check returns why the Spec makes no graph.
func (s *Spec) check() error {
	switch n := len(s.GPUs); {
	case n == 0:
		return invalid("gpus", "a node without GPUs has no graph")
	case n > maxGPUs:
		return &Error{Field: "gpus", Reason: strconv.Itoa(n) + " GPUs, and " + strconv.Itoa(maxGPUs) + " is the most", Kind: ErrTooLarge}
	case len(s.NICs) > maxNICs:
		return &Error{Field: "nics", Reason: strconv.Itoa(len(s.NICs)) + " NICs, and " + strconv.Itoa(maxNICs) + " is the most", Kind: ErrTooLarge}
	}
	if err := checkRate("nvlink", s.NVLinkMBps); err != nil {
		return err
	}
	if err := checkRate("pcie", s.PCIeMBps); err != nil {
		return err
	}
	for i, gpu := range s.GPUs {
		if err := checkRate(at("gpus", i, "pcie"), gpu.PCIeMBps); err != nil {
			return err
		}
		if err := checkNUMA(at("gpus", i, "numa"), gpu.NUMA); err != nil {
			return err
		}
	}
	if err := s.checkLinks(); err != nil {
		return err
	}
	for i, nic := range s.NICs {
		if err := s.checkNIC(i, nic); err != nil {
			return err
		}
	}
	return nil
}

func (s *Spec) checkLinks() error {
	n := len(s.GPUs)
	if s.Links == nil {
		return nil
	}
	if len(s.Links) != n {
		return invalid("links", strconv.Itoa(len(s.Links))+" rows for "+strconv.Itoa(n)+" GPUs")
	}
	for a, row := range s.Links {
		if len(row) != n {
			return invalid(at("links", a, ""), strconv.Itoa(len(row))+" links for "+strconv.Itoa(n)+" GPUs")
		}
	}
	for a, row := range s.Links {
		for b, link := range row {
			field := at(at("links", a, ""), b, "")
			switch {
			case a == b && link != Link{}:
				return invalid(field, "a GPU has no link to itself")
			case link.Kind > PathNVSwitch:
				return invalid(field, "there is no "+link.Kind.String())
			case link.Kind.isNV() && (link.Count < 1 || link.Count > MaxLinks):
				return invalid(field, "a count of NVLinks goes from 1 to "+strconv.Itoa(MaxLinks)+", not "+strconv.Itoa(link.Count))
			case !link.Kind.isNV() && link.Count != 0:
				return invalid(field, "only NVLinks are counted")
			case b < a && link != s.Links[b][a]:
				return invalid(field, link.String()+", and "+s.Links[b][a].String()+" the other way")
			}
		}
	}
	return nil
}

func (s *Spec) checkNIC(i int, nic NICSpec) error {
	if err := checkRate(at("nics", i, "oneWay"), nic.MBps); err != nil {
		return err
	}
	if err := checkNUMA(at("nics", i, "numa"), nic.NUMA); err != nil {
		return err
	}
	if nic.Paths == nil {
		return nil
	}
	if len(nic.Paths) != len(s.GPUs) {
		return invalid(at("nics", i, "paths"), strconv.Itoa(len(nic.Paths))+" paths for "+strconv.Itoa(len(s.GPUs))+" GPUs")
	}
	for g, kind := range nic.Paths {
		if kind > PathPIX {
			return invalid(at(at("nics", i, "paths"), g, ""), "no path to a NIC is "+kind.String())
		}
	}
	return nil
}

func checkRate(field string, rate int64) error {
	if rate < 0 || rate > maxRate {
		return invalid(field, "a rate goes from 0 to "+strconv.Itoa(maxRate)+" MB/s, not "+strconv.FormatInt(rate, 10))
	}
	return nil
}

func invalid(field, reason string) error {
	return &Error{Field: field, Reason: reason, Kind: ErrInvalid}
}

// at is the path of element i of a list, and of a field of it.
func at(list string, i int, field string) string {
	return errtext.Path(errtext.Index(list, i), field)
}
