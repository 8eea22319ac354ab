package nodegraph

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"

	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/jsontext"
)

// A FabricPartition is a set of GPUs that NVIDIA's Fabric Manager can join over NVSwitches while
// the others stay apart, as machines need that hand GPUs to virtual machines.
type FabricPartition struct {
	// ID is by what the Fabric Manager activates it.
	ID int
	// Active: it is in use, and its GPUs are in no other that is.
	Active bool
	GPUs   []FabricGPU
}

// A FabricGPU of a FabricPartition.
type FabricGPU struct {
	// PhysicalID is the number of its module, from 1 on most boards: "Module ID" of nvidia-smi -q.
	// It is not the index of the driver, which goes by PCI addresses.
	PhysicalID int
	// UUID and Bus are the names and the address; empty where the Fabric Manager sees no GPU, as
	// beside virtual machines that have it.
	UUID, Bus string
	// NVLinks that are available.
	NVLinks int
}

// maxPartitions is more than a Fabric Manager has: 15 for 8 GPUs, 31 for 16.
const maxPartitions = 256

// ParseFabricPartitions reads what "fmpm -l" prints, NVIDIA's client of the Fabric Manager, and
// what other clients of its interface print in the same form. The file's name is for errors.
// Partitions come by their IDs. What is not known is listed in the Skips. Errors are of type *Error
// with line and column. O(length of the text).
func ParseFabricPartitions(file, text string) ([]FabricPartition, []Skip, error) {
	p := amdParser{file: file, c: jsontext.New([]byte(text), 1, 1)}
	c := p.c
	var partitions []FabricPartition
	found, announced := false, int64(-1)
	c.Object(func(key []byte) {
		switch string(key) {
		case "partitionInfo":
			found = true
			c.List(func(i int) {
				if i == maxPartitions {
					c.FailTooLarge("more than %d partitions", maxPartitions)
					return
				}
				partitions = append(partitions, p.partition())
			})
		case "numPartitions":
			announced = c.Int()
		case "version", "maxNumPartitions":
		default:
			p.unread(key, "the list")
		}
	})
	if !found && !c.Failed() {
		c.Fail(`no "partitionInfo": it is to be what "fmpm -l" prints`)
	}
	if err := p.end(); err != nil {
		return nil, nil, err
	}
	slices.SortFunc(partitions, func(a, b FabricPartition) int { return cmp.Compare(a.ID, b.ID) })
	for i := 1; i < len(partitions); i++ {
		if partitions[i].ID == partitions[i-1].ID {
			return nil, nil, p.refuse("partitionId", "two partitions with the ID "+strconv.Itoa(partitions[i].ID))
		}
	}
	if announced >= 0 && announced != int64(len(partitions)) {
		return nil, nil, p.refuse("numPartitions", strconv.FormatInt(announced, 10)+" partitions, and "+strconv.Itoa(len(partitions))+" are there")
	}
	return partitions, p.skipped, nil
}

// partition reads a partition, all of which has to be there.
func (p *amdParser) partition() FabricPartition {
	c := p.c
	f, id, active, many := FabricPartition{}, int64(-1), int64(-1), int64(-1)
	if c.Kind() != '{' {
		c.Fail("not a partition")
	}
	c.Object(func(key []byte) {
		switch string(key) {
		case "partitionId":
			id = c.Int()
		case "isActive":
			active = c.Int()
		case "numGpus":
			many = c.Int()
		case "gpuInfo":
			c.List(func(i int) {
				if i == maxGPUs {
					c.FailTooLarge("more than %d GPUs", maxGPUs)
					return
				}
				f.GPUs = append(f.GPUs, p.fabricGPU())
			})
		case "gpuPhysicalIds":
			c.Fail("partitions that the machine cannot have (fmpm --list-unsupported-partitions): give those of fmpm -l")
		default:
			p.unread(key, "a partition")
		}
	})
	f.ID, f.Active = int(id), active == 1
	switch {
	case c.Failed():
	case id < 0 || id > maxRate:
		c.Fail("a partition without partitionId")
	case active != 0 && active != 1:
		c.Fail("partition %d tells not whether it is active", id)
	case many != int64(len(f.GPUs)) || many == 0:
		c.Fail("partition %d has %d GPUs, and %d are there", id, many, len(f.GPUs))
	}
	return f
}

func (p *amdParser) fabricGPU() FabricGPU {
	c := p.c
	gpu, id := FabricGPU{}, int64(-1)
	if c.Kind() != '{' {
		c.Fail("not a GPU")
	}
	c.Object(func(key []byte) {
		switch string(key) {
		case "physicalId":
			id = c.Int()
		case "uuid":
			gpu.UUID = c.Text()
		case "pciBusId":
			if gpu.Bus = c.Text(); gpu.Bus == "00000000:00:00.0" {
				gpu.Bus = ""
			}
		case "numNvLinksAvailable":
			gpu.NVLinks = int(min(max(c.Int(), 0), MaxLinks))
		case "maxNumNvLinks", "nvlinkLineRateMBps":
		default:
			p.unread(key, "a GPU of a partition")
		}
	})
	if !c.Failed() && (id < 0 || id > maxRate) {
		c.Fail("a GPU without physicalId")
	}
	gpu.PhysicalID = int(id)
	return gpu
}

