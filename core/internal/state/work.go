package state

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/topology"
)

// What there is to do for a pass, and what it has ordered so far: Leaving, Returning, Todo, Timers
// and out are changed here alone.

// NoteChanged notes that what stands on a node, or what stopping it costs, has changed.
func (st *State) NoteChanged(n topology.NodeIndex) {
	for int(n) >= len(st.isChanged) {
		st.isChanged = append(st.isChanged, false)
	}
	if !st.isChanged[n] {
		st.isChanged[n] = true
		st.changed = append(st.changed, n)
	}
}

// NoteChangedBy is NoteChanged for the nodes on which a part of a replica holds something.
func (st *State) NoteChangedBy(p record.Piece) {
	note := func(m *record.Member) {
		if m.State.Holds() {
			st.NoteChanged(m.Node.Index)
		}
	}
	for _, flat := range p.Flats {
		note(&p.Rep.Members[flat])
	}
	for flat := range p.Rep.Members {
		if p.Whole() {
			note(&p.Rep.Members[flat])
		}
	}
}

// IsChanged reports whether a change of a node was noted and not taken yet.
func (st *State) IsChanged(n topology.NodeIndex) bool {
	return int(n) < len(st.isChanged) && st.isChanged[n]
}

// TakeChanged calls a function for every node that was noted, and forgets that.
func (st *State) TakeChanged(use func(topology.NodeIndex)) {
	for _, n := range st.changed {
		st.isChanged[n] = false
		use(n)
	}
	st.changed = st.changed[:0]
}

// NoteLeaving enters a replica among those that are on their way out, or takes it out.
func (st *State) NoteLeaving(rep *record.Replica, leaves bool) {
	st.NoteChangedBy(record.Piece{Rep: rep})
	st.NoteLending(rep)
	if leaves {
		st.Leaving.ReplaceOrInsert(rep)
	} else {
		st.Leaving.Delete(rep)
	}
}

// NoteLending notes that something has changed that may matter for what a replica lends or borrows.
func (st *State) NoteLending(rep *record.Replica) {
	if rep.Job.Spec.Lend != nil || rep.Job.Borrows() {
		st.Lending.ReplaceOrInsert(rep)
	}
}

// NextLending takes out the first replica of which that was noted; false: there is none.
func (st *State) NextLending() (*record.Replica, bool) { return st.Lending.DeleteMin() }

// SetLendAt has a replica be looked at at an instant that lends, or is to give back; 0: not any
// more.
func (st *State) SetLendAt(rep *record.Replica, at berth.Time) {
	p := rep.Idle.Get()
	st.retime(record.Timer{At: p.LendAt, Kind: record.TimerLending, Rep: rep}, at)
	p.LendAt = at
	rep.Idle.Set(p)
}

// RestoreLendAt has a replica be looked at as was saved.
func (st *State) RestoreLendAt(rep *record.Replica) {
	st.retime(record.Timer{Kind: record.TimerLending, Rep: rep}, rep.Idle.Get().LendAt)
}

// SetIdleAt has a replica be looked at at an instant that is idle; 0: not any more.
func (st *State) SetIdleAt(rep *record.Replica, at berth.Time) {
	p := rep.Idle.Get()
	st.retime(record.Timer{At: p.IdleAt, Kind: record.TimerIdle, Rep: rep}, at)
	p.IdleAt = at
	rep.Idle.Set(p)
}

// RestoreIdleAt has a replica be looked at as was saved.
func (st *State) RestoreIdleAt(rep *record.Replica) {
	st.retime(record.Timer{Kind: record.TimerIdle, Rep: rep}, rep.Idle.Get().IdleAt)
}

// retime has a timer fall due at another instant; 0 is never, before and after.
func (st *State) retime(t record.Timer, at berth.Time) {
	if t.At != 0 {
		st.StopTimer(t)
	}
	if t.At = at; at != 0 {
		st.SetTimer(t)
	}
}

// NoteReturning enters a replica among those that back off and come back to where they stood, or
// takes it out.
func (st *State) NoteReturning(rep *record.Replica, returns bool) {
	if returns {
		st.Returning.ReplaceOrInsert(rep)
	} else {
		st.Returning.Delete(rep)
	}
}

// NoteTodo enters a replica among those that need an order from the next pass, or takes it out.
func (st *State) NoteTodo(rep *record.Replica, needs bool) {
	if needs {
		st.Todo.ReplaceOrInsert(rep)
	} else {
		st.Todo.Delete(rep)
	}
}

// NextTodo takes out the first replica that needs an order; false: there is none.
func (st *State) NextTodo() (*record.Replica, bool) { return st.Todo.DeleteMin() }

// SetTimer has something fall due.
func (st *State) SetTimer(t record.Timer) {
	if _, replaced := st.Timers.ReplaceOrInsert(t); !replaced {
		st.countTimer(t, 1)
	}
}

// StopTimer has it not fall due any more.
func (st *State) StopTimer(t record.Timer) {
	if _, found := st.Timers.Delete(t); found {
		st.countTimer(t, -1)
	}
}

// SetLimit has the limit of a replica be looked at at an instant; 0: not any more.
func (st *State) SetLimit(rep *record.Replica, at berth.Time) {
	eviction := rep.Eviction.Get()
	st.retime(record.Timer{At: eviction.LimitAt, Kind: record.TimerLimit, Rep: rep}, at)
	eviction.LimitAt = at
	rep.Eviction.Set(eviction)
}

// countTimer counts the replicas that back off.
func (st *State) countTimer(t record.Timer, change int) {
	if t.Kind == record.TimerBackoff {
		st.Backoffs += change
	}
}

// DueTimer takes out the first timer that is due; false: there is none.
func (st *State) DueTimer() (record.Timer, bool) {
	t, ok := st.Timers.Min()
	if !ok || t.At > st.Now {
		return record.Timer{}, false
	}
	st.countTimer(t, -1)
	return st.Timers.DeleteMin()
}

// IsLendingDue reports whether the first timer that is due is one of what is lent.
func (st *State) IsLendingDue() bool {
	t, ok := st.Timers.Min()
	return ok && t.Kind == record.TimerLending && t.At <= st.Now
}

// Emit adds an order to those of the pass in progress.
func (st *State) Emit(order berth.Order) { st.out = append(st.out, order) }

// HandOver ends a pass, and returns its orders.
func (st *State) HandOver() []berth.Order {
	out := st.out
	st.out = nil
	return out
}
