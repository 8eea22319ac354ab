package cases

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// A kueueScale says what stands for the resources of a scenario: the first for GPUs,
// the others for host memory and host CPU, each in units of what all its amounts have
// in common.
type kueueScale struct {
	keys  []string
	units []int64
}

// maxKueueUnits bounds the GPUs that stand for the contended resource.
const maxKueueUnits = 16 * berth.MaxGPUs

var standIns = []quota.Resource{quota.GPUMilli, quota.MemoryMiB, quota.CPUMilli}

func (c *kueueCase) scale() (kueueScale, *Error) {
	var s kueueScale
	wanted := map[string]bool{}
	for _, w := range c.workloads() {
		for key, amount := range w.amounts() {
			wanted[key] = wanted[key] || amount > 0
		}
	}
	for _, key := range append(slices.Clone(c.Incoming.Contended), slices.Sorted(maps.Keys(wanted))...) {
		if wanted[key] && !slices.Contains(s.keys, key) {
			s.keys = append(s.keys, key)
		}
	}
	if len(s.keys) > len(standIns) {
		return s, outOfModel("incoming.request", fmt.Sprintf("%d resources; the most is %d", len(s.keys), len(standIns)))
	}
	for _, key := range s.keys {
		var unit int64
		take := func(v int64) { unit = divisor(unit, v) }
		for _, have := range c.haves() {
			h := have[key]
			take(h.Nominal)
			for _, limit := range []*int64{h.BorrowingLimit, h.LendingLimit} {
				if limit != nil {
					take(*limit)
				}
			}
		}
		for _, w := range c.workloads() {
			take(w.amounts()[key])
		}
		s.units = append(s.units, max(unit, 1))
	}
	return s, nil
}

// amount is an amount of the k-th resource in the unit of what stands for it in quotas.
func (s *kueueScale) amount(k int, v int64) int64 {
	if standIns[k] == quota.GPUMilli {
		return 1000 * (v / s.units[k])
	}
	return v / s.units[k]
}

// quotas translates cohorts and queues, parents first.
func (c *kueueCase) quotas(s *kueueScale) ([]quota.Queue, *Error) {
	cohorts, wrong := c.parentsFirst()
	if wrong != nil {
		return nil, wrong
	}
	total := map[string]quota.Amounts{} // of a cohort and all below it
	for i := len(cohorts) - 1; i >= 0; i-- {
		h := cohorts[i]
		sum := quota.Amounts{}
		for k, key := range s.keys {
			sum[standIns[k]] = s.amount(k, h.Quota[key].Nominal)
			for j := range c.Queues {
				if c.Queues[j].Cohort == h.Name {
					sum[standIns[k]] += s.amount(k, c.Queues[j].Quota[key].Nominal)
				}
			}
			for _, below := range cohorts[i+1:] {
				if below.Parent == h.Name {
					sum[standIns[k]] += total[below.Name][standIns[k]]
				}
			}
		}
		total[h.Name] = sum
	}
	var list []quota.Queue
	for _, h := range cohorts {
		q := quota.Queue{Name: berth.QueueID("cohort " + h.Name), Guarantee: total[h.Name], Weight: kueueWeight(h.Weight)}
		if h.Parent != "" {
			q.Parent = berth.QueueID("cohort " + h.Parent)
		}
		list = append(list, s.limited(q, h.Quota))
	}
	for i := range c.Queues {
		own := &c.Queues[i]
		q := quota.Queue{Name: berth.QueueID(own.Name), Guarantee: quota.Amounts{}, Weight: kueueWeight(own.Weight)}
		if own.Cohort != "" {
			q.Parent = berth.QueueID("cohort " + own.Cohort)
		}
		for k, key := range s.keys {
			q.Guarantee[standIns[k]] = s.amount(k, own.Quota[key].Nominal)
		}
		list = append(list, s.limited(q, own.Quota))
	}
	return list, nil
}

// limited adds the limits: what is topmost may not use more than it has, as the quotas
// are the capacity; the others may borrow up to their limit.
func (s *kueueScale) limited(q quota.Queue, have map[string]kueueHave) quota.Queue {
	q.Limit, q.LendingLimit = quota.Amounts{}, nil
	for k, key := range s.keys {
		r := standIns[k]
		switch h := have[key]; {
		case q.Parent == "":
			q.Limit[r] = q.Guarantee[r]
		case h.BorrowingLimit != nil:
			q.Limit[r] = q.Guarantee[r] + s.amount(k, *h.BorrowingLimit)
		}
		if limit := have[key].LendingLimit; limit != nil && q.Parent != "" {
			if q.LendingLimit == nil {
				q.LendingLimit = quota.Amounts{}
			}
			q.LendingLimit[r] = s.amount(k, *limit)
		}
	}
	return q
}

func kueueWeight(w *float64) int64 {
	switch {
	case w == nil:
		return weightUnit
	case *w > 0:
		return max(1, int64(min(*w, 1000)*weightUnit))
	}
	return 1
}

// parentsFirst orders the cohorts.
func (c *kueueCase) parentsFirst() ([]*kueueCohort, *Error) {
	depth := map[string]int{"": 0}
	var list []*kueueCohort
	for range c.Cohorts {
		for i := range c.Cohorts {
			h := &c.Cohorts[i]
			above, known := depth[h.Parent]
			if _, done := depth[h.Name]; known && !done {
				depth[h.Name] = above + 1
				list = append(list, h)
			}
		}
	}
	if len(list) < len(c.Cohorts) {
		return nil, malformed("cohorts", "are above each other in a circle")
	}
	slices.SortStableFunc(list, func(a, b *kueueCohort) int { return cmp.Compare(depth[a.Name], depth[b.Name]) })
	return list, nil
}