// AllowedSets are the sets of a node's GPUs that may be used together. The zero value allows none.
// It never changes once made.
type AllowedSets struct {
	sets   []allowedSet // by their GPUs: no two are equal
	active uint64
}

type allowedSet struct {
	set uint64
	id  int
}

// NewAllowedSets makes the sets of a Fabric Manager's partitions. Modules has the physical ID of
// each GPU in the order of the driver's indexes. The error is an *Error: for a partition with a GPU
// that is not there, two partitions of the same GPUs, or GPUs in two that are active.
func NewAllowedSets(partitions []FabricPartition, modules []int) (AllowedSets, error) {
	if len(modules) > maxGPUs {
		return AllowedSets{}, &Error{Field: "modules", Reason: strconv.Itoa(len(modules)) + " GPUs, and " + strconv.Itoa(maxGPUs) + " is the most", Kind: ErrTooLarge}
	}
	for i, module := range modules {
		if slices.Contains(modules[:i], module) {
			return AllowedSets{}, invalid(errtext.Index("modules", i), "two GPUs in module "+strconv.Itoa(module))
		}
	}
	var a AllowedSets
	for i, partition := range partitions {
		field, set := errtext.Index("partitions", i), uint64(0)
		for _, gpu := range partition.GPUs {
			index := slices.Index(modules, gpu.PhysicalID)
			switch {
			case index < 0:
				return AllowedSets{}, invalid(field, "no GPU is in module "+strconv.Itoa(gpu.PhysicalID))
			case set>>index&1 == 1:
				return AllowedSets{}, invalid(field, "module "+strconv.Itoa(gpu.PhysicalID)+" is there twice")
			}
			set |= 1 << index
		}
		switch {
		case set == 0:
			return AllowedSets{}, invalid(field, "no GPUs")
		case a.Allows(set):
			return AllowedSets{}, invalid(field, "another partition has the same GPUs")
		case partition.Active && a.active&set != 0:
			return AllowedSets{}, invalid(field, "a GPU is in two partitions that are active")
		case partition.Active:
			a.active |= set
		}
		a.sets = append(a.sets, allowedSet{set, partition.ID})
	}
	slices.SortFunc(a.sets, func(x, y allowedSet) int { return cmp.Compare(x.set, y.set) })
	return a, nil
}

// Allows reports whether the GPUs of a set, bit i for GPU i, may be used together: they are those
// of a partition. O(partitions).
func (a AllowedSets) Allows(set uint64) bool {
	_, is := a.ID(set)
	return is
}

// ID is that of the partition with the GPUs of a set, and whether there is one. O(partitions).
func (a AllowedSets) ID(set uint64) (int, bool) {
	at := slices.IndexFunc(a.sets, func(s allowedSet) bool { return s.set == set })
	if at < 0 {
		return 0, false
	}
	return a.sets[at].id, true
}

// Active are the GPUs of the partitions that were active. Their other partitions cannot be
// activated before.
func (a AllowedSets) Active() uint64 { return a.active }

// BestOf is [Graph.Best] among sets that are allowed: the best k of the free GPUs that may be used
// together, and what they are worth; the empty set and the zero Score where no such set is free.
// Which set is best is decided by its Score, by how many of the sets that are allowed are left
// among the GPUs that stay free, large ones first, and by the lowest indexes. GPUs that are active
// are free only if the caller says so. O(partitions^2), no allocation.
func (g *Graph) BestOf(free uint64, k int, allowed AllowedSets) (uint64, Score) {
	free &= g.all
	best, worth := uint64(0), Score{}
	for _, s := range allowed.sets {
		if s.set&^free != 0 || bits.OnesCount64(s.set) != k {
			continue
		}
		score := g.Score(s.set)
		if best == 0 || cmp.Or(score.Compare(worth), allowed.compareLeft(free&^s.set, free&^best), compareSets(s.set, best)) < 0 {
			best, worth = s.set, score
		}
	}
	return best, worth
}

// compareLeft orders what is left over: by the number of allowed sets in it, of the largest size in
// which they differ.
func (a AllowedSets) compareLeft(x, y uint64) int {
	size, by := 0, 0
	for _, s := range a.sets {
		inX, inY := s.set&^x == 0, s.set&^y == 0
		if many := bits.OnesCount64(s.set); inX != inY && many >= size {
			if many > size {
				size, by = many, 0
			}
			if inX {
				by--
			} else {
				by++
			}
		}
	}
	return by
}
