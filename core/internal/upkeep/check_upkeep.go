package upkeep

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/values"
)

// CheckTrust checks that nodes in quarantine or burn-in are watched, and are in the
// reservations that they are to be in.
func (u *Upkeep) CheckTrust() error {
	due, watched := agenda.Never, 0
	if err := u.state.EachNode(func(n *record.Node) error {
		if n.Trust.QuarantineUntil != 0 || n.Trust.BurnInUntil != 0 {
			watched++
		}
		for _, at := range []berth.Time{n.Trust.QuarantineUntil, n.Trust.BurnInUntil} {
			if at != 0 {
				due = min(due, at)
			}
		}
		switch {
		case (n.Trust.QuarantineUntil != 0 || n.Trust.BurnInUntil != 0) != slices.Contains(u.Watched, n):
			return fmt.Errorf("in quarantine until %d, in burn-in until %d, and wrongly watched", n.Trust.QuarantineUntil, n.Trust.BurnInUntil)
		case u.BurnIn != nil && !u.BurnIn.IsBurnIn():
			return fmt.Errorf("the reservation for burn-in is of another kind")
		case (n.Trust.BurnInUntil != 0) != (u.BurnIn != nil && slices.Contains(n.Reservations, u.BurnIn)):
			return fmt.Errorf("in burn-in until %d, and wrongly set aside", n.Trust.BurnInUntil)
		}
		return nil
	}); err != nil {
		return err
	}
	if watched != len(u.Watched) || due != u.agenda.HealthDue || !slices.IsSortedFunc(u.Watched, record.CompareNodes) {
		return fmt.Errorf("%d nodes are watched, the first until %d; it should be %d, until %d", len(u.Watched), u.agenda.HealthDue, watched, due)
	}
	return nil
}

// CheckSpares checks the spares of pools against the nodes.
func (u *Upkeep) CheckSpares() error {
	sound := map[string]int{}
	if err := u.state.EachNode(func(n *record.Node) error {
		if n.Sound() {
			sound[n.Spec.Pool]++
		}
		return u.checkSpare(n, u.state.SparesOf(n.Spec.Pool))
	}); err != nil {
		return err
	}
	for _, p := range u.state.Spares {
		if p.Sound != sound[p.Pool] {
			return fmt.Errorf("pool %q: %d nodes count as sound, and %d are", p.Pool, p.Sound, sound[p.Pool])
		}
		if !u.agenda.SparesDue && u.mayTend(p) {
			return fmt.Errorf("pool %q has %d hot spares of %d, and no pass looks for more", p.Pool, p.Free(), p.Wanted())
		}
	}
	return nil
}

// checkSpare checks a node against the spares of its pool; nil: it has none.
func (u *Upkeep) checkSpare(n *record.Node, p *record.SparePool) error {
	switch {
	case p != nil && p.Reservation != nil && !p.Reservation.IsSpares():
		return fmt.Errorf("the reservation of hot spares is of another kind")
	case n.Trust.HotSpare != (p != nil && p.Reservation != nil && slices.Contains(n.Reservations, p.Reservation)):
		return fmt.Errorf("a hot spare: %v, and wrongly set aside", n.Trust.HotSpare)
	case n.Trust.HotSpare && (n.Trust.BurnInUntil != 0 || n.Trust.SpareInUse), n.Trust.HotSpare && len(n.Members) > 0 && !u.agenda.SparesDue:
		return fmt.Errorf("it is a hot spare, and in use or in burn-in")
	case n.Trust.SpareInUse && len(n.Members) == 0:
		return fmt.Errorf("it is a hot spare in use, and holds no member")
	case p != nil && n.Counted != n.Sound():
		return fmt.Errorf("sound: %v, and not counted so", n.Sound())
	}
	return nil
}

// SparesAmiss reports whether a pass finds spares to let go of, or others. A snapshot that was
// changed by hand may say that none is to look. O(nodes).
func (u *Upkeep) SparesAmiss() bool {
	used := func(n *record.Node) bool { return n != nil && n.Trust.HotSpare && len(n.Members) > 0 }
	return slices.ContainsFunc(u.state.Nodes, used) || slices.ContainsFunc(u.state.Spares, u.mayTend)
}

// mayTend reports whether a pool has more spares than it is to have, or fewer and a node that
// could be one.
func (u *Upkeep) mayTend(p *record.SparePool) bool {
	return p.Free() > p.Wanted() || p.Free() < p.Wanted() && slices.ContainsFunc(u.state.Nodes, func(n *record.Node) bool {
		return n != nil && n.Spec.Pool == p.Pool && u.state.MayStandBy(n) && u.mayKeep(n)
	})
}

// CheckLosses checks what is remembered of nodes that were lost, and that it is bounded.
func (u *Upkeep) CheckLosses() error {
	if n := len(u.losses.ByID); n > u.state.Config.Limits.Nodes {
		return fmt.Errorf("%d nodes that were lost are remembered", n)
	}
	return u.losses.Check()
}

// DescribeXid joins number, name and reason.
func DescribeXid(x *berth.Xid, reason string) string {
	what := fmt.Sprintf("Xid %d", x.Number)
	if x.Name != "" {
		what += ", " + x.Name
	}
	return values.Detail(what, reason)
}
