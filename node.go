package berth

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// Names by which the caller knows things: 1 to 1,024 bytes of UTF-8 without control characters.
// The core interns them at the door and orders ties by them, so they should be stable: the same
// machine keeps its name when it comes back from repair.
type (
	NodeID   string
	JobID    string
	TenantID string
	// A ReservationID names a reservation that was made in advance.
	ReservationID string
)

// A QueueID names a queue. It is that of package quota, so that a [quota.Queue] and a [Job] name
// one alike.
type QueueID = quota.QueueID

// MaxGPUs is the most GPUs a node may carry.
const MaxGPUs = topology.MaxGPUs

// A Node is a machine that takes members of jobs.
type Node struct {
	ID NodeID `json:"id"`
	// Pool names the set of nodes this one is bought and operated with. Jobs may
	// select pools.
	Pool string `json:"pool,omitempty"`
	// Domains is where the node stands: one domain name for every level of
	// Config.Levels, from the widest to the narrowest. Names are unique within
	// their parent.
	Domains []string `json:"domains,omitempty"`
	// GPUs in index order. All of a node's GPUs are of one product, memory size,
	// compute capability, table and NVLink clique, or none has a clique.
	GPUs []GPU `json:"gpus,omitempty"`
	// Links says how the GPUs reach each other: row i, column j is the word of
	// nvidia-smi topo -m for GPU i and GPU j, such as "NV12", "PIX" or "SYS", and "X"
	// for i = j; "NVS18" are 18 links into an NVSwitch. Members get the GPUs that reach
	// each other best. Nil: all alike.
	Links [][]string `json:"links,omitempty"`
	// CPUMilli is the host CPU that members may use, in thousandths of a core.
	CPUMilli int64 `json:"cpuMilli,omitempty"`
	// MemoryMiB is the host memory that members may use.
	MemoryMiB int64 `json:"memoryMiB,omitempty"`
	// Resources is what members may use of those that Config.Resources declares, by name; left
	// out: nothing.
	Resources map[string]int64 `json:"resources,omitempty"`
	// NICs of the cluster network. A gang that needs several nodes goes to those of which the NICs
	// carry the most together, if these hold all of it: it runs at the pace of the slowest. Of
	// more than four rates those nearest to each other count as one. What a NIC carries no more is
	// told with [NodeUpdated], and what a switch does not with [FabricReported].
	NICs []NIC `json:"nics,omitempty"`
	// Labels that selectors may ask for.
	Labels map[string]string `json:"labels,omitempty"`
	// Taints repel members that do not tolerate them. Up to 64, each of another key.
	Taints []Taint `json:"taints,omitempty"`
}

// Host is what the host has for members, by resource, to compare with Claim.Host. Declared
// resources are in Resources alone.
func (n *Node) Host() countable.Amounts {
	return countable.Amounts{countable.CPUMilli: n.CPUMilli, countable.MemoryMiB: n.MemoryMiB}
}

// A GPU is one accelerator of a node. Its index is its position in Node.GPUs.
type GPU struct {
	// Product names the model, such as "H100-80GB".
	Product string `json:"product"`
	// MemoryMiB is the device memory.
	MemoryMiB int64 `json:"memoryMiB,omitempty"`
	// ComputeCapability is NVIDIA's, such as 9.0; zero where it has none.
	ComputeCapability ComputeCapability `json:"computeCapability,omitzero"`
	// UUID and PCI address, for the orchestrator; the core only carries them.
	UUID string `json:"uuid,omitempty"`
	PCI  string `json:"pci,omitempty"`
	// NUMANode that the GPU is attached to; left out where the platform does not say.
	NUMANode Ordinal `json:"numaNode,omitzero"`
	// Clique names the set of GPUs this one reaches over NVLink. It may span
	// nodes (NVL72). Empty: no NVLink.
	Clique string `json:"clique,omitempty"`
	// MIGTable names the table that says how the GPU divides into instances: that of a
	// product of package mig, such as "H100-80GB", or one told with MIGTableSet, which
	// wins. Empty: it does not divide.
	MIGTable string `json:"migTable,omitempty"`
	// Mode that the GPU is in, and is GPUModeWhole where it is left out, and the instances
	// that exist in GPUModeMIG. Later changes
	// are told with GPUPartitioned; NodeUpdated passes over both.
	Mode      GPUMode         `json:"mode,omitzero"`
	Instances []mig.Placement `json:"instances,omitempty"`
	// MaxShares is how many members may share the GPU at a time; zero: what MPS takes,
	// 48 clients from compute capability 7.0 on and 16 before (NVIDIA, Multi-Process
	// Service, "Limitations"). Drivers that take more are to say so.
	MaxShares int `json:"maxShares,omitempty"`
	// Failed GPUs take no work. GPUFailed and GPURepaired change it later.
	Failed bool `json:"failed,omitempty"`
}

// A NIC is a network adapter of the cluster network.
type NIC struct {
	Name string `json:"name"`
	// Rail is the number of the rail the NIC is cabled to; left out where it is on none, or
	// nobody knows.
	Rail Ordinal `json:"rail,omitzero"`
	// MbitPerSecond is the line rate, or what is left of it; 0: none, or not known.
	MbitPerSecond int64 `json:"mbitPerSecond,omitempty"`
	// NUMANode as in GPU.
	NUMANode Ordinal `json:"numaNode,omitzero"`
}

