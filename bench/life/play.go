package life

import (
	"fmt"
	"math"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/quota"
)

// A Workload is jobs and the fleet that runs them.
type Workload struct {
	// Nodes join and queues are set at 0.
	Nodes  []berth.Node
	Queues []quota.Queue
	// Jobs are arrivals of JobSubmitted, in order of time, each with a run time.
	Jobs []sim.Arrival
}

// Options of a run.
type Options struct {
	// Step of the slots of the book; zero: an hour.
	Step berth.Duration
	// Checker sees everything, if there is one.
	Checker sim.Checker
	// Progress hears to which instant the run went on.
	Progress func(berth.Time)
}

// Play runs a workload under a scheduler until nothing is left to happen, and returns the lives
// of its jobs. Orders are carried out at once, but a checkpoint takes its time; a job that was
// stopped goes on from the checkpoint that it was asked for. It fails if a job is left over.
func Play(scheduler berth.Scheduler, w *Workload, o Options) (*Book, sim.Speed, error) {
	if o.Step == 0 {
		o.Step = berth.Hour
	}
	book := NewBook(w.names(), w.runtimes(), o.Step)
	s := sim.New(scheduler, sim.FromSlice(w.Arrivals()), sim.Options{
		Resume: true, Checker: o.Checker, Applied: book.Applied,
		Scheduled: func(now berth.Time, actions []berth.Order) {
			book.Scheduled(now, actions)
			if o.Progress != nil {
				o.Progress(now)
			}
		},
	})
	if err := s.Run(math.MaxInt64); err != nil {
		return nil, sim.Speed{}, err
	}
	if err := book.Err(); err != nil {
		return nil, sim.Speed{}, err
	}
	for _, j := range book.Jobs {
		if j.Ended == Unset {
			return nil, sim.Speed{}, fmt.Errorf("life: job %s of %d GPUs never ended", j.ID, j.GPUs)
		}
	}
	return book, s.Speed(), nil
}

// Arrivals are the nodes, the queues and the jobs, in order of time.
func (w *Workload) Arrivals() []sim.Arrival {
	var list []sim.Arrival
	for _, n := range w.Nodes {
		list = append(list, sim.Arrival{Event: berth.NodeJoined{Node: n}})
	}
	for _, q := range w.Queues {
		list = append(list, sim.Arrival{Event: berth.QueueSet{Queue: q}})
	}
	return append(list, w.Jobs...)
}

func (w *Workload) names() []berth.QueueID {
	var list []berth.QueueID
	for _, q := range w.Queues {
		list = append(list, q.Name)
	}
	return list
}

func (w *Workload) runtimes() map[berth.JobID]berth.Duration {
	all := map[berth.JobID]berth.Duration{}
	for _, a := range w.Jobs {
		if e, is := a.Event.(berth.JobSubmitted); is {
			all[e.Job.ID] = a.Runtime
		}
	}
	return all
}
