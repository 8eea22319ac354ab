package sim

import (
	"slices"

	"github.com/berth-sched/berth"
)

// hardware is what the simulation knows of the nodes, so that faults can choose
// among them.
type hardware struct {
	nodes []berth.Node // those in the fleet, in no useful order
	byID  map[berth.NodeID]int
	// gone are the kinds of GPUs of nodes that went for good.
	gone []berth.GPU
	// unsure are the GPUs that failed while an order about them was out.
	unsure map[place]bool
}

func (h *hardware) join(n berth.Node) {
	if _, known := h.byID[n.ID]; known {
		return // its agent registers again
	}
	n.GPUs = slices.Clone(n.GPUs) // their modes change
	for i := range n.GPUs {
		n.GPUs[i].Mode = max(n.GPUs[i].Mode, berth.GPUModeWhole) // a node need not say it, a report must
	}
	h.byID[n.ID] = len(h.nodes)
	h.nodes = append(h.nodes, n)
}

// update takes another description; in which modes GPUs are it does not tell.
func (h *hardware) update(n berth.Node) {
	before := &h.nodes[h.byID[n.ID]]
	n.GPUs = slices.Clone(n.GPUs)
	for i := range min(len(n.GPUs), len(before.GPUs)) {
		n.GPUs[i].Mode, n.GPUs[i].Instances = before.GPUs[i].Mode, before.GPUs[i].Instances
	}
	*before = n
}

func (h *hardware) lose(id berth.NodeID) {
	i, last := h.byID[id], len(h.nodes)-1
	h.nodes[i] = h.nodes[last]
	h.byID[h.nodes[i].ID] = i
	h.nodes = h.nodes[:last]
	delete(h.byID, id)
}

// trouble makes the faults that come by the pass.
func (s *Simulation) trouble() error {
	f := &s.options.Faults
	for _, t := range []struct {
		name   string
		chance float64
		make   func() error
	}{{"MemberDie", f.MemberDie, s.memberDies}, {"GangDie", f.GangDie, s.gangDies}, {"Swap", f.Swap, s.swap}} {
		if s.fault(t.name, t.chance) {
			if err := t.make(); err != nil {
				return err
			}
		}
	}
	for _, t := range []struct {
		name   string
		chance float64
		make   func(*berth.Node) (fault, remedy berth.Event)
	}{
		{"NodeLost", f.NodeLost, s.nodeLost},
		{"GPUFail", f.GPUFail, s.gpuFails},
		{"Xid", f.Xid, s.xidReported},
		{"Cordon", f.Cordon, s.cordoned},
		{"Drain", f.Drain, s.drained},
	} {
		if !s.fault(t.name, t.chance) || len(s.hardware.nodes) == 0 {
			continue
		}
		fault, remedy := t.make(&s.hardware.nodes[s.random.IntN(len(s.hardware.nodes))])
		if fault == nil {
			continue
		}
		s.queue.push(occurrence{at: s.now.Add(s.around(f.Outage)), what: told, event: remedy})
		if err := s.arrive(Arrival{At: s.now, Event: fault}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Simulation) nodeLost(n *berth.Node) (fault, remedy berth.Event) {
	return berth.NodeLost{Node: n.ID, Reason: "power"}, berth.NodeJoined{Node: *n}
}

func (s *Simulation) gpuFails(n *berth.Node) (fault, remedy berth.Event) {
	if len(n.GPUs) == 0 {
		return nil, nil
	}
	gpu := s.random.IntN(len(n.GPUs))
	return berth.GPUFailed{Node: n.ID, GPU: gpu, Reason: "Xid 79"}, berth.GPURepaired{Node: n.ID, GPU: gpu}
}

// xidReported has the driver report a fault of one of the kinds that there are: of programs, of
// hardware, of what may be either, and one that nobody knows.
func (s *Simulation) xidReported(n *berth.Node) (fault, remedy berth.Event) {
	if len(n.GPUs) == 0 {
		return nil, nil
	}
	gpu, kinds := s.random.IntN(len(n.GPUs)), []int{31, 43, 48, 79, 63, 94, 9999}
	return berth.XidReported{Node: n.ID, GPU: gpu, Xid: kinds[s.random.IntN(len(kinds))]}, berth.GPURepaired{Node: n.ID, GPU: gpu}
}

func (s *Simulation) cordoned(n *berth.Node) (fault, remedy berth.Event) {
	return berth.NodeCordoned{Node: n.ID, Reason: "maintenance"}, berth.NodeUncordoned{Node: n.ID}
}

func (s *Simulation) drained(n *berth.Node) (fault, remedy berth.Event) {
	e := berth.NodeDraining{Node: n.ID, Reason: "firmware"}
	if s.random.IntN(3) > 0 {
		e.Deadline = s.now.Add(s.around(s.options.Faults.Outage / 2))
	}
	return e, berth.NodeUncordoned{Node: n.ID}
}

// memberDies ends up to three members of one gang, whether they run already or are
// still being started.
func (s *Simulation) memberDies() error {
	if len(s.executor.placed) == 0 {
		return nil
	}
	g := s.executor.placed[s.random.IntN(len(s.executor.placed))]
	left := 1 + s.random.IntN(3)
	e := s.die(g, left, s.random.IntN(len(g.where)))
	if len(e.Members) == 0 {
		return nil
	}
	return s.tellOf(e, g)
}

// gangDies ends all members of one gang.
func (s *Simulation) gangDies() error {
	if len(s.executor.placed) == 0 {
		return nil
	}
	g := s.executor.placed[s.random.IntN(len(s.executor.placed))]
	e := s.die(g, len(g.where), 0)
	e.Reason = "NCCL abort"
	if s.random.IntN(2) == 0 {
		e.Fault = berth.FaultJob + berth.Fault(s.random.IntN(2))
	}
	if len(e.Members) == 0 {
		return nil
	}
	if s.random.IntN(3) > 0 {
		return s.tellOf(e, g)
	}
	for _, ref := range e.Members {
		e.Members = []berth.MemberRef{ref}
		if err := s.tellOf(e, g); err != nil {
			return err
		}
	}
	return nil
}

// die ends so many members of a gang, from one on, and returns what there is to tell of it.
func (s *Simulation) die(g *gang, left, start int) berth.MemberFailed {
	e := berth.MemberFailed{Job: g.job.spec.ID, Replica: g.number, Incarnation: g.incarnation, Reason: "exit status 137"}
	for i := range g.where {
		flat := (start + i) % len(g.where)
		if g.where[flat].node == "" || left == 0 {
			continue
		}
		left--
		group := g.job.groupOf(flat)
		ref := berth.MemberRef{Group: g.job.groups[group].Name, Index: flat - g.job.offsets[group]}
		g.stop(flat)
		e.Members = append(e.Members, ref)
	}
	return e
}
