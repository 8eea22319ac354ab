package upkeep

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/internal/limits"
)

// Welcome puts a node that joins in quarantine or burn-in, if it was lost before.
func (u *Upkeep) Welcome(n *record.Node) {
	h := &u.state.Config.Policy.Health
	u.losses.Forget(u.state.Now, u.state.Config.Limits.Nodes)
	r := u.losses.ByID[n.Spec.ID]
	if r == nil || !values.RemembersLosses(h) {
		return
	}
	recent := 0
	for _, at := range r.Losses {
		if at.Add(h.Within) > u.state.Now {
			recent++
		}
	}
	from := u.state.Now
	if h.Losses > 0 && recent >= h.Losses {
		from = u.state.Now.Add(h.Quarantine << r.Quarantines)
		r.Quarantines = min(r.Quarantines+1, limits.MaxDoublings)
		u.state.Totals.Quarantines++
		u.keepOut(n, from)
	}
	u.BeginBurnIn(n, from)
}

// keepOut puts a node in quarantine: it takes no work, as if it were cordoned.
func (u *Upkeep) keepOut(n *record.Node, until berth.Time) {
	n.Trust.Become(record.NodeKeptOut, until)
	u.Cordon(n, n.Cordoned, n.Reason)
	u.Watch(n)
}

// BeginBurnIn puts a node in burn-in from an instant on, if the policy says so. Plans that count on
// it count on a trusted node, and end.
func (u *Upkeep) BeginBurnIn(n *record.Node, from berth.Time) {
	length := u.state.Config.Policy.Health.BurnIn
	if length == 0 {
		return
	}
	u.state.Totals.BurnIns++
	u.beginBurnIn(n, max(n.Trust.BurnInUntil, from.Add(length)))
}

func (u *Upkeep) beginBurnIn(n *record.Node, until berth.Time) {
	u.leaveSpares(n, record.SpareLetGo)
	n.Trust.Become(record.NodeTried, until)
	u.backlog.EndGangReservationsOn(n)
	if u.BurnIn == nil {
		u.backlog.NewNodeSet(&u.BurnIn, record.KindBurnIn, burnInName)
	}
	u.backlog.JoinNodeSet(u.BurnIn, n)
	u.Watch(n)
}

// burnInName names the reservation of the nodes in burn-in.
const burnInName = "trial"

// Distrust keeps the quarantine and burn-in of a node that is described anew.
func (u *Upkeep) Distrust(n, old *record.Node) {
	n.Trust.Inherit(old.Trust)
	u.Watch(n)
}

// Watch makes a pass look at a node in quarantine or burn-in when that is over, or no
// longer at one that is not.
func (u *Upkeep) Watch(n *record.Node) {
	at, watched := slices.BinarySearchFunc(u.Watched, n, record.CompareNodes)
	switch is := n.Trust.QuarantineUntil != 0 || n.Trust.BurnInUntil != 0; {
	case is && !watched:
		u.Watched = slices.Insert(u.Watched, at, n)
	case !is && watched:
		u.Watched = slices.Delete(u.Watched, at, at+1)
	}
	first := agenda.Never
	for _, n := range u.Watched {
		if n.Trust.QuarantineUntil != 0 {
			first = min(first, n.Trust.QuarantineUntil)
		}
		if n.Trust.BurnInUntil != 0 {
			first = min(first, n.Trust.BurnInUntil)
		}
	}
	u.agenda.WatchUntil(first)
}

// TrustAgain ends the quarantines and burn-ins that are over, and forgets the losses that
// are.
func (u *Upkeep) TrustAgain() {
	u.losses.Forget(u.state.Now, u.state.Config.Limits.Nodes)
	if u.state.Now < u.agenda.HealthDue {
		return
	}
	for _, n := range slices.Clone(u.Watched) {
		if n.Trust.QuarantineUntil != 0 && n.Trust.QuarantineUntil <= u.state.Now {
			u.endQuarantine(n)
		}
		if n.Trust.BurnInUntil != 0 && n.Trust.BurnInUntil <= u.state.Now {
			u.endBurnIn(n)
		}
	}
}

func (u *Upkeep) endQuarantine(n *record.Node) {
	n.Trust.Become(record.QuarantineOver, 0)
	u.Watch(n)
	u.Cordon(n, n.Cordoned, n.Reason)
	u.state.Freed(n)
	u.agenda.Grew(u.state.Now)
}

func (u *Upkeep) endBurnIn(n *record.Node) {
	n.Trust.Become(record.BurnInOver, 0)
	u.Watch(n)
	u.backlog.LeaveNodeSet(u.BurnIn, n)
}

// Vouch ends what keeps a node from being trusted.
func (u *Upkeep) Vouch(n *record.Node) {
	if n.Trust.QuarantineUntil != 0 {
		u.endQuarantine(n)
	}
	if n.Trust.BurnInUntil != 0 {
		u.endBurnIn(n)
	}
}

// Reconsider does what a changed policy says about hardware that is not trusted: what it does
// not know any more is over; else what has begun lasts for as long as was said then.
func (u *Upkeep) Reconsider() {
	h := &u.state.Config.Policy.Health
	for _, n := range slices.Clone(u.Watched) {
		if n.Trust.QuarantineUntil != 0 && h.Losses == 0 {
			u.endQuarantine(n)
		}
		if n.Trust.BurnInUntil != 0 && h.BurnIn == 0 {
			u.endBurnIn(n)
		}
	}
	if !values.RemembersLosses(h) {
		u.losses.Clear()
	}
}

// Cordon notes whether and why a node is cordoned. It takes work only if nothing else keeps it
// closed.
func (u *Upkeep) Cordon(n *record.Node, cordoned bool, reason string) {
	n.Cordoned, n.Reason = cordoned, reason
	u.books.SetSchedulable(n, !n.Closed())
	u.books.Recount(n, n.CapacityNow())
	u.CountSound(n)
}

// SetDraining notes whether a node is being drained.
func (u *Upkeep) SetDraining(n *record.Node, drains bool) {
	if n.Draining != drains {
		n.Draining = drains
		u.agenda.CountDraining(drains)
	}
}

// Forget forgets how far a node that goes was trusted.
func (u *Upkeep) Forget(n *record.Node) {
	n.Trust.Forget()
	u.Watch(n)
}
