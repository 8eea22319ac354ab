package translate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
)

// A Plan is what the cluster is to be like when a Bind is carried out: pods, nodes and devices.
// It names objects by UID, so that another object of the same name is not taken for them.
type Plan struct {
	Job         berth.JobID
	Order       berth.OrderID
	Incarnation berth.Incarnation
	// Term of the process: see Options.
	Term string
	// Source has the intent: a PodGroup, or the first pod.
	Source Object
	UID    types.UID
	// Seats in the order of the members.
	Seats []Seat
}

// A Seat is a member, its pod, and what the pod is to have.
type Seat struct {
	Member berth.MemberRef
	Pod    Key
	UID    types.UID
	Node   string
	Claims []Allocation
}

// An Intent is written before anything else of a Bind is, and stays until the next one. A process
// that finds it and all claims of its pods allocated removes the gates that are left; one that
// finds it and not all of them undoes what there is.
type Intent struct {
	Job         berth.JobID       `json:"job"`
	Order       berth.OrderID     `json:"order"`
	Incarnation berth.Incarnation `json:"incarnation"`
	Term        string            `json:"term,omitempty"`
	// Nodes by the UID of the pod.
	Nodes map[types.UID]string `json:"nodes"`
}

// Intent is that of the plan.
func (p *Plan) Intent() Intent {
	in := Intent{p.Job, p.Order, p.Incarnation, p.Term, map[types.UID]string{}}
	for _, s := range p.Seats {
		in.Nodes[s.UID] = s.Node
	}
	return in
}

// Text is the intent as its annotation has it.
func (in Intent) Text() string {
	b, err := json.Marshal(in)
	if err != nil {
		panic(err) // texts and numbers
	}
	return string(b)
}

// Holder is the text of HolderAnnotation and MemberAnnotation: job, incarnation and term.
func (p *Plan) Holder() string {
	return Intent{Job: p.Job, Incarnation: p.Incarnation, Term: p.Term}.holder()
}

func (in Intent) holder() string { return fmt.Sprintf("%s#%d/%s", in.Job, in.Incarnation, in.Term) }

// A Leftover is what a former process began and did not get so far that it can be finished.
type Leftover struct {
	Source Object
	// Claims to be deallocated, or to be rid of the mark that they were being allocated.
	Claims []Key
}

// Plan is the plan of a Bind. Its members get their pods by their slots. It fails while a member
// has no pod: one is being made anew, or was deleted.
func (c *Cluster) Plan(b *berth.Bind) (Plan, error) {
	g := c.jobs[b.Job]
	if g == nil {
		return Plan{}, fmt.Errorf("translate: job %s is not that of a gang", b.Job)
	}
	source, uid := c.sourceOf(g)
	plan := Plan{Job: b.Job, Order: b.ID, Incarnation: b.Incarnation, Term: c.options.Term, Source: source, UID: uid}
	taken := map[deviceKey]bool{}
	for i := range b.Members {
		m := &b.Members[i]
		s, err := c.seatFor(g, m, taken)
		if err != nil {
			return Plan{}, err
		}
		plan.Seats = append(plan.Seats, s)
	}
	return plan, nil
}

