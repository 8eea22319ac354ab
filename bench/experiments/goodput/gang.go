package goodput

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/machine"
)

// A gang is the gang as it truly is: where its members run, and what became of the
// orders about it.
type gang struct {
	training
	incarnation berth.Incarnation
	// at is the node of each member, or -1; runs says whether it does, or is being started.
	at   []int
	runs []bool
	on   map[int]int // the member on a node
	out  map[berth.OrderID]berth.Order
	// ready counts the members that run.
	ready int
	// life numbers the phases, so that what was to end one does not end another.
	life int

	places places
}

// submitGang hands the gang in.
func (r *run) submitGang() {
	size := r.g.Nodes
	r.gang = gang{
		at: slices.Repeat([]int{-1}, size), runs: make([]bool, size), on: map[int]int{}, out: map[berth.OrderID]berth.Order{},
	}
	r.tell(berth.JobSubmitted{Job: berth.Job{
		ID: gangJob, Queue: trainingQueue, ExpectedRuntime: 366 * berth.Day,
		Groups: []berth.Group{{Members: size, Claim: berth.Claim{GPUs: machine.NodeGPUs, NVLink: true}}},
		Checkpoint: berth.Checkpoint{
			Supported: true, Interval: checkpointEvery, Cost: checkpointAsked, RestartCost: gangStarts + gangWarms,
		},
	}})
}

func (t *gang) uses(node int) bool {
	_, ok := t.on[node]
	return ok
}

// ordered takes an order about the gang.
func (t *gang) ordered(r *run, action berth.Order) {
	h := action.Header()
	t.incarnation = h.Incarnation
	switch a := action.(type) {
	case berth.Bind:
		for i := range a.Members {
			m := &a.Members[i]
			t.put(m.Index, r.byName[m.Node])
		}
		t.out[h.ID] = a
		r.after(gangStarts, func() { t.started(r, h.ID) })
	case berth.Release:
		if t.phase == trains || t.phase == saves {
			r.count.drains++ // the core stops it for nothing else
		}
		for i := range a.Members {
			t.stopping(a.Members[i].Index)
		}
		t.out[h.ID] = a
		r.after(gangStops, func() { t.stopped(r, h.ID) })
	case berth.RequestCheckpoint:
		t.save(r, h.ID)
		return
	case berth.Withdraw:
		return
	}
	t.look(r)
}

// put notes that a member is being started on a node.
func (t *gang) put(member, node int) {
	t.remove(member)
	t.at[member] = node
	t.on[node] = member
}

// stopping notes that a member does not train any more.
func (t *gang) stopping(member int) {
	if t.runs[member] {
		t.runs[member] = false
		t.ready--
	}
}

// remove notes that a member is gone.
func (t *gang) remove(member int) {
	t.stopping(member)
	if node := t.at[member]; node >= 0 {
		delete(t.on, node)
		t.at[member] = -1
	}
}

// started reports a Bind, once its members are up. Members of nodes lost meanwhile are
// known to be gone.
func (t *gang) started(r *run, id berth.OrderID) {
	bind, ok := t.out[id].(berth.Bind)
	if !ok {
		return
	}
	delete(t.out, id)
	for i := range bind.Members {
		m := &bind.Members[i]
		if t.at[m.Index] == r.byName[m.Node] && !t.runs[m.Index] {
			t.runs[m.Index] = true
			t.ready++
		}
	}
	r.tell(berth.OrderReported{Order: id, Outcome: berth.OutcomeDone})
	t.look(r)
}

// stopped reports a Release.
func (t *gang) stopped(r *run, id berth.OrderID) {
	release, ok := t.out[id].(berth.Release)
	if !ok {
		return
	}
	delete(t.out, id)
	for i := range release.Members {
		t.remove(release.Members[i].Index)
	}
	r.tell(berth.OrderReported{Order: id, Outcome: berth.OutcomeDone})
	t.look(r)
}

// lose notes that the core knows of a failed node. A start of which it was part ends at
// once: it cannot come to anything.
func (t *gang) lose(r *run, node int) {
	member, ok := t.on[node]
	if !ok {
		return
	}
	started := t.runs[member]
	t.remove(member)
	if !started {
		for id, order := range t.out {
			if bind, ok := order.(berth.Bind); ok && slices.ContainsFunc(bind.Members, func(m berth.MemberPlacement) bool { return m.Index == member }) {
				t.started(r, id)
				break
			}
		}
	}
	t.look(r)
}

// processFailed tells that the first member has died.
func (t *gang) processFailed(r *run, life berth.Incarnation, reason string) {
	if t.incarnation != life || t.phase != hangs {
		return // a node has failed as well, and everything was started anew
	}
	t.remove(0)
	r.tell(berth.MemberFailed{Job: gangJob, Incarnation: life, Members: []berth.MemberRef{{Index: 0}}, Reason: reason})
	t.look(r)
}

// hang notes that something has failed of which nobody knows yet.
func (t *gang) hang(r *run) {
	if t.phase != hangs {
		r.count.interruptions++
		t.turn(r, hangs)
	}
}

// save writes a checkpoint that was asked for. A gang that is just starting has nothing to
// write, and one that hangs cannot.
func (t *gang) save(r *run, id berth.OrderID) {
	switch t.phase {
	case trains:
		t.turn(r, saves)
		life := t.life
		r.after(checkpointAsked, func() {
			if t.life == life {
				t.turn(r, trains)
				r.tell(berth.OrderReported{Order: id, Outcome: berth.OutcomeDone})
			}
		})
	case hangs, saves:
		r.tell(berth.OrderReported{Order: id, Outcome: berth.OutcomeFailed, Reason: "the gang does not answer"})
	default:
		r.tell(berth.OrderReported{Order: id, Outcome: berth.OutcomeDone})
	}
}

// look finds the phase that follows from the members and the orders.
func (t *gang) look(r *run) {
	switch {
	case t.ready == len(t.at):
		if t.phase == waits || t.phase == restarts {
			t.warm(r)
		}
	case len(t.out) > 0:
		t.turn(r, restarts)
	default:
		t.turn(r, waits)
	}
}

// warm begins the first steps. If a node of the gang has failed unnoticed, these never end.
func (t *gang) warm(r *run) {
	t.places.note(r.sim.Now(), t.at)
	t.turn(r, warms)
	if slices.ContainsFunc(t.at, func(node int) bool { return r.nodes[node].fault != nil }) {
		t.hang(r)
		return
	}
	life := t.life
	r.after(gangWarms, func() {
		if t.life == life {
			t.turn(r, trains)
		}
	})
}

// turn begins a phase, if it is another.
func (t *gang) turn(r *run, phase phase) {
	if phase != t.phase {
		t.life++
		t.enter(r.sim.Now(), phase)
	}
}
