package sim_test

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
)

// This file says what happens, in an event or in a pass, to gangs and their members.

// ofBoth lists the keys that are known before a turn or after it.
func ofBoth[K comparable, V any](before, after map[K]V, compare func(a, b K) int) []K {
	all := map[K]V{}
	maps.Copy(all, before)
	maps.Copy(all, after)
	return slices.SortedFunc(maps.Keys(all), compare)
}

func compareRefs(a, b berth.ReplicaRef) int {
	return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Replica, b.Replica))
}

func compareMembers(a, b berth.MemberRef) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Index, b.Index))
}

// A gpuRef names a GPU; -1 stands for the whole node.
type gpuRef struct {
	node berth.NodeID
	gpu  int
}

// lost is the hardware that an event takes away.
func (t *turn) lost() (gpuRef, bool) {
	switch e := t.event.(type) {
	case berth.NodeLost:
		return gpuRef{e.Node, -1}, true
	case berth.GPUFailed:
		return gpuRef{e.Node, e.GPU}, true
	case berth.XidReported:
		return gpuRef{e.Node, e.GPU}, t.condemns(e)
	}
	return gpuRef{}, false
}

// condemns reports whether an Xid takes a GPU out of service.
func (t *turn) condemns(e berth.XidReported) bool {
	effect := berth.LookupXid(e.Xid).Effect
	return effect == berth.XidCondemns || effect == berth.XidSuspect && t.before.nodes[e.Node].BurnInUntil != 0
}

// reported is the order that an event is a report about, if it is out, and how it ended.
func (t *turn) reported() (berth.Order, berth.OrderReported) {
	if e, ok := t.event.(berth.OrderReported); ok {
		return t.orders[e.Order], e
	}
	return nil, berth.OrderReported{}
}

// overdue lists the Repartitions that a pass finds not reported in time.
func (t *turn) overdue() []gpuRef {
	var list []gpuRef
	for _, n := range t.before.Nodes {
		for i := range n.GPUs {
			if o := n.GPUs[i].Order; t.event == nil && o != nil && o.Deadline <= t.now {
				list = append(list, gpuRef{n.Node.ID, n.GPUs[i].GPU})
			}
		}
	}
	return list
}

// failedChange is the GPU of a Repartition that is reported as failed.
func (t *turn) failedChange() (gpuRef, bool) {
	a, e := t.reported()
	r, changes := a.(berth.Repartition)
	return gpuRef{r.Node, r.GPU}, changes && e.Outcome == berth.OutcomeFailed
}

// orderName is a kind of order as machines have it.
func orderName(kind string) string {
	if kind == (berth.RequestCheckpoint{}).Kind() {
		return "checkpoint"
	}
	return kind
}

// gone reports whether a member that held something of a GPU does not hold that any more.
func (t *turn) gone(ref berth.ReplicaRef, m *memberView, at gpuRef) bool {
	after := t.after.gangs[ref]
	return m.on(at.node, at.gpu) && (after == nil || !after.members[m.Ref()].on(at.node, at.gpu) || after.members[m.Ref()].Bind != m.Bind)
}

// expires says whether a Repartition that is overdue takes what a member holds: it has if that is
// gone, unless something else may have taken it in the same pass.
func (t *turn) expires(ref berth.ReplicaRef, m *memberView, at gpuRef) (certainty, bool) {
	if !t.gone(ref, m, at) {
		return may, false
	}
	if order, kind := t.before.gangs[ref].out(); kind != "" && order.Deadline <= t.now {
		return may, true
	}
	return must, true
}

func (o *observer) followReplicas(t *turn) error {
	if t.refused != nil {
		return o.refusedReplica(t)
	}
	for _, ref := range ofBoth(t.before.gangs, t.after.gangs, compareRefs) {
		before, after := t.before.gangs[ref], t.after.gangs[ref]
		signals := t.toldReplica(ref)
		if t.event == nil {
			signals = t.passedReplica(ref)
		}
		if err := o.replicas.follow(ref, before.state(), after.state(), signals...); err != nil {
			return err
		}
	}
	return nil
}

