package worlds

import (
	"fmt"

	"github.com/berth-sched/berth"
)

// mostDraining bounds the passes in which a world is emptied.
const mostDraining = 20_000

// Drain goes on after All: what runs ends, its orders are carried out without a fault, and so
// does what starts then, until nothing starts any more. It returns the jobs that still wait, and
// why.
func (r *Run) Drain() (waiting map[berth.JobID]berth.ReasonCode, err error) {
	sched := r.Sim.Core()
	at := sched.Now()
	for range mostDraining {
		at++
		r.end(at)
		orders, err := sched.Schedule(at)
		r.verify(err)
		r.scheduled(at, orders)
		for _, o := range orders {
			r.tell(at, berth.OrderReported{Order: o.Header().ID, Outcome: berth.OutcomeDone})
		}
		if r.Err != nil {
			return nil, r.Err
		}
		if wake, due := sched.NextWake(); due {
			at = max(at, wake-1)
		} else if waiting, busy := r.left(); !busy {
			return waiting, nil
		}
	}
	return nil, fmt.Errorf("L1: all ends that runs, and after %d passes there is still something to do", mostDraining)
}

// end tells of each job that runs that it has finished, and cancels each service.
func (r *Run) end(now berth.Time) {
	for j := range r.Sim.Core().Jobs() {
		for i := range j.Replicas {
			switch rep := &j.Replicas[i]; {
			case rep.State != berth.ReplicaRunning:
				continue
			case j.Job.Service != nil:
				r.tell(now, berth.JobCancelled{Job: j.Job.ID})
			default:
				r.tell(now, berth.JobFinished{Job: j.Job.ID, Incarnation: rep.Incarnation})
			}
			break
		}
	}
}

// left are the jobs that wait, and why their first replica does. It also reports whether any
// other is under way.
func (r *Run) left() (waiting map[berth.JobID]berth.ReasonCode, busy bool) {
	sched := r.Sim.Core()
	waiting = map[berth.JobID]berth.ReasonCode{}
	for _, id := range sched.JobIDs() {
		e, err := sched.Explain(id)
		r.verify(err)
		for i := range e.Replicas {
			if rep := &e.Replicas[i]; rep.State != berth.ReplicaPending {
				busy = true
			} else if waiting[id] == "" && rep.Reason != nil {
				waiting[id] = rep.Reason.Code
			}
		}
	}
	return waiting, busy
}

// tell tells the core an event, and the checker what came of it.
func (r *Run) tell(now berth.Time, e berth.Event) {
	r.applied(now, e, r.Sim.Core().Apply(now, e))
}
