package main

import (
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/examples/livenode/internal/process"
)

// When a GPU fails the core takes the members that hold it to be lost with it, as on a
// machine that is gone: no Release follows, and the rest of what they held is free. Here the
// machine is not gone, and their programs may well go on. So they are killed, and nothing
// is started where they are before they have ended.

// killLost kills the programs that the core takes to be gone.
func (o *orchestrator) killLost() {
	if len(o.failures) == 0 {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(o.lives)) {
		l := o.lives[id]
		e, err := o.core.Explain(id)
		switch {
		case l.state == lifeResigned: // it has ended
		case err == nil && e.Replicas[0].Incarnation == l.incarnation && len(e.Replicas[0].Members) > 0:
		default:
			o.note("%s has lost a GPU, and is killed", l)
			o.leaves(l)
			o.lose(l)
		}
	}
}

// lose kills a program that is on no books any more; one that is being started, when it
// has been.
func (o *orchestrator) lose(l *life) {
	o.lost = append(o.lost, l)
	if l.state == lifeRunning {
		_ = l.process.SignalGroup(process.Kill) // if it has ended, lostEnded is called
	}
}

// lostStarted kills a program that was lost while it was being started; the error is why it
// was not. It reports whether the program was one.
func (o *orchestrator) lostStarted(l *life, p *process.Process, err error) bool {
	switch {
	case !slices.Contains(o.lost, l):
		return false
	case err != nil:
		return o.lostEnded(l)
	}
	o.watch(l, p)
	o.leaves(l)
	_ = p.SignalGroup(process.Kill)
	return true
}

// lostEnded notes the end of a program that was lost, and starts what waited for it. It
// reports whether the program was one.
func (o *orchestrator) lostEnded(l *life) bool {
	i := slices.Index(o.lost, l)
	if i < 0 {
		return false
	}
	o.lost = slices.Delete(o.lost, i, i+1)
	o.bindWaiting()
	return true
}

// notYet reports whether a Bind has to wait: for a GPU that is being divided for it, for a
// former life of the job, or for the end of a program that is still where it is to be.
func (o *orchestrator) notYet(order *berth.Bind) bool {
	if slices.ContainsFunc(order.After, func(id berth.OrderID) bool { return o.dividing[id] }) {
		return true
	}
	wanted, _ := devices(&order.Members[0], &o.inventory) // what is not there nobody holds
	return slices.ContainsFunc(o.lost, func(l *life) bool {
		return l.id() == order.Job || slices.ContainsFunc(l.devices, func(d string) bool { return slices.Contains(wanted, d) })
	})
}
