package answer

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/life"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// Reason says why an entry waits.
func (an *Answers) Reason(e *record.Entry) berth.Reason {
	b := e.Bucket
	limits := an.limitsInTheWay(b)
	switch {
	case len(limits) > 0:
		return an.quotaReason(b.Queue.Index, limits)
	case b.Shape.BlockedAt >= 0:
		return an.capacityReason(e)
	case b.QuotaSlot >= 0 && !an.agenda.MayWake():
		return berth.Reason{
			Code: berth.ReasonQuota, Text: "a limit on one of the products that would do is reached",
			Remedy: "a higher limit on that product, or an end of something that uses it",
		}
	}
	return berth.Reason{
		Code: berth.ReasonTurn, Text: "nothing is known to be in the way",
		Remedy: "the next pass",
	}
}

// limitsInTheWay lists, from the queue up, the limits that forbid what is waited for.
func (an *Answers) limitsInTheWay(b *record.Bucket) []quota.Verdict {
	an.state.Compile(b.Shape)
	return an.state.Quota.InTheWay(nil, b.Queue.Index, b.Shape.Least)
}

func (an *Answers) quotaReason(asks quota.QueueIndex, limits []quota.Verdict) berth.Reason {
	reason := berth.Reason{Code: berth.ReasonQuota}
	for i, v := range limits {
		queue, also := an.state.Quota.Name(v.At), ""
		if i > 0 {
			also = ", and "
		}
		switch v.Kind {
		case quota.VerdictLimit:
		case quota.VerdictBorrowingLimit:
			reason.Text += fmt.Sprintf("%squeue %s uses %s of the %s that it is guaranteed or may borrow", also, queue, berth.Amount(v.Resource, v.Used), berth.Amount(v.Resource, v.Limit))
			reason.Remedy += fmt.Sprintf("%sa borrowing limit for queue %s that is %s higher", also, queue, berth.Amount(v.Resource, v.Used+v.Asked-v.Limit))
			continue
		case quota.VerdictLendingLimit:
			of, kept := an.state.Quota.WithheldBy(v)
			whose := ""
			if of != quota.NoQueue && !an.backlog.Below(asks, of) { // what is kept for itself it would have used
				whose = fmt.Sprintf(", %s of them for queue %s", berth.Amount(v.Resource, kept), an.state.Quota.Name(of))
			}
			reason.Text += fmt.Sprintf("%sof %s, %s are used and %s kept for queues that do not lend them%s",
				also, berth.Amount(v.Resource, v.Limit), berth.Amount(v.Resource, v.Used), berth.Amount(v.Resource, v.Withheld), whose)
			reason.Remedy += fmt.Sprintf("%slending limits that are %s higher", also, berth.Amount(v.Resource, min(v.Withheld, v.Used+v.Asked+v.Withheld-v.Limit)))
			continue
		}
		reason.Text += fmt.Sprintf("%squeue %s uses %s of its limit of %s", also, queue, berth.Amount(v.Resource, v.Used), berth.Amount(v.Resource, v.Limit))
		reason.Remedy += fmt.Sprintf("%sa limit of %s for queue %s", also, berth.Amount(v.Resource, v.Used+v.Asked), queue)
		if v.Asked <= v.Limit {
			reason.Remedy += fmt.Sprintf(" (or an end of what uses %s there)", berth.Amount(v.Resource, v.Used+v.Asked-v.Limit))
		}
	}
	reason.Text += fmt.Sprintf("; this needs %s more", berth.Amount(limits[0].Resource, limits[0].Asked))
	return reason
}

// capacityReason asks the search what is missing, where the entry may go.
func (an *Answers) capacityReason(e *record.Entry) berth.Reason {
	s := e.Bucket.Shape
	an.state.Compile(s)
	request, _ := an.search.Lift(e, &s.Minimum)
	reason, short := an.shortOf(e, request)
	if len(an.backlog.Reservations) > 0 && short {
		all := an.state.Widen(s.Spec.Groups, request, func(*record.Reservation) bool { return true })
		if other, still := an.shortOf(e, all); !still {
			reason = an.reservedReason(e)
		} else if reason.Code == berth.ReasonNoNodes || reason.Code == berth.ReasonTooLarge {
			reason = other
		}
	}
	if !short && len(an.backlog.Reservations) > 0 {
		reason.Text = "it would fit where nodes are set aside, and others are tried there before it"
		reason.Remedy = "the next change there, or an end of what is before it"
	}
	an.explainGeometry(e, request, &reason)
	if short {
		an.explainQuarantine(e, &reason)
	}
	if e.Rep.Reserved == nil && short && reason.Code != berth.ReasonNoNodes && reason.Code != berth.ReasonTooLarge {
		reason.ExpectedStart = an.search.ExpectedStart(e, request)
	}
	return reason
}

