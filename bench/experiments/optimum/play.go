package optimum

import (
	"fmt"
	"math/rand/v2"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// fleets are small enough for the optimum. The host is short on the last.
func fleets() []*fleet {
	type nodes = []struct{ gpus, cores int }
	return []*fleet{
		{"2 nodes of 4 GPUs, whole GPUs", nodes{{4, 0}, {4, 0}}, []kind{{1, 0, 0, 50}, {2, 0, 0, 30}, {4, 0, 0, 20}}},
		{"2 nodes of 4 GPUs and one of 2, whole GPUs", nodes{{4, 0}, {4, 0}, {2, 0}}, []kind{{1, 0, 0, 60}, {2, 0, 0, 25}, {4, 0, 0, 15}}},
		{"2 nodes of 4 GPUs, with shares", nodes{{4, 0}, {4, 0}}, []kind{{0, 300, 0, 25}, {0, 500, 0, 25}, {1, 0, 0, 30}, {4, 0, 0, 20}}},
		{"2 nodes of 4 GPUs and one of 2, hosts short", nodes{{4, 16}, {4, 12}, {2, 12}}, []kind{{1, 0, 1, 35}, {1, 0, 8, 25}, {2, 0, 4, 20}, {0, 500, 2, 20}}},
	}
}

// taught is how many members the core has seen of the mix.
const taught = 200

// play has the core place arrivals, with a policy as its scorer unless it is the core's own, and
// returns what is in use in the end.
func (f *fleet) play(p bench.NamedPolicy, kinds []int, seed uint64) (milli float64, err error) {
	config := berth.Config{}
	var nodes []berth.Node
	var specs []bench.NodeSpec
	for i, n := range f.nodes {
		spec := bench.NodeSpec{Name: fmt.Sprintf("n%d", i), GPUs: n.gpus, Model: "GPU", CPUMilli: int64(n.cores) * 1000}
		node := berth.Node{ID: berth.NodeID(spec.Name), CPUMilli: spec.CPUMilli}
		for range n.gpus {
			node.GPUs = append(node.GPUs, berth.GPU{Product: spec.Model, MaxShares: unit})
		}
		nodes, specs = append(nodes, node), append(specs, spec)
	}
	if p.New != nil {
		if config.Scorer, err = bench.AsScorer(specs, p, int64(seed)); err != nil {
			return 0, err
		}
	}
	c, err := core.New(config)
	if err != nil {
		return 0, err
	}
	s := &session{core: c}
	s.tell(berth.QueueSet{Queue: quota.Queue{Name: "all"}})
	random := rand.New(rand.NewPCG(seed, 11))
	for s.jobs < taught { // before there are nodes, so that nothing is placed
		for _, k := range f.draw(random) {
			id := s.submit(f.kinds[k])
			s.tell(berth.JobCancelled{Job: id})
		}
	}
	for _, n := range nodes {
		s.tell(berth.NodeJoined{Node: n})
	}
	for _, k := range kinds {
		id := s.submit(f.kinds[k])
		if s.pass() {
			milli += f.kinds[k].milli()
		} else {
			s.tell(berth.JobCancelled{Job: id})
		}
	}
	return milli, s.err
}

// A session is a core on its way, until the first error.
type session struct {
	core *core.Core
	jobs int
	now  berth.Time
	err  error
}

func (s *session) tell(e berth.Event) {
	if s.err == nil {
		s.err = s.core.Apply(s.now, e)
	}
}

func (s *session) submit(k kind) berth.JobID {
	claim := berth.WholeGPUs(k.gpus)
	if k.share > 0 {
		claim = berth.SharedGPU(berth.ShareMPS, k.share)
	}
	s.jobs++
	id := berth.JobID(fmt.Sprintf("t%d", s.jobs))
	s.tell(berth.JobSubmitted{Job: berth.Job{
		ID: id, Queue: "all", Groups: []berth.Group{{Members: 1, Claim: claim.WithHost(int64(k.cores)*1000, 0)}},
	}})
	return id
}

// pass reports whether a pass placed something. All orders are carried out at once.
func (s *session) pass() (bound bool) {
	if s.err != nil {
		return false
	}
	s.now++
	orders, err := s.core.Schedule(s.now)
	s.err = err
	for _, o := range orders {
		if _, is := o.(berth.Bind); is {
			bound = true
		}
		s.tell(berth.OrderReported{Order: o.Header().ID, Outcome: berth.OutcomeDone})
	}
	return bound
}
