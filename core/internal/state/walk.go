package state

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// graceFor is how long a job of a class has to write a checkpoint.
func graceFor(p *berth.Preemption, class berth.Class) berth.Duration {
	for _, g := range p.Grace {
		if g.Class == class && g.Timeout > 0 {
			return g.Timeout
		}
	}
	return p.CheckpointTimeout
}

// GraceOf is how long a replica has to write a checkpoint.
func (st *State) GraceOf(rep *record.Replica) berth.Duration {
	return graceFor(&st.Config.Policy.Preemption, rep.Job.Spec.Class)
}

// MinRuntimeOf is for how long a replica runs at the least before it is evicted for any other.
// O(1), or O(depth log Queues) where the policy names queues.
func (st *State) MinRuntimeOf(rep *record.Replica) berth.Duration {
	p, own := &st.Config.Policy.Preemption, rep.Job.Spec.MinRuntime
	if p.MaxMinRuntime != berth.Off {
		own = min(own, p.MaxMinRuntime)
	}
	return max(own, st.minRuntimeIn(rep.Job.Queue))
}

// minRuntimeIn is what the policy says for the nearest queue above one, itself included, that it
// names, or else for all.
func (st *State) minRuntimeIn(queue quota.QueueIndex) berth.Duration {
	p := &st.Config.Policy.Preemption
	if len(p.Queues) == 0 {
		return p.MinRuntime
	}
	for ; queue > quota.RootQueue; queue = st.Quota.Parent(queue) {
		at, named := slices.BinarySearchFunc(p.Queues, st.Quota.Name(queue), func(q berth.QueuePreemption, name berth.QueueID) int {
			return cmp.Compare(q.Queue, name)
		})
		if named {
			return p.Queues[at].MinRuntime
		}
	}
	return p.MinRuntime
}

// EachNode calls a check for every node.
func (st *State) EachNode(check func(*record.Node) error) error {
	for _, n := range st.Nodes {
		if n == nil {
			continue
		}
		if err := check(n); err != nil {
			return fmt.Errorf("node %s: %w", n.Spec.ID, err)
		}
	}
	return nil
}

// NodesIn lists the nodes of a domain by its path, domain by domain in order of name; none: it is
// unknown.
func (st *State) NodesIn(path []string) []*record.Node {
	tree := st.Fleet.Tree()
	var list []*record.Node
	var walk func(topology.DomainIndex)
	walk = func(d topology.DomainIndex) {
		for _, child := range tree.Children(d) {
			walk(child)
		}
		for _, n := range tree.Nodes(d) {
			list = append(list, st.Nodes[n])
		}
	}
	if d, known := tree.Lookup(path...); known {
		walk(d)
	}
	return list
}

// JobsInOrder lists all jobs, by ID.
func (st *State) JobsInOrder() []*record.Job {
	list := make([]*record.Job, 0, len(st.Jobs))
	for _, id := range slices.Sorted(maps.Keys(st.Jobs)) {
		list = append(list, st.Jobs[id])
	}
	return list
}

// EachReplica calls a check for every replica, in order of job and number.
func (st *State) EachReplica(check func(*record.Replica) error) error {
	for _, j := range st.JobsInOrder() {
		for rep := range j.Replicas.All() {
			if err := check(rep); err != nil {
				return fmt.Errorf("job %s: replica %d (%s): %w", j.Spec.ID, rep.Number, rep.State, err)
			}
		}
	}
	return nil
}

// A Tally is a number that is kept, and what it should be.
type Tally struct {
	What         string
	Is, Expected int
}

// CountIf counts one more where a condition holds.
func CountIf(n *int, condition bool) {
	if condition {
		*n++
	}
}

// Agree checks tallies.
func Agree(list ...Tally) error {
	for _, t := range list {
		if t.Is != t.Expected {
			return fmt.Errorf("%s: %d, expected %d", t.What, t.Is, t.Expected)
		}
	}
	return nil
}

// goes reports whether the member is on its way out, for a beneficiary or for its lender.
func (st *State) goes(m record.MemberAt) bool {
	return st.Leaving.Has(m.Rep) && (m.Rep.State != berth.ReplicaRunning || m.Rep.Beneficiary != nil || m.Rep.Members[m.Index].State == record.MemberStopping ||
		m.Rep.Leaves && m.Rep.Job.Borrows())
}

// LeftBehind opens the nodes on which a replica has not got again what it held for a moment:
// others were refused because of that.
func (st *State) LeftBehind(rep *record.Replica, held []gang.Hold) {
	for _, h := range held {
		n := st.Nodes[h.Node]
		if !slices.ContainsFunc(n.Members, func(m record.MemberAt) bool { return m.Rep == rep && rep.Members[m.Index].Hold.Equal(h) }) {
			st.Opened = append(st.Opened, n)
		}
	}
}

// DeferBid is when to search for victims of a replica again, once more in vain: twice as long each
// time, up to a bound.
func (st *State) DeferBid(rep *record.Replica, doublings int) berth.Time {
	at := st.Now.Add(preemptEvery << min(int(rep.FailedBids), doublings))
	rep.CountFailedBid()
	return at
}

// LeavingFrom reports whether something that is to go holds something on the nodes of a
// reservation.
func (st *State) LeavingFrom(res *record.Reservation) bool {
	return slices.ContainsFunc(res.Nodes, func(n *record.Node) bool {
		return slices.ContainsFunc(n.Members, st.goes)
	})
}

// EachSaved calls a function for every replica that was restored, and its saved form.
func (st *State) EachSaved(jobs []record.SavedJob, restore func(*record.Replica, *record.SavedReplica)) {
	for i := range jobs {
		for k := range jobs[i].Replicas {
			s := &jobs[i].Replicas[k]
			restore(s.Restored, s)
		}
	}
}

// A Noted is a replica of which a snapshot has more than that it waits, and where it stands there.
// Most replicas are none, and most parts of a core have nothing to restore of those.
type Noted struct {
	*record.SavedReplica
	Job, Replica int
}

// EachNoted calls a function for every replica that was restored of which more is noted, and its
// saved form.
func (st *State) EachNoted(list []Noted, restore func(*record.Replica, *record.SavedReplica) *berth.Error) *berth.Error {
	for _, s := range list {
		if err := restore(s.Restored, s.SavedReplica); err != nil {
			return refusal.In(refusal.In(err, errtext.Index("replicas", s.Replica)), errtext.Index("jobs", s.Job))
		}
	}
	return nil
}

// ByPrecedence lists the replicas that were restored about in the order of service, by rank and
// turn: each that waits then goes behind those that are there, and moves none of them.
func (st *State) ByPrecedence(jobs []record.SavedJob) []*record.Replica {
	type precedence struct { // to compare these looks at no record
		class    berth.Class
		priority int32
		turn     berth.Time
		number   int
	}
	var reps []*record.Replica
	var list []precedence
	for i := range jobs {
		for k := range jobs[i].Replicas {
			rep := jobs[i].Replicas[k].Restored
			list = append(list, precedence{rep.Job.Spec.Class, rep.Job.Spec.Priority, rep.Turn(), len(reps)})
			reps = append(reps, rep)
		}
	}
	slices.SortFunc(list, func(a, b precedence) int {
		return cmp.Or(cmp.Compare(b.class, a.class), cmp.Compare(b.priority, a.priority), cmp.Compare(a.turn, b.turn), a.number-b.number)
	})
	ordered := make([]*record.Replica, len(list))
	for i, p := range list {
		ordered[i] = reps[p.number]
	}
	return ordered
}
