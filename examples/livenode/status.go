package main

import (
	"cmp"
	"slices"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
)

// A Status is what there is to see of a machine: the answer to GET /status.
type Status struct {
	Now     time.Time     `json:"now"`
	Node    string        `json:"node"`
	Driver  string        `json:"driver"`
	Pretend string        `json:"pretend,omitempty"` // the box that the machine pretends to be
	GPUs    []GPUStatus   `json:"gpus"`
	Jobs    []JobStatus   `json:"jobs"` // those that run, those that wait in the order of service, those that are over
	Queues  []QueueStatus `json:"queues"`
	// Decisions are the latest, the oldest first.
	Decisions []Decision `json:"decisions"`
}

// A GPUStatus is one GPU and the jobs on it.
type GPUStatus struct {
	Index     int    `json:"index"`
	Product   string `json:"product"`
	UUID      string `json:"uuid"`
	MemoryMiB int64  `json:"memoryMiB"`
	// Mode it is in, and the instances that it has in mode mig.
	Mode      berth.GPUMode `json:"mode"`
	Instances []string      `json:"instances,omitempty"`
	// Failure is why it takes no work; empty: it does.
	Failure string   `json:"failure,omitempty"`
	Holders []Holder `json:"holders,omitempty"`
	// Reading is what was measured last; nil: nothing was.
	Reading *Reading `json:"reading,omitempty"`
}

// A Holder is a job that holds a GPU, or Milli thousandths of it.
type Holder struct {
	Job      string `json:"job"`
	Milli    int    `json:"milli"`
	Instance string `json:"instance,omitempty"`
	// Idle: it lends the GPU, and leaves it idle. Borrowed: it has it from a job that does.
	Idle     bool `json:"idle,omitempty"`
	Borrowed bool `json:"borrowed,omitempty"`
}

// The states of a job, beside those of the core.
const (
	stateCheckpointing = "checkpointing"
	stateEnded         = "ended"
	stateFailed        = "failed"
)

// A JobStatus is one job.
type JobStatus struct {
	Name     string      `json:"name"`
	Queue    string      `json:"queue"`
	Class    berth.Class `json:"class"`
	Priority int32       `json:"priority,omitempty"`
	// State is that of the core, or checkpointing while it is asked to, or ended or failed.
	State string `json:"state"`
	Wants string `json:"wants"`
	// Place where it is.
	Place       string            `json:"place,omitempty"`
	Incarnation berth.Incarnation `json:"incarnation,omitempty"`
	PID         int               `json:"pid,omitempty"`
	// Since is when it came into its state; Submitted when it came.
	Since     time.Time `json:"since"`
	Submitted time.Time `json:"submitted"`
	// Checkpoint is when it last wrote one, as far as that was seen.
	Checkpoint time.Time `json:"checkpoint,omitzero"`
	// Switched is how long it took a job that lends, the last time, to have its GPUs to itself
	// again, from when it was found busy.
	Switched berth.Duration `json:"switched,omitempty"`
	// Why it waits, what it lends or borrows, or how it ended.
	Why string `json:"why,omitempty"`
	// Position in its queue, from 1, if it waits.
	Position int    `json:"position,omitempty"`
	Output   string `json:"output"`
}

// A QueueStatus is one queue. GPU amounts are in thousandths.
type QueueStatus struct {
	Name           string `json:"name"`
	UsedMilli      int64  `json:"usedMilli"`
	GuaranteeMilli int64  `json:"guaranteeMilli,omitempty"`
	LimitMilli     *int64 `json:"limitMilli,omitempty"`
	Waiting        int    `json:"waiting"`
	// GPUHours that it has used since the state folder was made.
	GPUHours float64 `json:"gpuHours"`
}

// status describes the machine.
func (o *orchestrator) status() Status {
	s := Status{
		Now: time.Now(), Node: string(o.machine.name), Driver: o.inventory.Driver, Pretend: o.machine.box,
		GPUs: o.gpuStatus(), Decisions: slices.Clone(o.decisions),
	}
	for _, one := range o.records.list {
		j := o.jobStatus(one)
		s.Jobs = append(s.Jobs, j)
		o.hold(&s, berth.JobID(one.Name), one.Name)
	}
	for _, id := range o.others {
		o.hold(&s, id, othersQueue)
	}
	for i := range s.GPUs { // a borrower stands over its lender, whichever was submitted first
		slices.SortStableFunc(s.GPUs[i].Holders, func(a, b Holder) int {
			switch {
			case a.Borrowed == b.Borrowed:
				return 0
			case b.Borrowed:
				return -1
			}
			return 1
		})
	}
	slices.SortStableFunc(s.Jobs, func(a, b JobStatus) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Position, b.Position), a.Since.Compare(b.Since))
	})
	s.Queues = o.queueStatus()
	return s
}