// world makes a core with what runs, and tells it of what comes.
func (c *kueueCase) world() (*world, *Error) {
	s, wrong := c.scale()
	if wrong != nil {
		return nil, wrong
	}
	queues, wrong := c.quotas(&s)
	if wrong != nil {
		return nil, wrong
	}
	sched, err := core.New(berth.Config{Policy: berth.Policy{ReservedGangs: -1, Preemption: atOnce()}})
	if err != nil {
		return nil, refused("", err)
	}
	w := newWorld(sched)
	for i := range queues {
		if err := sched.Apply(0, berth.QueueSet{Queue: queues[i]}); err != nil {
			return nil, refused(string("queues "+queues[i].Name), err)
		}
	}
	free, wrong := c.join(w, &s, queues)
	if wrong != nil {
		return nil, wrong
	}
	return w, c.admit(w, &s, free)
}

// join adds nodes with as many GPUs as the quotas say, or more where more is in use, and
// returns where they are.
func (c *kueueCase) join(w *world, s *kueueScale, queues []quota.Queue) ([]berth.MemberPlacement, *Error) {
	var have, used int64
	for i := range queues {
		if queues[i].Parent == "" {
			have += queues[i].Guarantee[quota.GPUMilli] / 1000
		}
	}
	for i := range c.Admitted {
		job := c.job(&c.Admitted[i], "", s)
		for k := range job.Groups {
			used += int64(job.Groups[k].Members * job.Groups[k].Claim.GPUs)
		}
	}
	total := max(have, used)
	if total > maxKueueUnits {
		return nil, outOfModel("queues", fmt.Sprintf("%d units; the most is %d", total, maxKueueUnits))
	}
	var free []berth.MemberPlacement
	for number := 0; number == 0 || total > 0; number++ {
		node := berth.Node{ID: berth.NodeID(fmt.Sprintf("node%02d", number)), CPUMilli: hostCPU, MemoryMiB: hostMemory}
		for ; total > 0 && len(node.GPUs) < berth.MaxGPUs; total-- {
			free = append(free, berth.MemberPlacement{Node: node.ID, GPUs: berth.GPUSetOf(len(node.GPUs))})
			node.GPUs = append(node.GPUs, berth.GPU{Product: "gpu"})
		}
		if err := w.core.Apply(0, berth.NodeJoined{Node: node}); err != nil {
			return nil, refused("queues", err)
		}
	}
	return free, nil
}

// admit tells of what runs, the oldest first, and then of what comes.
func (c *kueueCase) admit(w *world, s *kueueScale, free []berth.MemberPlacement) *Error {
	for i, a := range c.byAge() {
		job := c.job(a, berth.JobID(a.Name), s)
		if c.spares(a) {
			job.MinRuntime = forLong
		}
		var members []berth.MemberPlacement
		for k := range job.Groups {
			for m := range job.Groups[k].Members {
				at := berth.MemberPlacement{Node: "node00"}
				if job.Groups[k].Claim.GPUs > 0 {
					at, free = free[0], free[1:]
				}
				at.Group, at.Index = job.Groups[k].Name, m
				members = append(members, at)
			}
		}
		w.now = berth.Time(i+1) * berth.Time(berth.Second)
		err := w.core.Apply(w.now, berth.JobObserved{Job: job, Running: []berth.ObservedReplica{{Incarnation: 1, Started: w.now, Members: members}}})
		if err != nil {
			return refused("admitted "+a.Name, err)
		}
		w.observe(job.ID, members)
	}
	w.now += berth.Time(berth.Second)
	if err := w.core.Apply(w.now, berth.JobSubmitted{Job: c.job(&c.Incoming, c.incoming(), s)}); err != nil {
		return refused("incoming", err)
	}
	return nil
}

// byAge orders what runs so that the first to go come last: what is being evicted
// already, then what was admitted last, then the smaller name.
func (c *kueueCase) byAge() []*kueueWorkload {
	list := make([]*kueueWorkload, len(c.Admitted))
	for i := range c.Admitted {
		list[i] = &c.Admitted[i]
	}
	slices.SortStableFunc(list, func(a, b *kueueWorkload) int {
		switch {
		case b.Evicted && !a.Evicted:
			return -1
		case a.Evicted && !b.Evicted:
			return 1
		}
		return cmp.Or(cmp.Compare(a.AdmittedAt, b.AdmittedAt), strings.Compare(b.Name, a.Name))
	})
	return list
}

// job translates a workload.
func (c *kueueCase) job(w *kueueWorkload, id berth.JobID, s *kueueScale) berth.Job {
	job := berth.Job{
		ID: id, Queue: berth.QueueID(w.Queue), Class: berth.ClassInteractive, Priority: c.priority(w),
		Checkpoint: berth.Checkpoint{Supported: true, Cost: berth.Second},
	}
	if w.Evicted {
		job.Class = berth.ClassBatch
	}
	host := berth.Claim{}
	for k, key := range s.keys {
		units := w.amounts()[key] / s.units[k]
		switch {
		case units == 0:
		case standIns[k] == quota.GPUMilli:
			job.Groups = append(job.Groups, berth.Group{Name: "units", Members: int(min(units, maxKueueUnits+1)), Claim: berth.Claim{GPUs: 1}})
		case standIns[k] == quota.MemoryMiB:
			host.MemoryMiB = units
		default:
			host.CPUMilli = units
		}
	}
	if host.CPUMilli+host.MemoryMiB > 0 || len(job.Groups) == 0 {
		if host.CPUMilli+host.MemoryMiB == 0 {
			host.CPUMilli = 1
		}
		job.Groups = append(job.Groups, berth.Group{Name: "host", Members: 1, Claim: host})
	}
	return job
}
