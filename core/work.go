package core

import (
	"github.com/berth-sched/berth"
)

// What there is to do for a pass, and what it has ordered so far: leaving, todo, timers and out
// are changed here alone.

// noteLeaving enters a replica among those that are on their way out, or takes it out.
func (c *Core) noteLeaving(rep *replica, leaves bool) {
	if leaves {
		c.leaving.ReplaceOrInsert(rep)
	} else {
		c.leaving.Delete(rep)
	}
}

// noteTodo enters a replica among those that need an order from the next pass, or takes it out.
func (c *Core) noteTodo(rep *replica, needs bool) {
	if needs {
		c.todo.ReplaceOrInsert(rep)
	} else {
		c.todo.Delete(rep)
	}
}

// nextTodo takes out the first replica that needs an order; false: there is none.
func (c *Core) nextTodo() (*replica, bool) { return c.todo.DeleteMin() }

// setTimer has something fall due.
func (c *Core) setTimer(t timer) { c.timers.ReplaceOrInsert(t) }

// stopTimer has it not fall due any more.
func (c *Core) stopTimer(t timer) { c.timers.Delete(t) }

// dueTimer takes out the first timer that is due; false: there is none.
func (c *Core) dueTimer() (timer, bool) {
	t, ok := c.timers.Min()
	if !ok || t.at > c.now {
		return timer{}, false
	}
	return c.timers.DeleteMin()
}

// emit adds an order to those of the pass in progress.
func (c *Core) emit(order berth.Action) { c.out = append(c.out, order) }

// handOver ends a pass, and returns its orders.
func (c *Core) handOver() []berth.Action {
	out := c.out
	c.out = nil
	return out
}
