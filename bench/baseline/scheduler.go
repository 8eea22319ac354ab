package baseline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
)

// The timeouts of orders, which are the defaults of berth.Policy.
const (
	bindTimeout       = 2 * berth.Minute
	releaseTimeout    = berth.Minute
	checkpointTimeout = 5 * berth.Minute
)

// A Scheduler is a berth.Scheduler that does what a Policy says. Make it with New.
type Scheduler struct {
	policy Policy
	fleet  fleet
	// free is what nobody holds, on nodes that take work.
	free Space
	now  berth.Time
	last berth.OrderID
	wake berth.Time // 0: none

	queues []berth.QueueID // in order of name
	jobs   map[berth.JobID]*Job
	shapes map[string]int
	count  int
	// Jobs that wait, in the order of their submission; jobs that hold something; of these,
	// those on their way out.
	waiting, holding, leaving []*Job
	// orders that are out.
	orders map[berth.OrderID]*Job
	totals berth.Totals
}

var _ berth.Scheduler = (*Scheduler)(nil)

// New makes a scheduler with a policy, which is its own from now on, for an empty fleet.
func New(p Policy, fit Fit) *Scheduler {
	return &Scheduler{
		policy: p, fleet: fleet{fit: fit},
		jobs: map[berth.JobID]*Job{}, shapes: map[string]int{}, orders: map[berth.OrderID]*Job{},
	}
}

// NextWake is when the policy wants a pass though nothing is told until then.
func (s *Scheduler) NextWake() (berth.Time, bool) { return s.wake, s.wake != 0 }

// Outstanding returns the orders that are given and not reported, by ID.
func (s *Scheduler) Outstanding() []berth.Order {
	var list []berth.Order
	for _, id := range slices.Sorted(maps.Keys(s.orders)) {
		list = append(list, s.orders[id].given)
	}
	return list
}

// Lost lists nothing: no hardware is lost here.
func (s *Scheduler) Lost() []berth.Loss { return nil }

// Apply tells an event. A refusal is a *berth.Error, and changes nothing.
func (s *Scheduler) Apply(now berth.Time, e berth.Event) error {
	err := s.clock(now)
	if err == nil {
		err = s.apply(now, e)
	}
	if err != nil {
		err.Event = e.Kind()
		return err
	}
	s.now = now
	return nil
}

func (s *Scheduler) clock(now berth.Time) *berth.Error {
	if now < s.now {
		return &berth.Error{Reason: fmt.Sprintf("%d is before %d", now, s.now), Kind: berth.ErrClock}
	}
	return nil
}

func (s *Scheduler) apply(now berth.Time, e berth.Event) *berth.Error {
	switch e := e.(type) {
	case berth.NodeJoined:
		return s.join(e.Node)
	case berth.NodeCordoned:
		return s.cordon(e.Node, true)
	case berth.NodeUncordoned:
		return s.cordon(e.Node, false)
	case berth.QueueSet:
		if at, known := slices.BinarySearch(s.queues, e.Queue.Name); !known {
			s.queues = slices.Insert(s.queues, at, e.Queue.Name)
		}
		return nil
	case berth.JobSubmitted:
		return s.submit(now, &e.Job)
	case berth.JobCancelled:
		return s.cancel(now, e.Job)
	case berth.JobFinished:
		return s.finish(now, e)
	case berth.OrderReported:
		return s.reported(now, e)
	}
	return unsupported("", "the schedulers of package baseline do not take it")
}

func (s *Scheduler) join(n berth.Node) *berth.Error {
	for i := range n.GPUs {
		if n.GPUs[i].Failed || n.GPUs[i].Mode > berth.GPUModeWhole {
			return unsupported(fmt.Sprintf("node.gpus[%d]", i), "only sound and whole GPUs are placed on here")
		}
	}
	if _, known := s.fleet.find(n.ID); known || len(n.GPUs) > berth.MaxGPUs {
		return &berth.Error{Field: "node", Reason: fmt.Sprintf("node %q is known, or has too many GPUs", n.ID), Kind: berth.ErrDuplicate}
	}
	if len(s.jobs) > 0 {
		return unsupported("node", "all nodes have to join before the first job")
	}
	at := s.fleet.join(n)
	s.free = slices.Insert(s.free, at, s.fleet.nodes[at].all)
	return nil
}

// cordon closes a node to newcomers, or opens it.
func (s *Scheduler) cordon(id berth.NodeID, closed bool) *berth.Error {
	at, known := s.fleet.find(id)
	if !known {
		return &berth.Error{Field: "node", Reason: fmt.Sprintf("node %q is not known", id), Kind: berth.ErrUnknown}
	}
	s.fleet.nodes[at].cordoned = closed
	s.recount(at)
	return nil
}

// recount finds out what is free on a node.
func (s *Scheduler) recount(node int) {
	n := &s.fleet.nodes[node]
	if s.free[node] = n.all; n.cordoned {
		s.free[node] = 0
	}
	for _, j := range s.holding {
		for _, p := range j.At {
			if p.Node == node {
				s.free[node] &^= p.GPUs
			}
		}
	}
}