// An Ordinal is a number that counts from 0 and may not be known, such as that of a NUMA node or
// of a rail. The zero value is: not known. In JSON it is the number, and null or left out where
// it is not known. Ordinals can be compared with ==.
type Ordinal struct{ next int32 } // the number and one; 0: not known

// OrdinalOf is the ordinal of a number. A number outside 0..1000000, such as the -1 of the
// kernel, is not known.
func OrdinalOf(n int) Ordinal {
	if n < 0 || n > limits.MaxOrdinal {
		return Ordinal{}
	}
	return Ordinal{int32(n) + 1}
}

// Number is the number, and whether it is known.
func (o Ordinal) Number() (int, bool) { return int(o.next) - 1, o.next != 0 }

// String prints the number, or "unknown".
func (o Ordinal) String() string {
	if o.next == 0 {
		return "unknown"
	}
	return strconv.Itoa(int(o.next) - 1)
}

// MarshalJSON implements json.Marshaler.
func (o Ordinal) MarshalJSON() ([]byte, error) {
	if o.next == 0 {
		return []byte("null"), nil
	}
	return []byte(o.String()), nil
}

// UnmarshalJSON implements json.Unmarshaler. It refuses what is not a number from 0 on: one that
// is not known is left out.
func (o *Ordinal) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*o = Ordinal{}
		return nil
	}
	n, err := strconv.Atoi(string(b))
	if err != nil || n < 0 || n > limits.MaxOrdinal {
		return &Error{Event: "ordinal", Kind: ErrInvalid, Reason: fmt.Sprintf("is not a number in 0..%d; leave out what is not known", limits.MaxOrdinal)}
	}
	*o = OrdinalOf(n)
	return nil
}

// EqualGPUs lists n GPUs that are like one, as Node.GPUs. Where the one has NVLink all of them
// reach each other, as its Clique says. UUIDs and PCI addresses are each GPU's own, and left
// empty. Instances of the one are copied. None for n below 1; a node takes up to [MaxGPUs], and
// EqualGPUs panics above it.
func EqualGPUs(n int, one GPU) []GPU {
	if n > MaxGPUs {
		panic("berth: a node has more than MaxGPUs GPUs")
	}
	gpus := make([]GPU, max(n, 0))
	for i := range gpus {
		gpus[i] = one
		gpus[i].UUID, gpus[i].PCI = "", ""
		gpus[i].Instances = append(one.Instances[:0:0], one.Instances...)
	}
	return gpus
}

// DomainPath is the path of a node through the levels of the fleet, as Node.Domains, from the name
// of its domain at each level: {"leaf": "leaf-7", "spine": "east"}. A level without a name, and a
// name for what is no level, are refused with an [*Error]. O(levels).
func (c *Config) DomainPath(domains map[string]string) ([]string, error) {
	path := make([]string, 0, len(c.Levels))
	for _, level := range c.Levels {
		name := domains[level]
		if name == "" {
			return nil, &Error{Event: "domains", Field: level, Kind: ErrInvalid, Reason: "has no name"}
		}
		path = append(path, name)
	}
	for _, level := range slices.Sorted(maps.Keys(domains)) {
		if !slices.Contains(c.Levels, level) {
			return nil, &Error{Event: "domains", Field: level, Kind: ErrUnknown, Reason: "is not one of the levels"}
		}
	}
	return path, nil
}

// A ComputeCapability is a version of the GPU's instruction set: 9.0 is
// {9, 0}. It prints and parses as "9.0".
type ComputeCapability struct{ Major, Minor uint8 }

// ParseComputeCapability reads "9.0".
func ParseComputeCapability(s string) (ComputeCapability, error) {
	major, minor, ok := strings.Cut(s, ".")
	a, err1 := strconv.ParseUint(major, 10, 8)
	b, err2 := strconv.ParseUint(minor, 10, 8)
	c := ComputeCapability{uint8(a), uint8(b)}
	if !ok || err1 != nil || err2 != nil || c.String() != s {
		return ComputeCapability{}, &Error{
			Event: "computeCapability", Kind: ErrInvalid,
			Reason: fmt.Sprintf("%q is not of the form 9.0", errtext.Short(s)),
		}
	}
	return c, nil
}

// Less reports whether c is older than d.
func (c ComputeCapability) Less(d ComputeCapability) bool {
	return c.Major < d.Major || c.Major == d.Major && c.Minor < d.Minor
}

// String is "9.0" for {9, 0}.
func (c ComputeCapability) String() string {
	return strconv.Itoa(int(c.Major)) + "." + strconv.Itoa(int(c.Minor))
}

// MarshalText implements encoding.TextMarshaler.
func (c ComputeCapability) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *ComputeCapability) UnmarshalText(b []byte) error {
	if len(b) == 3 && isDigit(b[0]) && b[1] == '.' && isDigit(b[2]) { // a copy of the text is for the rest
		*c = ComputeCapability{b[0] - '0', b[2] - '0'}
		return nil
	}
	v, err := ParseComputeCapability(string(b))
	if err == nil {
		*c = v
	}
	return err
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
