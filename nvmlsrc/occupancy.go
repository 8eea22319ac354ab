package nvmlsrc

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
)

// An Occupancy turns processes that nobody of ours started into facts for the core: that
// what they run on is taken. Each GPU, and each MIG instance, with such a process becomes
// a job that runs there already, is never preempted, and is over when the last of them is
// gone. The job is bound to where it is: no order starts it
// elsewhere. So the capacity is not touched, the ledger shows its holder,
// and Explain says why a job waits for it. (To call such a GPU failed instead would be a
// lie with consequences: it would put the node in burn-in, and a GPU in MIG mode would be
// lost for one process on one instance.) Only a drain of the node gives orders for such a
// job, and an operator carries them out.
//
// Only compute processes count: a display that draws on a GPU leaves it to others.
type Occupancy struct {
	// Node is the name of the machine.
	Node berth.NodeID
	// Queue that the jobs are charged to, and their Tenant. The queue must exist; one of
	// its own without a guarantee keeps others' fair share as it is.
	Queue  berth.QueueID
	Tenant berth.TenantID
	// Ours tells the processes that were started by orders of the core, and those that
	// serve them, such as the control daemon of MPS. Nil: none is.
	Ours func(pid int) bool
}

// Events compares an inventory with what the core was told: it returns a
// berth.JobObserved for each GPU and instance that is taken by now, and a
// berth.JobFinished for each that is free again. Told are the IDs of such jobs that the
// core has: see Owns.
//
// The core refuses a JobObserved about what somebody else holds by its own orders. Then
// two share what one was to have alone, and an operator has to see to it.
func (o Occupancy) Events(v Inventory, now berth.Time, told []berth.JobID) []berth.Event {
	var events []berth.Event
	var present []berth.JobID
	for i := range v.GPUs {
		g := &v.GPUs[i]
		if !g.works() {
			continue // what runs there is lost, or nobody knows what it has
		}
		for _, job := range o.jobs(g, now) {
			present = append(present, job.Job.ID)
			if !slices.Contains(told, job.Job.ID) {
				events = append(events, job)
			}
		}
	}
	for _, id := range told {
		if !slices.Contains(present, id) {
			events = append(events, berth.JobFinished{Job: id, Incarnation: 1})
		}
	}
	return events
}

// Owns reports whether a job is one that Events told of, by its ID: that of the node, and
// the UUID of the GPU with the placement of the instance.
func (o Occupancy) Owns(id berth.JobID) bool { return strings.HasPrefix(string(id), o.prefix()) }

func (o Occupancy) prefix() string { return "occupied/" + string(o.Node) + "/" }

// jobs are those on one GPU.
func (o Occupancy) jobs(g *GPU, now berth.Time) []berth.JobObserved {
	if !g.MIG.Enabled {
		if others := o.others(g.Processes); len(others) > 0 {
			return []berth.JobObserved{o.job(g, berth.Claim{GPUs: 1}, mig.Placement{}, now)}
		}
		return nil
	}
	var jobs []berth.JobObserved
	for _, instance := range g.MIG.Instances {
		if others := o.others(instance.Processes); len(others) > 0 {
			at := instance.Placement
			jobs = append(jobs, o.job(g, berth.Claim{MIG: at.Profile.String()}, at, now))
		}
	}
	return jobs
}

func (o Occupancy) others(pids []int) []int {
	return slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return o.Ours != nil && o.Ours(pid) })
}

// forever is longer than any process runs, and less than the longest span that the core
// takes, which is 278 years. A class alone does not keep a job from being taken back for a
// queue's guarantee; that it has not run for its least time does.
const forever = 250 * 365 * berth.Day

func (o Occupancy) job(g *GPU, claim berth.Claim, at mig.Placement, now berth.Time) berth.JobObserved {
	id := o.prefix() + cmp.Or(g.UUID, fmt.Sprintf("gpu%d", g.Index))
	if at != (mig.Placement{}) {
		id += fmt.Sprintf("/%v", at)
	}
	gpus, _ := berth.NewGPUSet(g.Index) // none beyond what a node may have, which the core refuses
	return berth.JobObserved{
		Job: berth.Job{
			ID: berth.JobID(id), Queue: o.Queue, Tenant: o.Tenant, Class: berth.ClassLatencyCritical,
			Groups: []berth.Group{{
				Members: 1, Claim: claim,
				// If its GPU fails it is over, and not to be started anew by an order.
				Selector: berth.Selector{Labels: map[string]string{"berth/occupied": "elsewhere"}},
			}},
			GangTimeout: berth.Millisecond,
			MinRuntime:  forever,
		},
		Running: []berth.ObservedReplica{{
			Incarnation: 1, Started: now,
			Members: []berth.MemberPlacement{{Node: o.Node, GPUs: gpus, Instance: at}},
		}},
	}
}
