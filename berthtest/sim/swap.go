package sim

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
)

// This file is about hardware that goes for good, and other hardware of the same shape that comes
// in its place. What a scheduler keeps by the number or by the name of the one is not true of the
// other.

// swap has nodes go, and others come in their place: at once, or after a while.
func (s *Simulation) swap() error {
	if len(s.hardware.nodes) == 0 {
		return nil
	}
	gone := s.goes()
	come := s.inPlaceOf(gone)
	for i := range gone {
		s.hardware.noteGone(kindOf(&gone[i]))
	}
	for i := range gone {
		if err := s.arrive(Arrival{At: s.now, Event: berth.NodeLost{Node: gone[i].ID, Reason: "replaced"}}); err != nil {
			return err
		}
	}
	wait := berth.Duration(0)
	if s.random.IntN(2) == 0 {
		wait = s.around(s.options.Faults.Outage)
	}
	for i := range come {
		joined := berth.NodeJoined{Node: come[i]}
		if wait > 0 {
			s.queue.push(occurrence{at: s.now.Add(wait), what: told, event: joined})
		} else if err := s.arrive(Arrival{At: s.now, Event: joined}); err != nil {
			return err
		}
	}
	return nil
}

// goes draws the nodes that go, in order of name: one of them, or one time in four all of a pool.
func (s *Simulation) goes() []berth.Node {
	one := s.hardware.nodes[s.random.IntN(len(s.hardware.nodes))]
	if s.random.IntN(4) > 0 {
		return []berth.Node{one}
	}
	pool := slices.DeleteFunc(slices.Clone(s.hardware.nodes), func(n berth.Node) bool { return n.Pool != one.Pool })
	slices.SortFunc(pool, func(a, b berth.Node) int { return cmp.Compare(a.ID, b.ID) })
	return pool
}

// inPlaceOf draws what comes in the place of nodes: as many with as many GPUs, which differ from
// them in one thing, and half of the time in their names.
func (s *Simulation) inPlaceOf(gone []berth.Node) []berth.Node {
	other := s.hardware.nodes[s.random.IntN(len(s.hardware.nodes))]
	gpu := s.anyKind()
	differ := [...]func(*berth.Node){
		func(n *berth.Node) { eachGPU(n, func(g *berth.GPU) { *g = gpu }) },
		func(n *berth.Node) { eachGPU(n, func(g *berth.GPU) { g.MemoryMiB = thrice(g.MemoryMiB) }) },
		func(n *berth.Node) { eachGPU(n, func(g *berth.GPU) { g.Clique = otherName(g.Clique) }) },
		func(n *berth.Node) { n.CPUMilli, n.MemoryMiB = thrice(n.CPUMilli), thrice(n.MemoryMiB) },
		func(n *berth.Node) { n.Pool = other.Pool },
		func(n *berth.Node) { n.Domains = other.Domains },
	}[s.random.IntN(6)]
	renamed := s.random.IntN(2) == 0
	come := slices.Clone(gone)
	for i := range come {
		n := &come[i]
		n.Links = nil // those of other GPUs
		if differ(n); renamed {
			n.ID = berth.NodeID(otherName(string(n.ID)))
		}
	}
	return come
}

// noteGone notes a kind of GPU that goes.
func (h *hardware) noteGone(kind berth.GPU) {
	if !slices.ContainsFunc(h.gone, func(k berth.GPU) bool { return reflect.DeepEqual(k, kind) }) {
		h.gone = append(h.gone, kind)
	}
}

// anyKind draws a kind of GPU of those in the fleet, and of those that went.
func (s *Simulation) anyKind() berth.GPU {
	at := s.random.IntN(len(s.hardware.gone) + len(s.hardware.nodes))
	if at < len(s.hardware.gone) {
		return s.hardware.gone[at]
	}
	return kindOf(&s.hardware.nodes[at-len(s.hardware.gone)])
}

// kindOf is what the GPUs of a node are, whatever state they are in.
func kindOf(n *berth.Node) berth.GPU {
	if len(n.GPUs) == 0 {
		return berth.GPU{Product: "none"}
	}
	g := &n.GPUs[0]
	return berth.GPU{
		Product: g.Product, MemoryMiB: g.MemoryMiB, ComputeCapability: g.ComputeCapability, Clique: g.Clique, MIGTable: g.MIGTable, MaxShares: g.MaxShares,
	}
}

// eachGPU makes the GPUs of a node others, whole ones.
func eachGPU(n *berth.Node, change func(*berth.GPU)) {
	n.GPUs = slices.Clone(n.GPUs)
	for i := range n.GPUs {
		g := &n.GPUs[i]
		change(g)
		g.Mode, g.Instances = berth.GPUModeWhole, nil
	}
}

// thrice is three times an amount, and of that the amount again.
func thrice(amount int64) int64 {
	if amount%3 == 0 {
		return amount / 3
	}
	return amount * 3
}

// otherName is another name, and of that the first one again.
func otherName(name string) string {
	if before, is := strings.CutSuffix(name, "-other"); is {
		return before
	}
	return name + "-other"
}
