package day

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
)

// LeftOut says what Plain leaves out of a day, or makes simpler.
const LeftOut = "No failures, no shares of a GPU, no jobs of the host alone, no elastic gangs; each replica of a service is a job\n" +
	"that ends when the service is scaled down. FIFO and EASY know no queues, guarantees or priorities, and evict nothing"

// Plain makes a day of jobs that every scheduler of package bench/baseline can run: gangs of whole
// GPUs on sound hardware, with all their members. Each replica of a service that holds whole GPUs
// becomes a job. Its owner cancels it when the service is scaled down, the latest first. Jobs wait
// for as long as it takes. The gangs of the host alone that stand by others are left out with the
// jobs of the host, and so are jobs and services that take shares of GPUs.
func Plain(arrivals []sim.Arrival) []sim.Arrival {
	p := plain{services: map[berth.JobID]*replicas{}, kept: map[berth.JobID]bool{}, joined: map[berth.NodeID]bool{}}
	for _, a := range arrivals {
		p.take(a)
	}
	return p.list
}

type plain struct {
	list     []sim.Arrival
	services map[berth.JobID]*replicas
	kept     map[berth.JobID]bool
	joined   map[berth.NodeID]bool
}

// replicas are those of a service as jobs: those that it has now, the latest last.
type replicas struct {
	spec  berth.Job
	next  int
	names []berth.JobID
}

func (p *plain) take(a sim.Arrival) {
	switch e := a.Event.(type) {
	case berth.NodeJoined:
		if !p.joined[e.Node.ID] {
			p.joined[e.Node.ID] = true
			p.list = append(p.list, a)
		}
	case berth.QueueSet:
		p.list = append(p.list, a)
	case berth.JobSubmitted:
		job, whole := wholeGPUs(e.Job)
		switch {
		case !whole:
		case job.Service != nil:
			s := &replicas{spec: job}
			p.services[job.ID] = s
			p.scale(a.At, s, job.Service.Replicas)
		default:
			p.kept[job.ID] = true
			p.list = append(p.list, sim.Arrival{At: a.At, Event: berth.JobSubmitted{Job: job}, Runtime: a.Runtime})
		}
	case berth.JobScaled:
		if s := p.services[e.Job]; s != nil {
			p.scale(a.At, s, e.Replicas)
		}
	case berth.JobCancelled:
		if p.kept[e.Job] {
			p.list = append(p.list, a)
		}
	}
}

// wholeGPUs reduces a job to its members that hold whole GPUs; false where it has none, or some
// that hold parts.
func wholeGPUs(job berth.Job) (berth.Job, bool) {
	job.Groups = slices.DeleteFunc(slices.Clone(job.Groups), func(g berth.Group) bool {
		return g.Claim.GPUs == 0 && g.Claim.Share == nil && g.Claim.MIG == "" && g.Claim.MinInstance == nil
	})
	for i := range job.Groups {
		if job.Groups[i].Claim.GPUs == 0 {
			return job, false
		}
		job.Groups[i].MinMembers = 0
	}
	job.GangTimeout = 0
	return job, len(job.Groups) > 0
}

func (p *plain) scale(at berth.Time, s *replicas, count int) {
	for ; len(s.names) < count; s.next++ {
		job := s.spec
		job.ID, job.Service = berth.JobID(fmt.Sprintf("%s/%d", s.spec.ID, s.next)), nil
		s.names = append(s.names, job.ID)
		p.list = append(p.list, sim.Arrival{At: at, Event: berth.JobSubmitted{Job: job}})
	}
	for ; len(s.names) > count; s.names = s.names[:len(s.names)-1] {
		p.list = append(p.list, sim.Arrival{At: at, Event: berth.JobCancelled{Job: s.names[len(s.names)-1]}})
	}
}