// shortOf says what is missing for a request to fit, and false if nothing is.
func (an *Answers) shortOf(e *record.Entry, request *gang.Request) (berth.Reason, bool) {
	for i := range request.Groups {
		if len(request.Groups[i].Classes) == 0 {
			reason := noNodes(e, i)
			reason.Levels = an.noFindings(request)
			return reason, true
		}
	}
	short, ok := an.state.Fleet.Diagnose(request)
	if !ok {
		return berth.Reason{Code: berth.ReasonTurn, Text: "it fits now", Remedy: "the next pass"}, false
	}
	if level := e.Rep.Job.Spec.Topology.Exclusive; level != "" && short.Bottleneck == gang.BottleneckNodes {
		return berth.Reason{
			Code:   berth.ReasonFragmented,
			Text:   fmt.Sprintf("no %s with a node that qualifies for %s is idle, and the gang wants it for itself", level, e.Describe(short.Group)),
			Remedy: fmt.Sprintf("a %s that nobody else uses, or a gang that shares", level),
		}, true
	}
	reason := an.shortageReason(e, request, &short)
	reason.Levels = an.findings(request)
	return reason, true
}

// reservedReason is for what would fit if nothing were set aside.
func (an *Answers) reservedReason(e *record.Entry) berth.Reason {
	end := an.state.EndIfPlaced(e.Rep)
	reason := berth.Reason{Code: berth.ReasonReserved}
	first := agenda.Never
	for _, w := range an.backlog.Reservations {
		if !an.backlog.Admits(w, e.Rep, end) {
			reason.Text += life.Separator(reason.Text) + an.describeReservation(w)
			if !w.IsNodeSet() {
				first = min(first, w.From)
			}
		}
	}
	reason.Text = "there is room, but it is set aside: " + reason.Text
	reason.Remedy = an.withoutKept(e, end)
	if left := first.Sub(an.state.Now); first > an.state.Now && first != agenda.Never && end != agenda.Never {
		reason.Remedy = fmt.Sprintf("an expected run time of at most %v, or %s", left, reason.Remedy)
	}
	return reason
}

// describeReservation names a reservation for a reader.
func (an *Answers) describeReservation(w *record.Reservation) string {
	switch {
	case w.IsNodeSet():
		return an.describeGPUHold(w)
	case w.IsAdvance() && w.From <= an.state.Now:
		return fmt.Sprintf("reservation %s for another %v", w.Advance.ID, w.Until.Sub(an.state.Now))
	case w.IsAdvance():
		return fmt.Sprintf("reservation %s in %v for %v", w.Advance.ID, w.From.Sub(an.state.Now), w.Until.Sub(w.From))
	case w.IsMove():
		return fmt.Sprintf("%d nodes for job %s, which moves there", len(w.Nodes), w.Rep.Job.Spec.ID)
	case w.IsAwaited():
		return fmt.Sprintf("%d nodes for job %s, which is expected to start in %v", len(w.Nodes), w.Rep.Job.Spec.ID, max(w.From.Sub(an.state.Now), 0))
	}
	return fmt.Sprintf("%d nodes that job %s has for itself", len(w.Nodes), w.Rep.Job.Spec.ID)
}

func noNodes(e *record.Entry, group int) berth.Reason {
	return berth.Reason{
		Code:   berth.ReasonNoNodes,
		Text:   "no node that takes work qualifies for " + e.Describe(group),
		Remedy: "a node, not cordoned, that matches the selector and carries what one member claims",
	}
}

