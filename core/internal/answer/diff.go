package answer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/values"
)

// memberKey is a member as the world names it.
type memberKey struct {
	job     berth.JobID
	replica int
	ref     berth.MemberRef
}

func (k memberKey) compare(l memberKey) int {
	return cmp.Or(
		cmp.Compare(k.job, l.job), cmp.Compare(k.replica, l.replica),
		cmp.Compare(k.ref.Group, l.ref.Group), cmp.Compare(k.ref.Index, l.ref.Index),
	)
}

// unseen is the reason in an event that settles a difference.
const unseen = "not seen in the world"

// Diff names every difference between an observed world and the core's. Members
// with an order out about them may or may not run, so they are compared only
// where they are seen. One that died should not run, whatever place it keeps. The
// list is in order of kind of thing, nodes first, then of name. Cost: O(world log
// world).
func (an *Answers) Diff(w berth.World) []berth.Difference {
	seen := make(map[memberKey]*berth.ObservedMember, len(w.Running))
	var list []berth.Difference
	list = an.diffNodes(w.Nodes, list)
	for i := range w.Running {
		s := &w.Running[i]
		key := memberKey{s.Job, s.Replica, s.Ref()}
		if seen[key] != nil {
			list = append(list, key.difference(berth.DifferenceMemberUnknown, fmt.Sprintf("runs twice, on %s and on %s", seen[key].Node, s.Node)))
			continue
		}
		seen[key] = s
	}
	for _, key := range slices.SortedFunc(maps.Keys(seen), memberKey.compare) {
		if d, differs := an.diffSeen(key, seen[key]); differs {
			list = append(list, d)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(an.state.Jobs)) {
		for rep := range an.state.Jobs[id].Replicas.All() {
			list = an.diffMissing(rep, seen, list)
		}
	}
	return list
}

func (an *Answers) diffNodes(nodes []berth.Node, list []berth.Difference) []berth.Difference {
	there := make(map[berth.NodeID]bool, len(nodes))
	order := make([]int, len(nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(nodes[a].ID, nodes[b].ID) })
	for _, i := range order {
		id := nodes[i].ID
		if an.state.NodeByID[id] == nil && !there[id] {
			list = append(list, berth.Difference{
				Kind: berth.DifferenceNodeUnknown, Node: id, Text: fmt.Sprintf("node %s is not in the core's fleet", id),
				Event: berth.NodeJoined{Node: values.CloneNode(&nodes[i])},
			})
		}
		there[id] = true
	}
	for _, id := range slices.Sorted(maps.Keys(an.state.NodeByID)) {
		if !there[id] {
			list = append(list, berth.Difference{
				Kind: berth.DifferenceNodeMissing, Node: id, Text: fmt.Sprintf("node %s is in the core's fleet, but was not observed", id),
				Event: berth.NodeLost{Node: id, Reason: unseen},
			})
		}
	}
	return list
}

// diffSeen compares a member that was seen with where the core has it.
func (an *Answers) diffSeen(key memberKey, s *berth.ObservedMember) (berth.Difference, bool) {
	j := an.state.Jobs[key.job]
	var rep *record.Replica
	if j != nil {
		rep = j.Replica(key.replica)
	}
	if rep == nil {
		return key.difference(berth.DifferenceMemberUnknown, "runs, but the core knows no such replica"), true
	}
	flat := j.Flat(key.ref)
	if flat < 0 || rep.Members == nil || !rep.Members[flat].State.MayRun() {
		return key.difference(berth.DifferenceMemberUnknown, "runs, but should not"), true
	}
	text := ""
	switch want := an.state.PlacementOf(rep, flat); {
	case s.Incarnation != rep.Incarnation:
		text = fmt.Sprintf("runs as incarnation %d, not %d", s.Incarnation, rep.Incarnation)
	case s.Node != want.Node || s.GPUs != want.GPUs:
		text = fmt.Sprintf("runs on %s GPUs %s, not on %s GPUs %s", s.Node, s.GPUs, want.Node, want.GPUs)
	case s.Instance != want.Instance:
		text = fmt.Sprintf("runs on instance %v, not on %v", s.Instance, want.Instance)
	default:
		return berth.Difference{}, false
	}
	d := key.difference(berth.DifferenceMemberMisplaced, text)
	if rep.State != berth.ReplicaReleasing && rep.Members[flat].There() {
		d.Event = failed(rep, key.ref)
	}
	return d, true
}

// failed tells that members of a replica do not run.
func failed(rep *record.Replica, members ...berth.MemberRef) berth.MemberFailed {
	return berth.MemberFailed{
		Job: rep.Job.Spec.ID, Replica: rep.Number, Incarnation: rep.Incarnation, Members: members, Reason: unseen,
	}
}

// diffMissing lists the members of a replica that should run and were not seen.
func (an *Answers) diffMissing(rep *record.Replica, seen map[memberKey]*berth.ObservedMember, list []berth.Difference) []berth.Difference {
	first := len(list)
	var missing []berth.MemberRef
	for flat := range rep.Members {
		if rep.Members[flat].State != record.MemberRunning {
			continue
		}
		p := an.state.PlacementOf(rep, flat)
		key := memberKey{rep.Job.Spec.ID, rep.Number, p.Ref()}
		if seen[key] == nil {
			list = append(list, key.difference(berth.DifferenceMemberMissing, fmt.Sprintf("should run on %s, but was not observed", p.Node)))
			missing = append(missing, key.ref)
		}
	}
	for i := first; i < len(list); i++ {
		list[i].Event = failed(rep, missing...)
	}
	return list
}

func (k memberKey) difference(kind berth.DifferenceKind, text string) berth.Difference {
	ref := k.ref
	return berth.Difference{
		Kind: kind, Job: k.job, Replica: k.replica, Member: &ref,
		Text: fmt.Sprintf("job %s replica %d member %v %s", k.job, k.replica, ref, text),
	}
}
