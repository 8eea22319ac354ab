package core

import (
	"fmt"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/host"
	"github.com/berth-sched/berth/internal/decimal"
	"github.com/berth-sched/berth/quota"
)

// reason says why an entry waits.
func (c *Core) reason(e *entry) berth.Reason {
	b := e.bucket
	limits := c.limitsInTheWay(b)
	switch {
	case len(limits) > 0:
		return c.quotaReason(b.queue.index, limits)
	case b.shape.blockedAt >= 0:
		return c.capacityReason(e)
	case b.quotaSlot >= 0 && !c.agenda.mayWake():
		return berth.Reason{
			Code: berth.ReasonQuota, Text: "a limit on one of the products that would do is reached",
			Relax: "a higher limit on that product, or an end of something that uses it",
		}
	}
	return berth.Reason{
		Code: berth.ReasonTurn, Text: "nothing is known to be in the way",
		Relax: "the next pass",
	}
}

// limitsInTheWay lists, from the queue up, the limits that forbid what is waited for.
func (c *Core) limitsInTheWay(b *bucket) []quota.Verdict {
	c.compile(b.shape)
	return c.quota.InTheWay(nil, b.queue.index, b.shape.least)
}

func (c *Core) quotaReason(asks quota.Index, limits []quota.Verdict) berth.Reason {
	reason := berth.Reason{Code: berth.ReasonQuota}
	for i, v := range limits {
		queue, also := c.quota.Name(v.At), ""
		if i > 0 {
			also = ", and "
		}
		switch v.Kind {
		case quota.LimitReached:
		case quota.BorrowingReached:
			reason.Text += fmt.Sprintf("%squeue %s uses %s of the %s that it is guaranteed or may borrow", also, queue, berth.Amount(v.Resource, v.Used), berth.Amount(v.Resource, v.Limit))
			reason.Relax += fmt.Sprintf("%sa borrowing limit for queue %s that is %s higher", also, queue, berth.Amount(v.Resource, v.Used+v.Asked-v.Limit))
			continue
		case quota.CapacityKept:
			of, kept := c.quota.KeptFor(v)
			whose := ""
			if of != quota.None && !c.below(asks, of) { // what is kept for itself it would have used
				whose = fmt.Sprintf(", %s of them for queue %s", berth.Amount(v.Resource, kept), c.quota.Name(of))
			}
			reason.Text += fmt.Sprintf("%sof %s, %s are used and %s kept for queues that do not lend them%s",
				also, berth.Amount(v.Resource, v.Limit), berth.Amount(v.Resource, v.Used), berth.Amount(v.Resource, v.Kept), whose)
			reason.Relax += fmt.Sprintf("%slending limits that are %s higher", also, berth.Amount(v.Resource, min(v.Kept, v.Used+v.Asked+v.Kept-v.Limit)))
			continue
		}
		reason.Text += fmt.Sprintf("%squeue %s uses %s of its limit of %s", also, queue, berth.Amount(v.Resource, v.Used), berth.Amount(v.Resource, v.Limit))
		reason.Relax += fmt.Sprintf("%sa limit of %s for queue %s", also, berth.Amount(v.Resource, v.Used+v.Asked), queue)
		if v.Asked <= v.Limit {
			reason.Relax += fmt.Sprintf(" (or an end of what uses %s there)", berth.Amount(v.Resource, v.Used+v.Asked-v.Limit))
		}
	}
	reason.Text += fmt.Sprintf("; this needs %s more", berth.Amount(limits[0].Resource, limits[0].Asked))
	return reason
}

// capacityReason asks the search what is missing, where the entry may go.
func (c *Core) capacityReason(e *entry) berth.Reason {
	s := e.bucket.shape
	c.compile(s)
	request, _ := c.lift(e, &s.minimum)
	reason, short := c.shortOf(e, request)
	if len(c.windows) > 0 && short {
		all := c.widen(s.spec.Groups, request, func(*window) bool { return true })
		if other, still := c.shortOf(e, all); !still {
			reason = c.reservedReason(e)
		} else if reason.Code == berth.ReasonNoNodes || reason.Code == berth.ReasonTooLarge {
			reason = other
		}
	}
	if !short && len(c.windows) > 0 {
		reason.Text = "it would fit where nodes are set aside, and others are tried there before it"
		reason.Relax = "the next change there, or an end of what is before it"
	}
	c.explainGeometry(e, request, &reason)
	if short {
		c.explainProbation(e, &reason)
	}
	if e.rep.reserved == nil && short && reason.Code != berth.ReasonNoNodes && reason.Code != berth.ReasonTooLarge {
		reason.ExpectedStart = c.expectedStart(e, request)
	}
	return reason
}