// toldReplica is what an event is to a gang.
func (t *turn) toldReplica(ref berth.ReplicaRef) []signal {
	before, after := t.before.gangs[ref], t.after.gangs[ref]
	is := func(id berth.JobID, number int, event string) []signal {
		if ref == (berth.ReplicaRef{Job: id, Replica: number}) {
			return []signal{{event, must}}
		}
		return nil
	}
	switch e := t.event.(type) {
	case berth.JobSubmitted:
		return is(e.Job.ID, ref.Replica, "submitted")
	case berth.JobObserved:
		if slices.ContainsFunc(e.Running, func(r berth.ObservedReplica) bool { return r.Replica == ref.Replica }) {
			return is(e.Job.ID, ref.Replica, "observed")
		}
		return is(e.Job.ID, ref.Replica, "submitted")
	case berth.JobScaled:
		switch {
		case before == nil:
			return is(e.Job, ref.Replica, "submitted")
		case !before.Gone && (after == nil || after.Gone):
			return is(e.Job, ref.Replica, "cancelled")
		}
	case berth.JobCancelled:
		return is(e.Job, ref.Replica, "cancelled")
	case berth.JobFinished:
		return is(e.Job, ref.Replica, "jobFinished")
	case berth.MemberFailed:
		return is(e.Job, e.Replica, "memberFailed")
	case berth.CheckpointWritten:
		return is(e.Job, e.Replica, "checkpointWritten")
	case berth.OrderReported:
		if a, _ := t.reported(); a.Kind() != "repartition" {
			return is(a.Header().Job, a.Header().Replica, orderName(a.Kind())+" "+e.Outcome.String())
		}
	}
	if before == nil {
		return nil
	}
	if at, loses := t.lost(); loses && before.on(at.node, at.gpu) {
		return []signal{{"hardware lost", must}}
	}
	if at, fails := t.failedChange(); fails && slices.ContainsFunc(before.Members, func(m *memberView) bool { return t.gone(ref, m, at) }) {
		return []signal{{"repartition failed", must}}
	}
	return nil
}

// passedReplica is what a pass is to a gang: what falls due first, then the orders about it.
func (t *turn) passedReplica(ref berth.ReplicaRef) []signal {
	before := t.before.gangs[ref]
	var signals []signal
	gone := map[*memberView]bool{}
	for _, at := range t.overdue() {
		hits := false
		for _, m := range before.all() {
			if how, hit := t.expires(ref, m, at); hit && !gone[m] {
				if !hits {
					signals = append(signals, signal{"repartition deadline", how})
				}
				gone[m], hits = true, true
			}
		}
	}
	if order, kind := before.out(); kind != "" && order.Deadline <= t.now {
		signals = append(signals, signal{orderName(kind) + " deadline", must})
	}
	_, kind := before.out()
	for _, a := range t.about(ref) {
		event := a.Kind()
		if r, ok := a.(berth.Release); ok && r.Remaining == nil && before.state() == "running" && kind != "requestCheckpoint" {
			event = "evict"
		}
		signals = append(signals, signal{event, must})
	}
	return signals
}

// about lists the orders of a pass about a gang, or its members.
func (t *turn) about(ref berth.ReplicaRef) []berth.Order {
	var list []berth.Order
	for _, a := range t.actions {
		if h := a.Header(); a.Kind() != "repartition" && (berth.ReplicaRef{Job: h.Job, Replica: h.Replica}) == ref {
			list = append(list, a)
		}
	}
	return list
}

// refusedReplica looks at reports about a present life that are refused for what it is in.
func (o *observer) refusedReplica(t *turn) error {
	if !errors.Is(t.refused, berth.ErrStale) && !errors.Is(t.refused, berth.ErrConflict) {
		return nil
	}
	var ref berth.ReplicaRef
	var life berth.Incarnation
	switch e := t.event.(type) {
	case berth.JobCancelled:
		for ref, g := range t.before.gangs {
			if ref.Job == e.Job {
				if err := o.replicas.refused(ref, g.state(), "cancelled", refusalOf(t.refused)); err != nil {
					return err
				}
			}
		}
		return nil
	case berth.JobFinished:
		ref, life = berth.ReplicaRef{Job: e.Job}, e.Incarnation
	case berth.MemberFailed:
		ref, life = berth.ReplicaRef{Job: e.Job, Replica: e.Replica}, e.Incarnation
	case berth.CheckpointWritten:
		ref, life = berth.ReplicaRef{Job: e.Job, Replica: e.Replica}, e.Incarnation
	default:
		return nil
	}
	if g := t.before.gangs[ref]; g == nil || g.Incarnation != life {
		return nil
	}
	return o.replicas.refused(ref, t.before.gangs[ref].state(), t.event.Kind(), refusalOf(t.refused))
}

func (o *observer) followMembers(t *turn) error {
	if t.refused != nil {
		return nil
	}
	none := &gangView{}
	for _, ref := range ofBoth(t.before.gangs, t.after.gangs, compareRefs) {
		before, after := cmp.Or(t.before.gangs[ref], none), cmp.Or(t.after.gangs[ref], none)
		for _, member := range ofBoth(before.members, after.members, compareMembers) {
			signals := t.toldMember(ref, member)
			if t.event == nil {
				signals = t.passedMember(ref, member)
			}
			what := [2]any{ref, member}
			if err := o.members.follow(what, before.stateOf(member), after.stateOf(member), signals...); err != nil {
				return err
			}
		}
	}
	return nil
}

