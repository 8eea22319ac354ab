package baseline

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
)

// A Job is a gang that waits or runs.
type Job struct {
	// Spec is as it was submitted, at Submitted.
	Spec      berth.Job
	Submitted berth.Time
	// GPUs of all members.
	GPUs int
	// At is what it holds; nil while it waits. Since is when it got that.
	At    Placement
	Since berth.Time
	// Mark is for the policy, which alone reads and writes it; zero at first.
	Mark int

	order   int   // of submission, from 1
	members []int // GPUs of each, by group
	sizes   []size
	// shape numbers what it asks for: equal for equal.
	shape int
	phase phase
	life  berth.Incarnation
	out   berth.OrderID // the order that is out, or 0
	given berth.Order   // that order; nil until its pass is over
	// beneficiary is the job that it makes room for. gone: it is forgotten when it is stopped.
	beneficiary *Job
	gone        bool
	// served are the GPU-milliseconds of former lives.
	served int64
}

// A size is how many members ask for so many GPUs.
type size struct{ gpus, members int }

// A phase is where a job stands.
type phase uint8

const (
	waits phase = iota
	starts
	runs
	// asked for a checkpoint.
	asked
	// due to be stopped by the next pass.
	due
	stops
	over
)

// Expected is how long it says that it runs, or a day.
func (j *Job) Expected() berth.Duration {
	if j.Spec.ExpectedRuntime > 0 {
		return j.Spec.ExpectedRuntime
	}
	return berth.Day
}

// End is when it is expected to end, of one that holds something: what runs for longer than
// it said is expected to end at once.
func (j *Job) End(now berth.Time) berth.Time { return max(j.Since.Add(j.Expected()), now) }

// Served is the GPU time that it has had so far, in GPU-milliseconds.
func (j *Job) Served(now berth.Time) int64 {
	if j.At == nil {
		return j.served
	}
	return j.served + int64(now.Sub(j.Since))*int64(j.GPUs)
}

// newJob takes a job that these schedulers can run.
func newJob(spec *berth.Job) (*Job, *berth.Error) {
	j := &Job{Spec: *spec}
	if spec.Service != nil {
		return nil, unsupported("job.service", "services are not run here")
	}
	if spec.Checkpoint.Supported && spec.Checkpoint.Cost >= checkpointTimeout {
		return nil, unsupported("job.checkpoint.cost", fmt.Sprintf("a checkpoint has to be written within %v", checkpointTimeout))
	}
	for i := range spec.Groups {
		g := &spec.Groups[i]
		field := fmt.Sprintf("job.groups[%d]", i)
		switch {
		case g.Claim.GPUs < 1 || g.Claim.GPUs > berth.MaxGPUs || g.Claim.Share != nil || g.Claim.MinInstance != nil || g.Claim.MIG != "":
			return nil, unsupported(field+".claim", "only whole GPUs are placed here")
		case i > 0 && !sameNodes(&spec.Groups[0].Selector, &g.Selector):
			return nil, unsupported(field+".selector", "all members go by one selector here, of pools and products")
		case g.Members < 1 || g.MinMembers != 0 && g.MinMembers != g.Members:
			return nil, unsupported(field+".minMembers", "gangs are whole here")
		}
		for range g.Members {
			j.members = append(j.members, g.Claim.GPUs)
		}
		j.GPUs += g.Members * g.Claim.GPUs
		j.add(size{g.Claim.GPUs, g.Members})
	}
	if len(j.members) == 0 {
		return nil, &berth.Error{Field: "job.groups", Reason: "is empty", Kind: berth.ErrInvalid}
	}
	return j, nil
}

// sameNodes reports whether two selectors ask for the same pools and products, and for nothing
// else.
func sameNodes(a, b *berth.Selector) bool {
	return slices.Equal(a.Pools, b.Pools) && slices.Equal(a.Products, b.Products)
}

// may reports whether a node is one of those that the job asks for.
func (j *Job) may(n *berth.Node) bool {
	s := &j.Spec.Groups[0].Selector
	if len(s.Pools) > 0 && !slices.Contains(s.Pools, n.Pool) {
		return false
	}
	return len(s.Products) == 0 || len(n.GPUs) > 0 && slices.Contains(s.Products, n.GPUs[0].Product)
}

// add counts members by what they ask for.
func (j *Job) add(more size) {
	i := slices.IndexFunc(j.sizes, func(s size) bool { return s.gpus == more.gpus })
	if i < 0 {
		j.sizes = append(j.sizes, more)
		return
	}
	j.sizes[i].members += more.members
}

func unsupported(field, reason string) *berth.Error {
	return &berth.Error{Field: field, Reason: reason, Kind: berth.ErrUnsupported}
}
