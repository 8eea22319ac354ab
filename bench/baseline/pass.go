package baseline

import (
	"slices"

	"github.com/berth-sched/berth"
)

// A Policy says in each pass which jobs start where, and which have to leave.
type Policy interface {
	Pass(*Pass)
}

// A Pass is what a policy sees of the fleet, and how it decides. It is good until the pass
// ends; slices that it returns are not to be changed.
type Pass struct {
	s *Scheduler
	// Free is what may still be given in this pass: what nobody holds, less what was given or
	// held back. A policy may try things on clones of it.
	Free Space

	orders []berth.Order
	// hopeless shapes have no place in Free, which only ever gets smaller.
	hopeless []bool
	wake     berth.Time
}

// Schedule runs a pass.
func (s *Scheduler) Schedule(now berth.Time) ([]berth.Order, error) {
	if err := s.clock(now); err != nil {
		err.Event = "schedule"
		return nil, err
	}
	s.now = now
	p := &Pass{s: s, hopeless: make([]bool, len(s.shapes)+1)}
	p.stopLeaving()
	p.Free = slices.Clone(s.free)
	s.policy.Pass(p)
	p.withdraw()
	s.wake = p.wake
	for _, order := range p.orders {
		if j := s.orders[order.Header().ID]; j != nil {
			j.given = order
		}
	}
	return p.orders, nil
}

// Now is the instant of the pass.
func (p *Pass) Now() berth.Time { return p.s.now }

// Waiting lists the jobs that wait, in the order of their submission: a victim stands where it
// stood before. Policies may start some while they go through it.
func (p *Pass) Waiting() []*Job { return slices.Clone(p.s.waiting) }

// Running lists the jobs that hold GPUs and are not on their way out, in the order in which they
// got them.
func (p *Pass) Running() []*Job {
	return slices.DeleteFunc(slices.Clone(p.s.holding), (*Job).leaves)
}

// leaves reports whether a job that holds something is on its way out.
func (j *Job) leaves() bool { return j.phase == asked || j.phase == due || j.phase == stops }

// Leaving lists the jobs that hold GPUs and are on their way out.
func (p *Pass) Leaving() []*Job { return slices.Clone(p.s.leaving) }

// Nodes is the number of nodes, and All has the GPUs of one of them that takes work.
func (p *Pass) Nodes() int { return len(p.s.fleet.nodes) }

// All is every GPU of a node.
func (p *Pass) All(node int) berth.GPUSet { return p.s.fleet.nodes[node].all }

// Place finds a place for a job in what is free, or nil.
func (p *Pass) Place(j *Job) Placement {
	if p.hopeless[j.shape] {
		return nil
	}
	at := p.s.fleet.place(j, p.Free)
	p.hopeless[j.shape] = at == nil
	return at
}

// PlaceIn finds a place for a job in any space, or nil.
func (p *Pass) PlaceIn(j *Job, space Space) Placement { return p.s.fleet.place(j, space) }

// Start gives a job that waits a place that is free.
func (p *Pass) Start(j *Job, at Placement) {
	s := p.s
	j.life++
	j.phase, j.At, j.Since = starts, at, s.now
	s.waiting, s.holding = without(s.waiting, j), append(s.holding, j)
	s.free.Take(at)
	p.Free.Take(at)
	s.totals.ReplicasStarted++
	s.totals.Binds++
	h := p.order(j, bindTimeout, berth.CauseFits)
	p.orders = append(p.orders, berth.Bind{OrderHeader: h, Members: s.members(j), Claims: j.claims()})
}

// Hold keeps a place from jobs that come later in this pass.
func (p *Pass) Hold(at Placement) { p.Free.Take(at) }

// Preempt evicts a job that runs for one that waits: it is asked for a checkpoint if it can
// write one, and then stopped. It need not if the other has started by then, or is gone. One
// that is still being started cannot be evicted yet: Preempt then reports false.
func (p *Pass) Preempt(victim, beneficiary *Job) bool {
	s := p.s
	if victim.phase != runs {
		return false
	}
	s.totals.Preemptions++
	if !victim.Spec.Checkpoint.Supported {
		s.toStop(victim, beneficiary)
		p.release(victim)
		return true
	}
	victim.phase, victim.beneficiary = asked, beneficiary
	s.leaving = append(s.leaving, victim)
	h := p.order(victim, checkpointTimeout, berth.CausePreempted)
	p.orders = append(p.orders, berth.RequestCheckpoint{OrderHeader: h, Members: s.members(victim)})
	s.totals.CheckpointsRequested++
	return true
}

// WakeAt asks for another pass at an instant at the latest, though nothing is told.
func (p *Pass) WakeAt(at berth.Time) {
	if at = max(at, p.Now()+1); p.wake == 0 || at < p.wake {
		p.wake = at
	}
}

// order makes the header of an order that is out from now on.
func (p *Pass) order(j *Job, timeout berth.Duration, cause berth.CauseCode) berth.OrderHeader {
	p.s.last++
	h := berth.OrderHeader{ID: p.s.last, At: p.s.now, Job: j.Spec.ID, Incarnation: j.life, Cause: berth.Cause{Code: cause}}
	if timeout > 0 {
		h.Deadline = p.s.now.Add(timeout)
		j.out = h.ID
		p.s.orders[h.ID] = j
	}
	if j.beneficiary != nil {
		h.Cause.Beneficiary = berth.ReplicaRef{Job: j.beneficiary.Spec.ID}
	}
	return h
}

// stopLeaving stops the jobs that are to be.
func (p *Pass) stopLeaving() {
	for _, j := range slices.Clone(p.s.leaving) {
		if j.phase == due {
			p.release(j)
		}
	}
}

func (p *Pass) release(j *Job) {
	cause := berth.CauseCancelled
	if j.beneficiary != nil {
		cause = berth.CausePreempted
		p.s.totals.ReplicasEvicted++
	}
	j.phase = stops
	h := p.order(j, releaseTimeout, cause)
	p.orders = append(p.orders, berth.Release{OrderHeader: h, Members: p.s.members(j), Attempt: 1})
	p.s.totals.Releases++
}

// withdraw lets jobs go on that were asked for a checkpoint for a job that waits no more.
func (p *Pass) withdraw() {
	for _, j := range slices.Clone(p.s.leaving) {
		if j.phase != asked || j.beneficiary.phase == waits {
			continue
		}
		request := j.out
		p.s.close(j)
		p.s.stay(j)
		h := p.order(j, 0, berth.CauseNotNeeded)
		p.orders = append(p.orders, berth.Withdraw{OrderHeader: h, Request: request})
		p.s.totals.RequestsWithdrawn++
	}
}

// claims is what the members of each group ask for.
func (j *Job) claims() (list []berth.GroupClaim) {
	for i := range j.Spec.Groups {
		list = append(list, berth.GroupClaim{Group: j.Spec.Groups[i].Name, Claim: j.Spec.Groups[i].Claim})
	}
	return list
}

// members are what a job holds, as orders name it.
func (s *Scheduler) members(j *Job) []berth.MemberPlacement {
	var list []berth.MemberPlacement
	for i := range j.Spec.Groups {
		g := &j.Spec.Groups[i]
		for k := range g.Members {
			at := j.At[len(list)]
			list = append(list, berth.MemberPlacement{Group: g.Name, Index: k, Node: s.fleet.nodes[at.Node].spec.ID, GPUs: at.GPUs})
		}
	}
	return list
}
