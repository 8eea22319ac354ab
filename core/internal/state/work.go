package state

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
)

// What there is to do for a pass, and what it has ordered so far: Leaving, Returning, Todo, Timers
// and out are changed here alone.

// NoteLeaving enters a replica among those that are on their way out, or takes it out.
func (st *State) NoteLeaving(rep *record.Replica, leaves bool) {
	if leaves {
		st.Leaving.ReplaceOrInsert(rep)
	} else {
		st.Leaving.Delete(rep)
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

// Emit adds an order to those of the pass in progress.
func (st *State) Emit(order berth.Order) { st.out = append(st.out, order) }

// HandOver ends a pass, and returns its orders.
func (st *State) HandOver() []berth.Order {
	out := st.out
	st.out = nil
	return out
}