// seatFor is the seat of a member with what it is given.
func (c *Cluster) seatFor(g *gang, m *berth.MemberPlacement, taken map[deviceKey]bool) (Seat, error) {
	at := slices.IndexFunc(g.told.slots, func(s slot) bool { return s.member == m.Ref() })
	if at < 0 || g.told.slots[at].pod == nil || !g.told.slots[at].pod.gated() {
		return Seat{}, fmt.Errorf("translate: %v has no pod that waits", m.Ref())
	}
	p := g.told.slots[at].pod
	s := Seat{Member: m.Ref(), Pod: p.key, UID: p.object.UID, Node: string(m.Node)}
	devices := c.devicesOf(m)
	for _, key := range p.claims {
		cl := c.claims[key]
		if cl == nil {
			return Seat{}, fmt.Errorf("translate: the claim %v is not there", key)
		}
		a := Allocation{Claim: cl.object.Name, UID: cl.object.UID}
		for _, r := range cl.object.Spec.Devices.Requests {
			if r.Exactly == nil {
				return Seat{}, fmt.Errorf("translate: the claim %v asks for alternatives", key)
			}
			for range cmp.Or(r.Exactly.Count, 1) {
				if len(devices) == 0 {
					return Seat{}, fmt.Errorf("translate: %v was given fewer devices than the claims of its pod ask for", m)
				}
				d := devices[0]
				devices = devices[1:]
				if holders := c.held[d]; taken[d] || len(holders) > 1 || len(holders) == 1 && holders[0] != key {
					return Seat{}, fmt.Errorf("translate: the device %v is held by %v, or was given twice", d, holders)
				}
				taken[d] = true
				a.Devices = append(a.Devices, Device{r.Name, d.pool, d.name})
			}
		}
		s.Claims = append(s.Claims, a)
	}
	return s, nil
}

// devicesOf lists the devices of a placement.
func (c *Cluster) devicesOf(m *berth.MemberPlacement) (all []deviceKey) {
	n := c.node(string(m.Node))
	for _, gpu := range m.GPUs.Indexes() {
		if gpu >= len(n.names) {
			continue
		}
		for _, d := range n.names[gpu] {
			if d.partition == m.Instance && (m.Instance != (mig.Placement{}) || d.partition.Size == 0) {
				all = append(all, d.deviceKey)
				break
			}
		}
	}
	return all
}

// Start says that a plan is being carried out: from now on its devices are those of its members.
func (c *Cluster) Start(b *berth.Bind, plan *Plan) []berth.Event {
	g := c.jobs[b.Job]
	if g == nil {
		return nil
	}
	g.told.incarnation, g.told.order = b.Incarnation, b.ID
	seats := map[berth.MemberRef]*seat{}
	for i := range plan.Seats {
		seats[plan.Seats[i].Member] = &seat{Seat: plan.Seats[i], gang: g.key, placement: b.Members[i]}
	}
	c.take(g, seats)
	return c.settle()
}

// Repartitioned says in which mode the core has a GPU from now on.
func (c *Cluster) Repartitioned(o *berth.Repartition) { c.node(string(o.Node)).modes[o.GPU] = o.Mode }

// inMode tells that the GPUs of a member that is observed are in the mode that it needs, where the
// core may think otherwise.
func (c *Cluster) inMode(m *berth.MemberPlacement) {
	n, mode := c.node(string(m.Node)), berth.GPUModeWhole
	if m.Instance != (mig.Placement{}) {
		mode = berth.GPUModeMIG
	}
	for _, gpu := range m.GPUs.Indexes() {
		if was := n.modes[gpu]; was != mode && (was != berth.GPUModeUnset || mode != berth.GPUModeWhole) {
			c.tell(berth.GPUPartitioned{Node: m.Node, GPU: gpu, Mode: mode})
			n.modes[gpu] = mode
		}
	}
}

// Ended says that members hold nothing any more and are not expected to: a Bind that was undone, or
// a Release that is done.
func (c *Cluster) Ended(job berth.JobID, members []berth.MemberRef) []berth.Event {
	if g := c.jobs[job]; g != nil {
		for _, ref := range members {
			c.leave(g, ref)
		}
	}
	return c.settle()
}

// Seats are the seats of these members of a job, as far as they have any.
func (c *Cluster) Seats(job berth.JobID, members []berth.MemberRef) []Seat {
	g := c.jobs[job]
	if g == nil {
		return nil
	}
	var all []Seat
	for _, ref := range members {
		if s := g.told.seats[ref]; s != nil {
			all = append(all, s.Seat)
		}
	}
	return all
}

// State of a seat, as the last objects have it.
type State struct {
	// Gone: the pod is gone, or has ended. Gated: it waits at its gate. Bound: it is on its node.
	Gone, Gated, Bound bool
	// Held: claims of it hold devices.
	Held bool
	// Answer to the request for a checkpoint; empty: there is none.
	Answer string
}

