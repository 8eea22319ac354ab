package main

import (
	"slices"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/examples/livenode/internal/process"
	"github.com/berth-sched/berth/nvmlsrc"
)

// othersQueue is charged with what runs on the machine without us.
const othersQueue = "others"

// occupancy is how processes that are not ours become events.
func (o *orchestrator) occupancy() nvmlsrc.Occupancy {
	return nvmlsrc.Occupancy{Node: o.machine.name, Queue: othersQueue, Tenant: othersQueue, Ours: o.ours}
}

// tellOthers tells the core what others have taken, and have given back.
func (o *orchestrator) tellOthers() {
	for _, e := range o.occupancy().Events(o.inventory, o.now(), o.others) {
		switch e := e.(type) {
		case berth.JobObserved:
			if err := o.tell(e); err != nil {
				o.find(append(o.findings, err.Error())) // it is there at the next look too
				continue
			}
			o.others = append(o.others, e.Job.ID)
			o.note("%s is used by a process outside livenode", place(&e.Running[0].Members[0]))
		case berth.JobFinished:
			o.others = slices.DeleteFunc(o.others, func(id berth.JobID) bool { return id == e.Job })
			o.note("%s is free again", strings.TrimPrefix(string(e.Job), "occupied/"+string(o.machine.name)+"/"))
			o.must(e)
		}
	}
}

// keptFormer is how many process groups that have ended are remembered: the driver can
// list a process for a moment longer than the kernel.
const keptFormer = 64

// ours reports whether a process was started by order of the core, or serves those that
// were.
func (o *orchestrator) ours(pid int) bool {
	group, err := o.groupOf(pid)
	switch {
	case err != nil:
		return true // it has ended
	case o.machine.pretend == nil && strings.HasPrefix(process.Name(pid), mpsProcess):
		return true
	}
	return slices.Contains(o.former, group) || slices.ContainsFunc(o.running(), func(l *life) bool { return l.process.PID() == group })
}
