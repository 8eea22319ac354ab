package gang

import (
	"github.com/berth-sched/berth/host"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology"
)

const (
	// MaxAmount is the most host CPU or memory, or GPU memory, that anything can have
	// or ask for, in the unit of its field.
	MaxAmount = 1 << 40
	// MaxMembers is the most members that a group can have.
	MaxMembers = 1 << 20
	// MaxRails is the most GPUs of a node that takes part in rail alignment, which
	// compares all sets of them.
	MaxRails = 8
	// MaxOwner is the largest owner.
	MaxOwner Owner = 1<<24 - 1

	// MaxProfiles is the most profiles that a claim can name.
	MaxProfiles = 64

	wholeMilli = 1000
)

// An Owner is who may be together on a shared GPU: a small number that the caller
// gives to each pair of trust domain and mode of sharing. A GPU carries shares of
// one owner at a time.
type Owner uint32

// A Claim is what one member needs, all of it on one node. GPUs, Share and Instances
// exclude each other; with none of them the member needs the host alone.
type Claim struct {
	// GPUs is a number of whole GPUs.
	GPUs int
	// Share is a part of one GPU, unless its Milli is 0.
	Share Share
	// Instances asks for one instance of a divided GPU, of the first of these profiles
	// that can be had. Empty: none.
	Instances []Profile
	// Host is what it needs of the host.
	Host host.Amounts
}

// A Profile is a profile of the lattice by which the nodes of a class divide their GPUs:
// the one with that index, as the methods of mig.Lattice take it.
type Profile struct {
	Class topology.Class
	Index int
}

// A Share is a part of one GPU.
type Share struct {
	// Milli is the part of the compute, in thousandths: 1 to 999. 0 is no share.
	Milli int32
	// MemoryMiB is the part of the GPU's memory. In a Claim zero means in proportion to
	// Milli, rounded down; in a Hold it is what it says.
	MemoryMiB int64
	// Owner of the share.
	Owner Owner
}

// A Hold is what one placed member holds.
type Hold struct {
	Node topology.Node
	// GPUs is a set of GPUs, bit i for the GPU with index i. It is empty where the
	// member needs the host alone.
	GPUs uint64
	// Share says, unless its Milli is 0, that the one GPU in GPUs is held in part.
	Share Share
	// Instance is the instance that is held of the one GPU in GPUs; zero: none.
	Instance mig.Placement
	Host     host.Amounts
}
