package script

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/decimal"
)

// expect fails the script unless something holds. Unlike what is printed it is
// not rewritten.
func (s *Session) expect(rest string) error {
	a := parseArguments(rest)
	switch a.word(0) {
	case "orders":
		return s.expectNumber(a, "orders of the latest pass", int64(len(s.orders)))
	case "attempts":
		return s.expectNumber(a, "searches", s.core.Report().Totals.PlacementAttempts)
	case "reserved":
		return s.expectReserved(a)
	case "guaranteed":
		i := slices.IndexFunc(s.core.Report().Queues, func(q berth.QueueReport) bool { return string(q.Queue) == a.word(1) })
		if i < 0 {
			return fmt.Errorf("there is no such queue")
		}
		if got := decimal.Milli(s.core.Report().Queues[i].GuaranteedMilli); got != a.word(2) {
			return fmt.Errorf("it is guaranteed %s GPUs", got)
		}
		return a.finish(3)
	case "refused":
		if got := kindOf(s.refusal); got != a.word(1) || s.refusal == nil {
			return fmt.Errorf("the latest event was not refused so, but: %v", s.refusal)
		}
		return a.finish(2)
	}
	id, number, err := parseReplica(a.word(0))
	if err != nil {
		return err
	}
	return s.expectReplica(a, id, number)
}

func (s *Session) expectNumber(a *arguments, what string, got int64) error {
	if want, err := strconv.ParseInt(a.word(1), 10, 64); err != nil || want != got {
		return fmt.Errorf("%s: %d", what, got)
	}
	return a.finish(2)
}

func (s *Session) expectReplica(a *arguments, id berth.JobID, number int) error {
	r, found := s.replica(id, number)
	if a.word(1) == "gone" {
		if found {
			return fmt.Errorf("it is %s", r.State)
		}
		return a.finish(2)
	}
	var want berth.ReplicaState
	if err := want.UnmarshalText([]byte(a.word(1))); err != nil {
		return err
	}
	switch {
	case !found:
		return fmt.Errorf("there is no such replica")
	case r.State != want:
		return fmt.Errorf("it is %s", r.State)
	}
	if incarnation := a.integer("incarnation", int(r.Incarnation)); incarnation != int(r.Incarnation) {
		return fmt.Errorf("it is in incarnation %d", r.Incarnation)
	}
	if as := a.integer("as", r.Alternative); as != r.Alternative {
		return fmt.Errorf("it is as alternative %d", r.Alternative)
	}
	for _, where := range []struct{ key, got string }{
		{"on", nodesOf(r.Members)}, {"at", placesOf(r.Members)}, {"held", heldFor(r.Reason)},
	} {
		if want, ok := a.lookup(where.key); ok && want != where.got {
			return fmt.Errorf("it has %s=%s", where.key, where.got)
		}
	}
	if start, ok := a.lookup("start"); ok {
		at := berth.Time(0)
		if r.Reason != nil {
			at = r.Reason.ExpectedStart.Earliest
		}
		if want, err := parseSpan(start); err != nil || at.Sub(0) != want {
			return fmt.Errorf("it is expected to start at %s at the earliest", clock(at))
		}
	}
	if reason, ok := a.lookup("reason"); ok && (r.Reason == nil || string(r.Reason.Code) != reason) {
		return fmt.Errorf("its reason is %v", r.Reason)
	}
	return a.finish(2)
}

// heldFor names the GPU that is kept for a replica that waits, if one is.
func heldFor(r *berth.Reason) string {
	if r == nil || r.GPUHold == nil {
		return ""
	}
	return fmt.Sprintf("%s[%d]", r.GPUHold.Node, r.GPUHold.GPU)
}

// placesOf lists the places of members, joined as in a script.
func placesOf(members []berth.MemberPlacement) string {
	var places []string
	for i := range members {
		places = append(places, place(&members[i]))
	}
	return join(places)
}

// nodesOf lists the nodes of members, each once, joined as in a script.
func nodesOf(members []berth.MemberPlacement) string {
	var nodes []berth.NodeID
	for i := range members {
		if id := members[i].Node; !slices.Contains(nodes, id) {
			nodes = append(nodes, id)
		}
	}
	return join(nodes)
}