// StateOf is the state of a seat.
func (c *Cluster) StateOf(s *Seat) State {
	p := c.pods[s.Pod]
	there := p != nil && p.object.UID == s.UID
	held := c.holds(&seat{Seat: *s})
	if !there || p.over() {
		return State{Gone: true, Held: held}
	}
	state := State{Held: held, Gated: p.gated(), Bound: p.object.Spec.NodeName == s.Node, Answer: p.object.Annotations[AnswerAnnotation]}
	if state.Answer == "" && p.gang.by == byGroup && c.groups[p.gang.Key] != nil {
		state.Answer = c.groups[p.gang.Key].Annotations[AnswerAnnotation]
	}
	return state
}

// Short lists the jobs that wait and have fewer pods than they need: a controller makes them anew,
// or it does not. Withdraw those that stay so.
func (c *Cluster) Short() []berth.JobID {
	var short []berth.JobID
	for _, id := range slices.Sorted(maps.Keys(c.jobs)) {
		t := c.jobs[id].told
		if len(t.seats) > 0 {
			continue
		}
		counts := map[string]int{}
		for _, s := range t.slots {
			if s.pod != nil && s.pod.gated() {
				counts[s.member.Group]++
			}
		}
		if slices.ContainsFunc(t.job.Groups, func(g berth.Group) bool { return counts[g.Name] < cmp.Or(g.MinMembers, g.Members) }) {
			short = append(short, id)
		}
	}
	return short
}

// Withdraw cancels a job that waits and has too few pods. It is submitted anew when they are there.
func (c *Cluster) Withdraw(id berth.JobID) []berth.Event {
	if g := c.jobs[id]; g != nil && slices.Contains(c.Short(), id) {
		c.forget(g)
		return append([]berth.Event{berth.JobCancelled{Job: id}}, c.settle()...)
	}
	return nil
}

// Dropped says that the core gave a job up.
func (c *Cluster) Dropped(id berth.JobID) {
	if g := c.jobs[id]; g != nil {
		told := list{object: g.key.object()}
		told.block("", "the core gave the job up")
		c.forget(g)
		delete(c.dirtyGangs, g.key)
		c.found(told)
	}
}

// Leftovers lists what former processes began for gangs that wait and cannot be finished.
func (c *Cluster) Leftovers() []Leftover {
	var all []Leftover
	for _, key := range slices.SortedFunc(maps.Keys(c.gangs), gangKey.compare) {
		g := c.gangs[key]
		if g.told != nil {
			continue
		}
		var l Leftover
		for _, p := range g.inOrder() {
			for _, cl := range p.claims {
				if o := c.claims[cl]; p.gated() && o != nil && o.object.Annotations[HolderAnnotation] != "" {
					l.Claims = append(l.Claims, cl)
				}
			}
		}
		if len(l.Claims) > 0 && !slices.ContainsFunc(g.inOrder(), c.placed) {
			l.Source, _ = c.sourceOf(g)
			all = append(all, l)
		}
	}
	return all
}

// Unfinished lists the plans of gangs that run of which pods still wait at their gates: a former
// process allocated what they need.
func (c *Cluster) Unfinished() []Plan {
	var all []Plan
	for _, id := range slices.Sorted(maps.Keys(c.jobs)) {
		g := c.jobs[id]
		source, uid := c.sourceOf(g)
		plan := Plan{Job: id, Incarnation: g.told.incarnation, Term: c.options.Term, Source: source, UID: uid}
		for _, ref := range g.told.refs() {
			s := g.told.seats[ref]
			if p := c.pods[s.Pod]; g.told.order == 0 && p != nil && p.object.UID == s.UID && p.gated() {
				plan.Seats = append(plan.Seats, s.Seat)
			}
		}
		if len(plan.Seats) > 0 {
			all = append(all, plan)
		}
	}
	return all
}