// expectedStart is when a request is expected to fit: when enough of what runs has ended,
// or a reservation made in advance that is in the way; zero: unknown, or never.
func (c *Core) expectedStart(e *entry, request *gang.Request) berth.Time {
	at, _, ok := c.plan(request)
	for _, w := range c.windows {
		if !w.isAdvance() || w.Until <= c.now || ok && w.Until >= at {
			continue
		}
		over := c.widen(e.bucket.shape.spec.Groups, request, func(other *window) bool {
			return c.admits(other, e.rep, c.endIfPlaced(e.rep)) || other.Until <= w.Until
		})
		if c.find(over) {
			must(c.fleet.ReleaseAll(&c.placement))
			at, ok = w.Until, true
		}
	}
	if last, over := c.afterTrials(e, request); over && (!ok || last < at) {
		at, ok = last, true
	}
	if !ok {
		return 0
	}
	return max(at, c.now)
}

// shortOf says what is missing for a request to fit, and false if nothing is.
func (c *Core) shortOf(e *entry, request *gang.Request) (berth.Reason, bool) {
	for i := range request.Groups {
		if len(request.Groups[i].Classes) == 0 {
			reason := e.noNodes(i)
			reason.Levels = c.noFindings(request)
			return reason, true
		}
	}
	short, ok := c.fleet.Diagnose(request)
	if !ok {
		return berth.Reason{Code: berth.ReasonTurn, Text: "it fits now", Relax: "the next pass"}, false
	}
	if level := e.rep.job.spec.Topology.Exclusive; level != "" && short.Tightest == gang.Nodes {
		return berth.Reason{
			Code:  berth.ReasonFragmented,
			Text:  fmt.Sprintf("no %s with a node that qualifies for %s is idle, and the gang wants it for itself", level, e.describe(short.Group)),
			Relax: fmt.Sprintf("a %s that nobody else uses, or a gang that shares", level),
		}, true
	}
	reason := c.shortageReason(e, request, &short)
	reason.Levels = c.findings(request)
	return reason, true
}

// reservedReason is for what would fit if nothing were set aside.
func (c *Core) reservedReason(e *entry) berth.Reason {
	end := c.endIfPlaced(e.rep)
	reason := berth.Reason{Code: berth.ReasonReserved}
	first := never
	for _, w := range c.windows {
		if !c.admits(w, e.rep, end) {
			reason.Text += separator(reason.Text) + c.describeWindow(w)
			if !w.isKept() {
				first = min(first, w.From)
			}
		}
	}
	reason.Text = "there is room, but it is set aside: " + reason.Text
	reason.Relax = c.withoutKept(e, end)
	if left := first.Sub(c.now); first > c.now && first != never && end != never {
		reason.Relax = fmt.Sprintf("an expected run time of at most %v, or %s", left, reason.Relax)
	}
	return reason
}

func separator(text string) string {
	if text == "" {
		return ""
	}
	return "; "
}

// describeWindow names a window for a reader.
func (c *Core) describeWindow(w *window) string {
	switch {
	case w.isKept():
		return c.describeKept(w)
	case w.isAdvance() && w.From <= c.now:
		return fmt.Sprintf("reservation %s for another %v", w.advance.ID, w.Until.Sub(c.now))
	case w.isAdvance():
		return fmt.Sprintf("reservation %s in %v for %v", w.advance.ID, w.From.Sub(c.now), w.Until.Sub(w.From))
	case w.isMove():
		return fmt.Sprintf("%d nodes for job %s, which moves there", len(w.nodes), w.rep.job.spec.ID)
	case w.isReservation():
		return fmt.Sprintf("%d nodes for job %s, which is expected to start in %v", len(w.nodes), w.rep.job.spec.ID, max(w.From.Sub(c.now), 0))
	}
	return fmt.Sprintf("%d nodes that job %s has for itself", len(w.nodes), w.rep.job.spec.ID)
}

func (e *entry) noNodes(group int) berth.Reason {
	return berth.Reason{
		Code:  berth.ReasonNoNodes,
		Text:  "no node that takes work qualifies for " + e.describe(group),
		Relax: "a node, not cordoned, that matches the selector and carries what one member claims",
	}
}

