package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth"
	scheduling "github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// CoreWith places as a whole scheduling core does: each task is a job of one member, which is
// submitted, placed in a pass, and reported as started; what is released is cancelled. Places are
// chosen by a policy of this package, or another NamedPolicy, that the core has as its scorer (see
// AsScorer); a policy without a name: by the core's own rule.
//
// The policy learns the mix from what is submitted, and so from tasks that fit: what the Session
// knows it is not told.
func CoreWith(p NamedPolicy, seed int64) Policy {
	return newCore(func(nodes []NodeSpec) (berth.Scorer, error) {
		if p.New == nil {
			return nil, nil
		}
		return AsScorer(nodes, p, seed)
	})
}

// CoreScoredBy is the core with a scorer of your own, to be compared with Policies. The scorer is
// asked by several cores at once, which it allows for if it is pure, as berth.Scorer has it.
func CoreScoredBy(s berth.Scorer) NamedPolicy {
	return NamedPolicy{inCore + s.Name(), "the scheduling core with a scorer of one's own", func(int64) Policy {
		return newCore(func([]NodeSpec) (berth.Scorer, error) { return s, nil })
	}}
}

func newCore(scorer func([]NodeSpec) (berth.Scorer, error)) *realCore {
	return &realCore{scorer: scorer, jobs: map[placed][]berth.JobID{}}
}

type realCore struct {
	// scorer of a fleet, nil for the core's own rule.
	scorer func([]NodeSpec) (berth.Scorer, error)
	core   *scheduling.Core
	now    berth.Time
	count  int
	jobs   map[placed][]berth.JobID // what runs, the oldest first
	// chosen is a job that the core has placed, and of which nobody said that it holds its place.
	chosen   berth.JobID
	chosenAt placed
}

// A placed task: what it is, and where.
type placed struct {
	kind  Kind
	place Place
}

const onlyQueue = "bench"

// coreNode is the name of a node in a core: the order of names is that of the nodes.
func coreNode(n Node) string { return fmt.Sprintf("%010d", n) }

// join makes the core, with the nodes of a fleet by the order of their names.
func (p *realCore) join(f *Fleet) {
	if p.core != nil {
		return
	}
	specs := slices.Clone(f.specs)
	config := berth.Config{Policy: berth.Policy{ReservedGangs: berth.Off, Preemption: berth.Preemption{Mode: berth.PreemptionOff}}}
	for n := range specs {
		specs[n].Name = coreNode(Node(n))
	}
	var err error
	config.Scorer, err = p.scorer(specs)
	must(err)
	p.core, err = scheduling.New(config)
	must(err)
	p.tell(berth.QueueSet{Queue: quota.Queue{Name: onlyQueue}})
	for n := range specs {
		spec := &specs[n]
		node := berth.Node{ID: berth.NodeID(spec.Name), CPUMilli: spec.CPUMilli, MemoryMiB: spec.MemoryMiB}
		for range spec.GPUs {
			node.GPUs = append(node.GPUs, berth.GPU{Product: cmp.Or(spec.Model, "unnamed"), MaxShares: WholeGPU})
		}
		p.tell(berth.NodeJoined{Node: node})
	}
}

func (p *realCore) tell(e berth.Event) { must(p.core.Apply(p.now, e)) }

// pass runs a pass, reports all orders as done, and returns the Bind among them.
func (p *realCore) pass() (bind berth.Bind, ok bool) {
	p.now++
	orders, err := p.core.Schedule(p.now)
	must(err)
	for _, o := range orders {
		p.tell(berth.OrderReported{Order: o.Header().ID, Outcome: berth.OutcomeDone})
		if b, is := o.(berth.Bind); is {
			bind, ok = b, true
		}
	}
	return bind, ok
}

func (p *realCore) job(f *Fleet, k Kind) berth.Job {
	r := f.Request(k)
	claim := berth.HostOnly(0, 0)
	switch {
	case r.Share():
		claim = berth.SharedGPU(berth.ShareMPS, r.Milli)
	case r.GPUs > 0:
		claim = berth.WholeGPUs(r.GPUs)
	}
	g := berth.Group{Members: 1, Claim: claim.WithHost(r.CPUMilli, r.MemoryMiB)}
	if r.Models != "" {
		g.Selector.Products = strings.Split(r.Models, "|")
	}
	p.count++
	return berth.Job{ID: berth.JobID(fmt.Sprintf("t%d", p.count)), Queue: onlyQueue, Groups: []berth.Group{g}}
}

func (p *realCore) Choose(f *Fleet, k Kind, _ []Node) Choice {
	p.join(f)
	p.forget()
	job := p.job(f, k)
	p.tell(berth.JobSubmitted{Job: job})
	bind, ok := p.pass()
	p.chosen = job.ID
	if !ok {
		p.forget()
		return Choice{Place: Place{Node: -1}} // which is refused, and named
	}
	m := &bind.Members[0]
	n, err := strconv.Atoi(string(m.Node))
	must(err)
	p.chosenAt = placed{k, Place{Node: Node(n), GPUs: m.GPUs}}
	return Choice{Place: p.chosenAt.place}
}

// forget takes a job back that was chosen a place for and no more.
func (p *realCore) forget() {
	if p.chosen != "" {
		p.cancel(p.chosen)
		p.chosen = ""
	}
}

func (p *realCore) cancel(id berth.JobID) {
	p.tell(berth.JobCancelled{Job: id})
	p.pass()
}

func (p *realCore) Held(f *Fleet, k Kind, place Place) {
	p.join(f)
	at := placed{k, place}
	id := p.chosen
	if id == "" || p.chosenAt != at {
		p.forget()
		job := p.job(f, k)
		id = job.ID
		p.tell(berth.JobObserved{Job: job, Running: []berth.ObservedReplica{{Incarnation: 1, Members: []berth.MemberPlacement{p.placement(f, at)}}}})
	}
	p.chosen = ""
	p.jobs[at] = append(p.jobs[at], id)
}

func (p *realCore) placement(f *Fleet, at placed) berth.MemberPlacement {
	m := berth.MemberPlacement{Node: berth.NodeID(coreNode(at.place.Node)), GPUs: at.place.GPUs}
	if r := f.Request(at.kind); r.Share() {
		m.ShareMilli = r.Milli
	}
	return m
}

func (p *realCore) Released(_ *Fleet, k Kind, place Place) {
	at := placed{k, place}
	list := p.jobs[at]
	p.cancel(list[0])
	if p.jobs[at] = list[1:]; len(list) == 1 {
		delete(p.jobs, at)
	}
}