// queueStatus describes the queues.
func (o *orchestrator) queueStatus() []QueueStatus {
	used := map[berth.QueueID]int64{}
	lines, _ := o.core.Ledger()
	for _, line := range lines {
		used[line.Queue] += line.Allocated
	}
	var list []QueueStatus
	for _, q := range o.core.Report().Queues {
		if q.Queue == othersQueue && q.UsedMilli == 0 {
			continue
		}
		list = append(list, QueueStatus{
			Name: string(q.Queue), UsedMilli: q.UsedMilli, GuaranteeMilli: q.GuaranteedMilli, LimitMilli: q.LimitMilli, Waiting: q.WaitingReplicas,
			GPUHours: float64(used[q.Queue]) / float64(berth.Hour),
		})
	}
	return list
}

// rank puts what runs first, and what is over last.
func (j *JobStatus) rank() int {
	switch {
	case j.over():
		return 2
	case j.State == berth.ReplicaPending.String():
		return 1
	}
	return 0
}

// over reports whether the job has ended.
func (j *JobStatus) over() bool { return j.State == stateEnded || j.State == stateFailed }

// gpuStatus describes the GPUs as they are, without the jobs on them.
func (o *orchestrator) gpuStatus() []GPUStatus {
	var list []GPUStatus
	for i := range o.inventory.GPUs {
		g := &o.inventory.GPUs[i]
		one := GPUStatus{
			Index: i, Product: g.Product, UUID: g.UUID, MemoryMiB: g.MemoryMiB,
			Mode: o.mode(i), Failure: o.failures[i], Reading: o.reading(i),
		}
		if g.Failure != nil && one.Failure == "" {
			one.Failure = g.Failure.Error()
		}
		for _, instance := range g.MIG.Instances {
			one.Instances = append(one.Instances, instance.Placement.String())
		}
		list = append(list, one)
	}
	return list
}

// mode is the mode that a GPU is in.
func (o *orchestrator) mode(gpu int) berth.GPUMode {
	if o.inventory.GPUs[gpu].MIG.Enabled {
		return berth.GPUModeMIG
	}
	if o.machine.mps.shares(gpu) {
		return berth.GPUModeMPS
	}
	return berth.GPUModeWhole
}

// hold notes on the GPUs what a job holds, under a name.
func (o *orchestrator) hold(s *Status, id berth.JobID, name string) {
	e, err := o.core.Explain(id)
	if err != nil {
		return
	}
	lent := e.Replicas[0].LentMilli > 0
	for _, m := range e.Replicas[0].Members {
		for _, g := range m.GPUs.Indexes() {
			if g >= len(s.GPUs) {
				continue
			}
			h := Holder{Job: name, Milli: 1000, Idle: lent, Borrowed: m.Borrowed}
			if m.ShareMilli != 0 {
				h.Milli = m.ShareMilli
			}
			if m.Instance != (mig.Placement{}) {
				h.Instance, h.Milli = m.Instance.String(), instanceMilli(s.GPUs[g].Product, m.Instance)
			}
			s.GPUs[g].Holders = append(s.GPUs[g].Holders, h)
		}
	}
}

// instanceMilli is the part of a GPU that an instance is: that of its memory slices.
func instanceMilli(product string, at mig.Placement) int {
	slices := 8 // of every product that is not known and has MIG so far, but A30
	if known, ok := mig.LookupDevice(product); ok {
		slices = known.MemorySlices
	}
	return int(at.Size) * 1000 / slices
}

// jobStatus describes a job.
func (o *orchestrator) jobStatus(one *record) JobStatus {
	j := JobStatus{
		Name: one.Name, Queue: one.Queue, Class: one.Class, Priority: one.Priority, Wants: one.wants(),
		Submitted: one.Submitted, Since: one.Submitted, Output: one.outputFile(),
	}
	if l := o.lives[berth.JobID(one.Name)]; l != nil {
		j.Checkpoint, j.Switched = l.checkpoint, l.switched
		if l.process != nil {
			j.PID = l.process.PID()
		}
	}
	e, err := o.core.Explain(berth.JobID(one.Name))
	switch {
	case one.end != nil:
		j.State, j.Since, j.Why = stateEnded, one.end.At, one.end.Text
		if !one.end.OK {
			j.State = stateFailed
		}
		return j
	case err != nil:
		return j
	}
	r := &e.Replicas[0]
	j.State, j.Incarnation, j.Position = r.State.String(), r.Incarnation, r.Position
	j.Since = time.UnixMilli(int64(r.Since))
	for i := range r.Members {
		j.Place = place(&r.Members[i])
	}
	if l := o.lives[e.Job]; l != nil && l.request != 0 {
		j.State = stateCheckpointing
	}
	if r.Beneficiary.Job != "" {
		j.Why = "is preempted for " + string(r.Beneficiary.Job)
	}
	if j.Why == "" {
		j.Why = o.loan(e.Job, r)
	}
	if r.Reason != nil {
		j.Why = o.shortReason(one, r.Reason)
	}
	return j
}