func (c *Core) shortageReason(e *entry, request *gang.Request, short *gang.Shortage) berth.Reason {
	what := e.describe(short.Group)
	free := fmt.Sprintf("%d of %d members of %s fit now", min(short.Members, short.Needed), short.Needed, what)
	more := short.Needed - short.Members
	switch {
	case short.Tightest == gang.Nodes:
		return e.noNodes(short.Group)
	case short.IfIdle < short.Needed:
		relax := fmt.Sprintf("nodes for %d more", short.Needed-short.IfIdle)
		if short.IfIdle > 0 {
			relax += fmt.Sprintf(", or a minimum of %d members", short.IfIdle)
		}
		return berth.Reason{
			Code:  berth.ReasonTooLarge,
			Text:  fmt.Sprintf("%d members of %s are needed, and %d would fit if the fleet were idle", short.Needed, what, short.IfIdle),
			Relax: relax,
		}
	case short.Tightest == gang.GPUs:
		return berth.Reason{Code: berth.ReasonGPUs, Text: free, Relax: fmt.Sprintf("free GPUs for %d more members, %s", more, e.each(short.Group))}
	case short.Tightest == gang.Shares:
		return berth.Reason{Code: berth.ReasonShares, Text: free, Relax: fmt.Sprintf("room for %d more shares", more)}
	case short.Tightest == gang.Instances:
		return berth.Reason{Code: berth.ReasonInstances, Text: free, Relax: fmt.Sprintf("instances for %d more members, %s", more, e.each(short.Group))}
	case short.Tightest.OfHost():
		return berth.Reason{Code: berth.ReasonHost, Text: free + ": " + short.Tightest.String() + " is short", Relax: fmt.Sprintf("%s for %d more members", short.Tightest, more)}
	}
	return c.fragmentReason(request, short, free)
}

// fragmentReason is for what fits in pieces only.
func (c *Core) fragmentReason(request *gang.Request, short *gang.Shortage, free string) berth.Reason {
	tree := c.fleet.Tree()
	where := tree.DomainString(short.Domain)
	switch {
	case short.Members < short.Needed:
		return berth.Reason{
			Code: berth.ReasonFragmented, Text: free + ", although there is enough of each resource",
			Relax: fmt.Sprintf("GPUs, host CPU and memory free on the same nodes for %d more members", short.Needed-short.Members),
		}
	case short.MembersInDomain < short.Needed:
		required := max(request.Required, request.Groups[short.Group].Required)
		return berth.Reason{
			Code:  berth.ReasonFragmented,
			Text:  fmt.Sprintf("%s, but only %d of them in one %s (%s)", free, short.MembersInDomain, tree.LevelName(required), where),
			Relax: fmt.Sprintf("no required level, or room for %d more members in %s", short.Needed-short.MembersInDomain, where),
		}
	}
	if len(request.Groups) > 1 {
		return berth.Reason{
			Code: berth.ReasonFragmented, Text: free + ", but not together with the other groups, or not in whole segments",
			Relax: "more room for the groups side by side",
		}
	}
	return berth.Reason{
		Code: berth.ReasonFragmented, Text: free + " one by one, but not as its topology asks: in whole segments, on aligned rails, or spread",
		Relax: "more room in the domains that levels names, or a topology that asks for less",
	}
}

// describe names a group and its claim, as in "group workers (8 GPUs each)".
func (e *entry) describe(group int) string {
	each := e.each(group)
	if e.grows {
		group = e.group
	}
	if groups := e.rep.job.spec.Groups; len(groups) > 1 {
		return "group " + groups[group].Name + " (" + each + ")"
	}
	return "the gang (" + each + ")"
}

// each is what one member of a group claims.
func (e *entry) each(group int) string {
	cl := &e.bucket.shape.spec.Groups[group].Claim
	var parts []string
	if cl.GPUs > 0 {
		parts = append(parts, berth.Amount(quota.GPU, int64(cl.GPUs)*1000))
	}
	if cl.MIG != "" {
		parts = append(parts, "one "+cl.MIG+" instance")
	}
	if f := cl.Fraction; f != nil {
		parts = append(parts, describeFraction(f))
	}
	if cl.Share != nil {
		parts = append(parts, decimal.Milli(int64(cl.Share.Milli))+" of a GPU")
	}
	for r, v := range cl.Host() {
		if v > 0 {
			parts = append(parts, berth.Amount(quota.HostOf(host.Resource(r)), v))
		}
	}
	return strings.Join(parts, ", ") + " each"
}