func (s *Scheduler) submit(now berth.Time, spec *berth.Job) *berth.Error {
	if s.jobs[spec.ID] != nil {
		return &berth.Error{Field: "job.id", Reason: fmt.Sprintf("job %q is known", spec.ID), Kind: berth.ErrDuplicate}
	}
	if _, known := slices.BinarySearch(s.queues, spec.Queue); !known {
		return &berth.Error{Field: "job.queue", Reason: fmt.Sprintf("queue %q is not known", spec.Queue), Kind: berth.ErrUnknown}
	}
	j, err := newJob(spec)
	if err != nil {
		return err
	}
	s.count++
	j.Submitted, j.order = now, s.count
	key := fmt.Sprint(j.members, spec.Groups[0].Selector.Pools, spec.Groups[0].Selector.Products)
	if s.shapes[key] == 0 {
		s.shapes[key] = len(s.shapes) + 1
	}
	j.shape = s.shapes[key]
	s.jobs[spec.ID] = j
	s.waiting = append(s.waiting, j)
	s.totals.JobsAdmitted++
	return nil
}

// cancel has a job go: at once if it waits, else it is stopped by the next pass.
func (s *Scheduler) cancel(now berth.Time, id berth.JobID) *berth.Error {
	j := s.jobs[id]
	if j == nil || j.gone {
		return &berth.Error{Field: "job", Reason: fmt.Sprintf("job %q is not known, or is cancelled", id), Kind: berth.ErrUnknown}
	}
	s.totals.JobsCancelled++
	switch j.gone = true; j.phase {
	case waits:
		s.forget(j)
	case starts, runs, asked:
		s.close(j)
		s.toStop(j, nil)
	}
	return nil
}

// finish ends a job. What is being stopped stays until that is reported.
func (s *Scheduler) finish(now berth.Time, e berth.JobFinished) *berth.Error {
	j := s.jobs[e.Job]
	switch {
	case j == nil || j.gone || j.phase == waits || j.life != e.Incarnation:
		return &berth.Error{Field: "job", Reason: fmt.Sprintf("incarnation %d of job %q is over, or never began", e.Incarnation, e.Job), Kind: berth.ErrStale}
	case j.phase == starts:
		return unsupported("job", "it ended before it was reported to run")
	}
	s.totals.JobsFinished++
	if j.gone = true; j.phase == stops || j.phase == due {
		return nil
	}
	s.close(j)
	s.vacate(now, j)
	s.forget(j)
	return nil
}

// reported takes the report of an order, which went well.
func (s *Scheduler) reported(now berth.Time, e berth.OrderReported) *berth.Error {
	j := s.orders[e.Order]
	switch {
	case j == nil && (e.Order == 0 || e.Order > s.last):
		return &berth.Error{Field: "order", Reason: fmt.Sprintf("order %d was never given", e.Order), Kind: berth.ErrUnknown}
	case j == nil:
		return &berth.Error{Field: "order", Reason: fmt.Sprintf("order %d is over", e.Order), Kind: berth.ErrStale}
	case e.Outcome != berth.OutcomeDone:
		return unsupported("outcome", "orders do not fail here")
	}
	s.close(j)
	switch j.phase {
	case starts:
		j.phase = runs
	case asked:
		if j.beneficiary.phase == waits {
			s.toStop(j, j.beneficiary)
		} else {
			s.stay(j)
		}
	case stops:
		s.vacate(now, j)
		if j.gone {
			s.forget(j)
		} else {
			s.queue(j)
		}
	}
	return nil
}

// close ends the order that is out about a job.
func (s *Scheduler) close(j *Job) {
	delete(s.orders, j.out)
	j.out, j.given = 0, nil
}

// toStop has a job stopped by the next pass.
func (s *Scheduler) toStop(j, beneficiary *Job) {
	j.phase, j.beneficiary = due, beneficiary
	if !slices.Contains(s.leaving, j) {
		s.leaving = append(s.leaving, j)
	}
}

// stay has a job that was on its way out go on.
func (s *Scheduler) stay(j *Job) {
	j.phase, j.beneficiary = runs, nil
	s.leaving = without(s.leaving, j)
}

// vacate frees what a job holds.
func (s *Scheduler) vacate(now berth.Time, j *Job) {
	j.served = j.Served(now)
	for _, p := range j.At {
		if !s.fleet.nodes[p.Node].cordoned {
			s.free[p.Node] |= p.GPUs
		}
	}
	j.At = nil
	s.holding, s.leaving = without(s.holding, j), without(s.leaving, j)
}

// queue puts a job back to its place among those that wait.
func (s *Scheduler) queue(j *Job) {
	j.phase, j.beneficiary = waits, nil
	at, _ := slices.BinarySearchFunc(s.waiting, j.order, func(j *Job, order int) int { return cmp.Compare(j.order, order) })
	s.waiting = slices.Insert(s.waiting, at, j)
}

func (s *Scheduler) forget(j *Job) {
	s.waiting = without(s.waiting, j)
	j.phase = over
	delete(s.jobs, j.Spec.ID)
}

// without removes a job from a list; the order of the others stays.
func without(list []*Job, j *Job) []*Job {
	if i := slices.Index(list, j); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}
