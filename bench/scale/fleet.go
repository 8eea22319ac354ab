package scale

import (
	"fmt"
	"math/rand/v2"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

const (
	small = 4096
	large = 131_072

	gpusPerNode   = 8
	nodesPerLeaf  = 32
	leavesOfSpine = 16
	cpuMilli      = 112_000
	memoryMiB     = 2 << 20
)

// domains is where node i stands.
func domains(i int) []string {
	leaf := i / nodesPerLeaf
	return []string{fmt.Sprintf("spine-%02d", leaf/leavesOfSpine), fmt.Sprintf("leaf-%03d", leaf)}
}

func nodeName(i int) string { return fmt.Sprintf("node-%05d", i) }

// fill says how many GPUs of each node are free, a tenth of all: one node in 32 is
// wholly free, and the rest of the tenth is scattered over the others in pieces
// of one to three.
func fill(gpus int) []int {
	random := rand.New(rand.NewPCG(1, uint64(gpus)))
	nodes := gpus / gpusPerNode
	free, left := make([]int, nodes), gpus/10
	order := random.Perm(nodes)
	for _, i := range order[:nodes/32] {
		free[i] = gpusPerNode
		left -= gpusPerNode
	}
	for k := nodes / 32; left > 0; k = max(nodes/32, (k+1)%nodes) {
		piece := min(left, 1+random.IntN(3))
		if i := order[k]; free[i]+piece < gpusPerNode {
			free[i] += piece
			left -= piece
		}
	}
	return free
}

// fillFor is fill but on the small fleet for a gang: a tenth is 409 GPUs there, too few for
// one of 512. It leaves exactly 64 nodes free, scattered, and nothing else: 87.5% are held.
func fillFor(gpus, members int) []int {
	if members == 1 || gpus > small {
		return fill(gpus)
	}
	free := make([]int, gpus/gpusPerNode)
	for _, i := range rand.New(rand.NewPCG(2, uint64(gpus))).Perm(len(free))[:64] {
		free[i] = gpusPerNode
	}
	return free
}

// fillInCrumbs leaves a tenth of the GPUs free, but no more than two on any node.
func fillInCrumbs(gpus int) []int {
	random := rand.New(rand.NewPCG(3, uint64(gpus)))
	free, left := make([]int, gpus/gpusPerNode), gpus/10
	for left > 0 {
		if i := random.IntN(len(free)); free[i] < 2 {
			free[i]++
			left--
		}
	}
	return free
}

// newFleet makes a fleet in which all but the free GPUs are held, each by a hold
// of its own. The i-th node stands in domains(i).
func newFleet(tb builder, free []int, levels []string, domains func(i int) []string) (*gang.Fleet, []gang.Hold) {
	tb.Helper()
	fleet, err := gang.NewFleet(levels...)
	must(tb, err)
	var holds []gang.Hold
	for i := range free {
		n, err := fleet.AddNode(gang.NodeSpec{
			Name: nodeName(i), Path: domains(i), GPUs: gpusPerNode, GPUMemoryMiB: 80 << 10,
			Host: countable.Amounts{countable.CPUMilli: cpuMilli, countable.MemoryMiB: memoryMiB},
		})
		must(tb, err)
		for g := range gpusPerNode - free[i] {
			h := gang.Hold{Node: n, GPUs: 1 << g, Host: countable.Amounts{countable.CPUMilli: 12_000, countable.MemoryMiB: 128 << 10}}
			must(tb, fleet.Hold(h))
			holds = append(holds, h)
		}
	}
	return fleet, holds
}

// gangOf is a request for a number of like members.
func gangOf(members, gpus int) *gang.Request {
	return &gang.Request{Groups: []gang.Group{{
		Members: members, Classes: []topology.NodeClass{0},
		Claim: gang.Claim{GPUs: gpus, Host: countable.Amounts{countable.CPUMilli: int64(gpus) * 12_000, countable.MemoryMiB: int64(gpus) << 17}},
	}}}
}

// nodeOf is the i-th node of a core's fleet.
func nodeOf(i int) berth.Node {
	gpu := berth.GPU{Product: "H100-80GB", MemoryMiB: 80 << 10, ComputeCapability: berth.ComputeCapability{Major: 9}}
	return berth.Node{
		ID: berth.NodeID(nodeName(i)), Domains: domains(i), GPUs: berth.EqualGPUs(gpusPerNode, gpu), CPUMilli: cpuMilli, MemoryMiB: memoryMiB,
	}
}

// newCore makes a core in which all but the free GPUs are held.
func newCore(tb builder, free []int) *core.Core {
	tb.Helper()
	// What runs is its queue's own, so that no waiting job may take its place.
	all := quota.Amounts{quota.GPUMilli: int64(len(free)) * gpusPerNode * 1000}
	return newCoreOf(tb, free, []string{"spine", "leaf"}, domains, quota.Queue{Name: "running", Guarantee: all})
}

// newCoreOf makes a core in which all but the free GPUs are held by jobs of a queue that run: one
// to each node, called like it. The i-th node stands in domains(i).
func newCoreOf(tb builder, free []int, levels []string, domains func(i int) []string, queue quota.Queue) *core.Core {
	tb.Helper()
	sched, err := core.New(berth.Config{Levels: levels})
	must(tb, err)
	tell(tb, sched, berth.QueueSet{Queue: queue})
	for i := range free {
		name, node := nodeName(i), nodeOf(i)
		node.Domains = domains(i)
		tell(tb, sched, berth.NodeJoined{Node: node})
		if held := gpusPerNode - free[i]; held > 0 {
			observe(tb, sched, jobOf(name, string(queue.Name), 1, held), 0, name, 1<<held-1)
		}
	}
	return sched
}

// jobOf is a job of a number of like members.
func jobOf(name, queue string, members, gpus int) berth.Job {
	return berth.Job{ID: berth.JobID(name), Queue: berth.QueueID(queue), Groups: []berth.Group{{
		Members: members,
		Claim:   berth.Claim{GPUs: gpus, CPUMilli: int64(gpus) * 12_000, MemoryMiB: int64(gpus) << 17},
	}}}
}

// observe tells of a job with one member that runs already.
func observe(tb builder, sched *core.Core, job berth.Job, started berth.Time, node string, gpus berth.GPUSet) {
	tell(tb, sched, berth.JobObserved{Job: job, Running: []berth.ObservedReplica{{
		Incarnation: 1, Started: started, Members: []berth.MemberPlacement{{Node: berth.NodeID(node), GPUs: gpus}},
	}}})
}

func tell(tb builder, sched *core.Core, e berth.Event) {
	if err := sched.Apply(sched.Now(), e); err != nil {
		tb.Fatal(err)
	}
}

func pass(tb builder, sched *core.Core) []berth.Order {
	actions, err := sched.Schedule(sched.Now())
	if err != nil {
		tb.Fatal(err)
	}
	return actions
}