// toldMember is what an event is to a member: what happens to itself, and then what that makes of
// its gang.
func (t *turn) toldMember(ref berth.ReplicaRef, member berth.MemberRef) []signal {
	before, after := t.before.gangs[ref], t.after.gangs[ref]
	if before == nil {
		return []signal{{"observed", must}}
	}
	var own []signal
	m, early := before.members[member], before.early()
	a, report := t.reported()
	failed := report.Outcome == berth.OutcomeFailed || slices.Contains(report.Members, member)
	switch e := t.event.(type) {
	case berth.JobFinished:
		if ref.Job == e.Job {
			return []signal{{"finished", must}}
		}
	case berth.MemberFailed:
		if ref == (berth.ReplicaRef{Job: e.Job, Replica: e.Replica}) && slices.Contains(e.Members, member) && (e.Bind == 0 || m != nil && e.Bind == m.Bind) {
			own = append(own, signal{"died" + early, concerns})
		}
	case berth.OrderReported:
		h := a.Header()
		state := before.stateOf(member)
		switch mine := ref == (berth.ReplicaRef{Job: h.Job, Replica: h.Replica}); {
		case mine && a.Kind() == "bind" && state == "binding" && failed:
			own = append(own, signal{"not started", must})
		case mine && a.Kind() == "bind" && state == "binding":
			own = append(own, signal{"started", must})
		case mine && a.Kind() == "release" && state == "stopping" && failed:
			own = append(own, signal{"not stopped", must})
		case mine && a.Kind() == "release" && state == "stopping":
			own = append(own, signal{"stopped", must})
		}
	}
	if at, loses := t.lost(); loses && m.on(at.node, at.gpu) {
		own = append(own, signal{"lost" + early, must})
	}
	if at, fails := t.failedChange(); fails && m != nil && t.gone(ref, m, at) {
		own = append(own, signal{"lost" + early, must})
	}
	return append(own, t.settled(before, after)...)
}

// settled is what a turn that changes a gang is to its members at the end.
func (t *turn) settled(before, after *gangView) []signal {
	_, out := after.out()
	switch {
	case after.state() == "releasing" && before.state() != "releasing":
		return []signal{{"taken back", concerns}}
	case after == nil && before.state() != "releasing":
		return []signal{{"taken back", concerns}}
	case after.state() == "pending", after.state() == "running" && out != "bind":
		return []signal{{"settled", concerns}}
	}
	return nil
}

// passedMember is what a pass is to a member.
func (t *turn) passedMember(ref berth.ReplicaRef, member berth.MemberRef) []signal {
	before, after := t.before.gangs[ref], t.after.gangs[ref]
	var signals []signal
	for _, at := range t.overdue() {
		if before == nil || before.members[member] == nil {
			break
		}
		if how, hit := t.expires(ref, before.members[member], at); hit {
			signals = append(signals, signal{"lost" + before.early(), how})
			break // with the first of its GPUs
		}
	}
	if order, kind := before.out(); kind != "" && order.Deadline <= t.now {
		switch {
		case kind == "bind":
			signals = append(signals, signal{"bind deadline", concerns})
			if before.State == berth.ReplicaRunning {
				signals = append(signals, signal{"settled", concerns})
			} else {
				signals = append(signals, signal{"taken back", concerns})
			}
		case kind == "release" && before.Attempt >= t.before.Config.Policy.ReleaseAttempts:
			signals = append(signals, signal{"presumed dead", concerns})
		case kind == "release":
			signals = append(signals, signal{"release deadline", concerns})
		}
	}
	for _, a := range t.about(ref) {
		switch a := a.(type) {
		case berth.Bind:
			if a.Cause.Code != berth.CauseGrows {
				signals = append(signals, signal{"settled", concerns})
			}
			if names(a.Members, member) {
				signals = append(signals, signal{"bind", must})
			}
		case berth.Release:
			if a.Remaining == nil {
				signals = append(signals, signal{"settled", concerns})
			}
			if names(a.Members, member) {
				signals = append(signals, signal{"release", must})
			}
		}
	}
	if before == nil {
		return signals
	}
	if len(t.about(ref)) > 0 {
		return signals
	}
	return append(signals, t.settled(before, after)...)
}

func names(list []berth.MemberPlacement, member berth.MemberRef) bool {
	return slices.ContainsFunc(list, func(p berth.MemberPlacement) bool { return p.Ref() == member })
}