func (an *Answers) shortageReason(e *record.Entry, request *gang.Request, short *gang.Shortfall) berth.Reason {
	what := e.Describe(short.Group)
	free := fmt.Sprintf("%d of %d members of %s fit now", min(short.Members, short.Needed), short.Needed, what)
	more := short.Needed - short.Members
	switch {
	case short.Bottleneck == gang.BottleneckNodes:
		return noNodes(e, short.Group)
	case short.IfIdle < short.Needed:
		relax := fmt.Sprintf("nodes for %d more", short.Needed-short.IfIdle)
		if short.IfIdle > 0 {
			relax += fmt.Sprintf(", or a minimum of %d members", short.IfIdle)
		}
		return berth.Reason{
			Code:   berth.ReasonTooLarge,
			Text:   fmt.Sprintf("%d members of %s are needed, and %d would fit if the fleet were idle", short.Needed, what, short.IfIdle),
			Remedy: relax,
		}
	case short.Bottleneck == gang.BottleneckGPUs:
		return berth.Reason{Code: berth.ReasonGPUs, Text: free, Remedy: fmt.Sprintf("free GPUs for %d more members, %s", more, e.Each(short.Group))}
	case short.Bottleneck == gang.BottleneckShares:
		return berth.Reason{Code: berth.ReasonShares, Text: free, Remedy: fmt.Sprintf("room for %d more shares", more)}
	case short.Bottleneck == gang.BottleneckInstances:
		return berth.Reason{Code: berth.ReasonInstances, Text: free, Remedy: fmt.Sprintf("instances for %d more members, %s", more, e.Each(short.Group))}
	}
	if r, ok := short.Bottleneck.Host(); ok {
		return berth.Reason{Code: berth.ReasonHost, Text: free + ": " + r.Words() + " is short", Remedy: fmt.Sprintf("%s for %d more members", r.Words(), more)}
	}
	return an.fragmentReason(request, short, free)
}

// fragmentReason is for what fits in pieces only.
func (an *Answers) fragmentReason(request *gang.Request, short *gang.Shortfall, free string) berth.Reason {
	tree := an.state.Fleet.Tree()
	where := tree.DomainString(short.Domain)
	switch {
	case short.Members < short.Needed:
		return berth.Reason{
			Code: berth.ReasonFragmented, Text: free + ", although there is enough of each resource",
			Remedy: fmt.Sprintf("GPUs, host CPU and memory free on the same nodes for %d more members", short.Needed-short.Members),
		}
	case short.MembersInDomain < short.Needed:
		required := max(request.Required, request.Groups[short.Group].Required)
		return berth.Reason{
			Code:   berth.ReasonFragmented,
			Text:   fmt.Sprintf("%s, but only %d of them in one %s (%s)", free, short.MembersInDomain, tree.LevelName(required), where),
			Remedy: fmt.Sprintf("no required level, or room for %d more members in %s", short.Needed-short.MembersInDomain, where),
		}
	}
	if len(request.Groups) > 1 {
		return berth.Reason{
			Code: berth.ReasonFragmented, Text: free + ", but not together with the other groups, or not in whole segments",
			Remedy: "more room for the groups side by side",
		}
	}
	return berth.Reason{
		Code: berth.ReasonFragmented, Text: free + " one by one, but not as its topology asks: in whole segments, on aligned rails, or spread",
		Remedy: "more room in the domains that levels names, or a topology that asks for less",
	}
}

// withoutKept says what would let an entry onto the nodes that are set aside. Each of the ways
// is named that suffices by itself.
func (an *Answers) withoutKept(e *record.Entry, end berth.Time) string {
	s := e.Bucket.Shape
	enough := func(open func(*record.Reservation) bool) bool {
		_, short := an.shortOf(e, an.state.Widen(s.Spec.Groups, &s.Minimum, func(w *record.Reservation) bool { return an.backlog.Admits(w, e.Rep, end) || open(w) }))
		return !short
	}
	var ways string
	add := func(way string) {
		if ways != "" {
			ways += ", or "
		}
		ways += way
	}
	if enough((*record.Reservation).IsSpares) {
		add("fewer spares in the policy")
	}
	if an.upkeep.BurnIn != nil && enough((*record.Reservation).IsBurnIn) {
		add("an end of the trial")
	}
	if ways == "" || enough(func(w *record.Reservation) bool { return !w.IsNodeSet() }) {
		add("an end of the reservations in the way")
	}
	return ways
}
