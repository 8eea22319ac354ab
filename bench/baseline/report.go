package baseline

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
)

// Explain tells where a job stands. Why it waits is only said as far as it goes without
// asking the policy: it has no place, or its turn has not come.
func (s *Scheduler) Explain(id berth.JobID) (berth.Explanation, error) {
	j := s.jobs[id]
	if j == nil {
		return berth.Explanation{}, &berth.Error{Event: "explain", Field: "job", Reason: fmt.Sprintf("job %q is not known", id), Kind: berth.ErrUnknown}
	}
	r := berth.ReplicaExplanation{State: j.state(), Incarnation: j.life, Since: j.Submitted, Order: j.out}
	if j.At != nil {
		r.Since, r.ExpectedEnd, r.Members = j.Since, j.Since.Add(j.Expected()), s.members(j)
	}
	if j.beneficiary != nil {
		r.Beneficiary = berth.ReplicaRef{Job: j.beneficiary.Spec.ID}
	}
	if j.phase == waits {
		r.Position = slices.Index(s.waiting, j) + 1
		r.Reason = s.reason(j)
	}
	return berth.Explanation{Job: id, Queue: j.Spec.Queue, Class: j.Spec.Class, Cancelled: j.gone, Replicas: []berth.ReplicaExplanation{r}}, nil
}

func (s *Scheduler) reason(j *Job) *berth.Reason {
	if s.fleet.place(j, s.free) != nil {
		return &berth.Reason{
			Code: berth.ReasonTurn, Text: "it has a place, and its turn has not come",
			Remedy: "the start of the jobs that the policy ranks before it",
		}
	}
	return &berth.Reason{
		Code: berth.ReasonGPUs, Text: fmt.Sprintf("no placement has %d GPUs free in the shape that it asks for", j.GPUs),
		Remedy: "that others end",
	}
}

// state is the word of package berth for a phase.
func (j *Job) state() berth.ReplicaState {
	switch j.phase {
	case starts:
		return berth.ReplicaBinding
	case runs, asked:
		return berth.ReplicaRunning
	case due, stops:
		return berth.ReplicaReleasing
	}
	return berth.ReplicaPending
}

// Report describes the fleet. Cost: O(nodes x shapes of waiting work + jobs).
func (s *Scheduler) Report() berth.FleetReport {
	r := berth.FleetReport{Now: s.now, Totals: s.totals}
	r.Nodes.All = len(s.fleet.nodes)
	r.Waiting.Capacity = len(s.waiting)
	products := map[string]*berth.ProductCount{}
	for i := range s.fleet.nodes {
		n := &s.fleet.nodes[i]
		count := s.tally(i)
		if n.cordoned {
			r.Nodes.Cordoned++
		} else if gpus := s.free[i].Len(); len(n.spec.GPUs) > 0 {
			r.NodesByFreeGPUs = append(r.NodesByFreeGPUs, make([]int, max(0, gpus+1-len(r.NodesByFreeGPUs)))...)
			r.NodesByFreeGPUs[gpus]++
		}
		plus(&r.GPUs, count)
		if len(n.spec.GPUs) > 0 {
			product := n.spec.GPUs[0].Product
			if products[product] == nil {
				products[product] = &berth.ProductCount{Product: product}
			}
			plus(&products[product].GPUCount, count)
		}
	}
	for _, p := range products {
		r.Products = append(r.Products, *p)
	}
	slices.SortFunc(r.Products, func(a, b berth.ProductCount) int { return cmp.Compare(a.Product, b.Product) })
	s.reportJobs(&r)
	return r
}

// tally counts the GPUs of a node.
func (s *Scheduler) tally(i int) berth.GPUCount {
	n := &s.fleet.nodes[i]
	c := berth.GPUCount{AllMilli: int64(n.all.Len()) * 1000, FreeMilli: int64(s.free[i].Len()) * 1000}
	for _, j := range s.holding {
		for _, at := range j.At {
			if at.Node == i {
				c.HeldMilli += int64(at.GPUs.Len()) * 1000
			}
		}
	}
	c.OutOfServiceMilli = c.AllMilli - c.HeldMilli - c.FreeMilli
	serves := func(j *Job) bool {
		return slices.ContainsFunc(j.sizes, func(m size) bool { _, _, fits := s.fleet.fit(s.free[i], m.gpus); return fits })
	}
	if len(s.waiting) > 0 && !slices.ContainsFunc(s.waiting, serves) {
		c.StrandedMilli = c.FreeMilli
	}
	return c
}

func plus(sum *berth.GPUCount, c berth.GPUCount) {
	sum.AllMilli, sum.HeldMilli, sum.FreeMilli = sum.AllMilli+c.AllMilli, sum.HeldMilli+c.HeldMilli, sum.FreeMilli+c.FreeMilli
	sum.OutOfServiceMilli, sum.StrandedMilli = sum.OutOfServiceMilli+c.OutOfServiceMilli, sum.StrandedMilli+c.StrandedMilli
}

func (s *Scheduler) reportJobs(r *berth.FleetReport) {
	used, waiting := map[berth.QueueID]int64{}, map[berth.QueueID]int{}
	for _, j := range s.waiting {
		waiting[j.Spec.Queue]++
	}
	for _, j := range s.holding {
		used[j.Spec.Queue] += int64(j.GPUs) * 1000
		switch j.state() {
		case berth.ReplicaBinding:
			r.Replicas.Binding++
		case berth.ReplicaRunning:
			r.Replicas.Running++
		case berth.ReplicaReleasing:
			r.Replicas.Releasing++
		}
	}
	r.Replicas.Pending = len(s.waiting)
	for _, name := range s.queues {
		r.Queues = append(r.Queues, berth.QueueReport{Queue: name, UsedMilli: used[name], WaitingReplicas: waiting[name]})
	}
}

// Snapshot refuses: baselines keep none.
func (s *Scheduler) Snapshot() ([]byte, error) {
	return nil, &berth.Error{Event: "snapshot", Reason: "the schedulers of package baseline keep none", Kind: berth.ErrUnsupported}
}
