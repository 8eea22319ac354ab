package answer

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/quota"
)

// Job tells what is known of a job; false: nothing is.
func (an *Answers) Job(id berth.JobID) (berth.JobStatus, bool) {
	j := an.state.Jobs[id]
	if j == nil {
		return berth.JobStatus{}, false
	}
	full := j.Full()
	s := berth.JobStatus{Job: values.CloneJob(&full), Cancelled: j.Cancelled}
	for rep := range j.Replicas.All() {
		s.Replicas = append(s.Replicas, an.replicaStatus(rep))
	}
	for _, t := range j.Batches() {
		life := t.Life(t.Next)
		s.Replicas = append(s.Replicas, berth.ReplicaStatus{Replica: t.Next, Alike: t.Len() - 1, Incarnation: life.Incarnation, Since: life.PendingSince})
	}
	s.Replicas = joinStatus(s.Replicas)
	return s, true
}

// joinStatus puts replicas in order of number, and those together that wait alike.
func joinStatus(list []berth.ReplicaStatus) []berth.ReplicaStatus {
	slices.SortFunc(list, func(a, b berth.ReplicaStatus) int { return cmp.Compare(a.Replica, b.Replica) })
	joined := list[:0]
	for i := range list {
		next := &list[i]
		if len(joined) > 0 {
			last := &joined[len(joined)-1]
			waits := last.State == berth.ReplicaPending && next.State == berth.ReplicaPending && last.Order == 0 && next.Order == 0
			if waits && next.Replica == last.Replica+last.Alike+1 && next.Since == last.Since && next.Incarnation == last.Incarnation {
				last.Alike += 1 + next.Alike
				continue
			}
		}
		joined = append(joined, *next)
	}
	return joined
}

func (an *Answers) replicaStatus(rep *record.Replica) berth.ReplicaStatus {
	s := berth.ReplicaStatus{
		Replica: rep.Number, State: rep.State, Incarnation: rep.Incarnation, Since: rep.PendingSince,
		Starting: an.state.Placements(rep, record.MemberBinding, record.MemberFailed),
		Running:  an.state.Placements(rep, record.MemberRunning),
		Stopping: an.state.Placements(rep, record.MemberStopping),
	}
	if rep.State == berth.ReplicaRunning {
		s.Since, s.Idleness = rep.Started, an.life.Idleness(rep)
	}
	if rep.State != berth.ReplicaPending {
		s.Alternative = rep.Job.Alternative()
	}
	if rep.Order != nil {
		s.Order = rep.Order.Header().ID
	}
	if other := rep.Relocation.Get().Instead; other != nil {
		s.Instead = other.Ref()
	}
	return s
}

// Node tells what is known of a node; false: nothing is.
func (an *Answers) Node(id berth.NodeID) (berth.NodeStatus, bool) {
	n := an.state.NodeByID[id]
	if n == nil {
		return berth.NodeStatus{}, false
	}
	full := n.Spec.Full()
	s := berth.NodeStatus{
		Node: values.CloneNode(&full), Cordoned: n.Cordoned, Reason: n.Reason, Draining: n.Draining, DrainBy: n.DrainBy,
		QuarantineUntil: n.Trust.QuarantineUntil, BurnInUntil: n.Trust.BurnInUntil, HotSpare: n.Trust.HotSpare,
	}
	there := slices.SortedFunc(slices.Values(n.Members), func(a, b record.MemberAt) int {
		return cmp.Or(record.CompareReplicas(a.Rep, b.Rep), cmp.Compare(a.Index, b.Index))
	})
	for _, at := range there {
		s.Members = append(s.Members, an.member(at.Rep, at.Index))
	}
	return s, true
}

func (an *Answers) member(rep *record.Replica, flat int) berth.ObservedMember {
	return berth.ObservedMember{
		Job: rep.Job.Spec.ID, Replica: rep.Number, Incarnation: rep.Incarnation, MemberPlacement: an.state.PlacementOf(rep, flat),
	}
}

// Queue tells what is known of a queue; false: nothing is.
func (an *Answers) Queue(id berth.QueueID) (berth.QueueStatus, bool) {
	i, known := an.state.Quota.Lookup(id)
	if !known {
		return berth.QueueStatus{}, false
	}
	q := an.books.Queues[i]
	guarantee, limit, of := an.state.Quota.Amounts(i)
	return berth.QueueStatus{
		Queue: an.state.Quota.Config(i), Guarantee: guarantee, Limit: limit, Of: of,
		UsedMilli:       an.state.Quota.Used(i, quota.GPUMilli),
		RunningReplicas: q.Running.Len(), WaitingReplicas: q.Waiting,
	}, true
}

// EachRunning calls a function for the members of a job that run, in the order of replica, group
// and index, until it returns false. It reports whether it never did.
func (an *Answers) EachRunning(id berth.JobID, use func(berth.ObservedMember) bool) bool {
	j := an.state.Jobs[id]
	if j == nil {
		return true
	}
	for _, rep := range slices.Collect(j.Replicas.All()) {
		for flat := range rep.Members {
			if rep.Members[flat].State == record.MemberRunning && !use(an.member(rep, flat)) {
				return false
			}
		}
	}
	return true
}
