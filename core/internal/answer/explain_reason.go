package answer

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/life"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// Reason says why an entry waits.
func (an *Answers) Reason(e *record.Entry) berth.Reason {
	defer e.Rep.Job.Become(e.Assume())
	b := e.Bucket
	if limits := an.limitsInTheWay(b); len(limits) > 0 {
		return an.quotaReason(b.Queue.Index, limits, "")
	}
	if limits := an.limitsBesidePromises(e); len(limits) > 0 {
		return an.quotaReason(b.Queue.Index, limits, ", with what is to be free for others")
	}
	switch {
	case b.Shape.BlockedAt >= 0:
		return an.capacityReason(e)
	case b.QuotaSlot >= 0 && !an.agenda.MayWake():
		return berth.Reason{
			Code: berth.ReasonQuota, Text: "a limit on a GPU product that the job may use is reached",
			Remedy: "a higher limit on that product, or the end of a job that uses it",
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

// limitsBesidePromises is limitsInTheWay where room is being made for others: what that will use of
// the quota counts by then.
func (an *Answers) limitsBesidePromises(e *record.Entry) (limits []quota.Verdict) {
	if e.Rep.Reserved != nil || len(an.backlog.Reservations) == 0 {
		return nil
	}
	an.backlog.Earmark(true)
	if !an.backlog.Affords(e.Rep.Job.Queue, e.Bucket.Shape.Least) {
		limits = an.limitsInTheWay(e.Bucket)
	}
	an.backlog.Earmark(false)
	return limits
}

func (an *Answers) quotaReason(asks quota.QueueIndex, limits []quota.Verdict, beside string) berth.Reason {
	reason := berth.Reason{Code: berth.ReasonQuota}
	for i, v := range limits {
		queue, also := an.state.Quota.Name(v.At), ""
		if i > 0 {
			also = ", and "
		}
		switch v.Kind {
		case quota.VerdictLimit:
		case quota.VerdictNonPreemptible:
			reason.Text += fmt.Sprintf("%squeue %s uses %s of its guarantee of %s%s for jobs that are never preempted", also, queue, an.state.Amount(v.Resource, v.Used), an.state.Amount(v.Resource, v.Limit), an.shareOf(v.At, v.Resource, guaranteeOf))
			reason.Remedy += fmt.Sprintf("%sa guarantee of %s for queue %s, or a job that may be preempted", also, an.state.Amount(v.Resource, v.Used+v.Asked), queue)
			continue
		case quota.VerdictBorrowingLimit:
			reason.Text += fmt.Sprintf("%squeue %s uses %s of the %s that it is guaranteed%s or may borrow", also, queue, an.state.Amount(v.Resource, v.Used), an.state.Amount(v.Resource, v.Limit), an.shareOf(v.At, v.Resource, guaranteeOf))
			reason.Remedy += fmt.Sprintf("%sa borrowing limit for queue %s that is %s higher", also, queue, an.state.Amount(v.Resource, v.Used+v.Asked-v.Limit))
			continue
		case quota.VerdictLendingLimit:
			of, kept := an.state.Quota.WithheldBy(v)
			part := ""
			if of != quota.NoQueue && !an.state.Quota.Below(asks, of) { // a queue uses its own guarantee
				part = fmt.Sprintf(", %s of these to queue %s", an.state.Amount(v.Resource, kept), an.state.Quota.Name(of))
			}
			reason.Text += fmt.Sprintf("%sof %s, %s are used and %s are guaranteed to queues that do not lend them%s",
				also, an.state.Amount(v.Resource, v.Limit), an.state.Amount(v.Resource, v.Used), an.state.Amount(v.Resource, v.Withheld), part)
			reason.Remedy += fmt.Sprintf("%slending limits that are %s higher", also, an.state.Amount(v.Resource, min(v.Withheld, v.Used+v.Asked+v.Withheld-v.Limit)))
			continue
		}
		reason.Text += fmt.Sprintf("%squeue %s uses %s of its limit of %s%s", also, queue, an.state.Amount(v.Resource, v.Used), an.state.Amount(v.Resource, v.Limit), an.shareOf(v.At, v.Resource, limitOf))
		reason.Remedy += fmt.Sprintf("%sa limit of %s for queue %s", also, an.state.Amount(v.Resource, v.Used+v.Asked), queue)
		if v.Asked <= v.Limit {
			reason.Remedy += fmt.Sprintf(" (or the end of jobs that use %s there)", an.state.Amount(v.Resource, v.Used+v.Asked-v.Limit))
		}
	}
	reason.Text += fmt.Sprintf("%s; the job asks for %s", beside, an.state.Amount(limits[0].Resource, limits[0].Asked))
	return reason
}

func guaranteeOf(q *quota.Queue) quota.Thousandths { return q.GuaranteeShare }

func limitOf(q *quota.Queue) quota.Thousandths { return q.LimitShare }

// shareOf says of what a guarantee or a limit is a share; "": it is none.
func (an *Answers) shareOf(i quota.QueueIndex, r quota.Resource, stated func(*quota.Queue) quota.Thousandths) string {
	config := an.state.Quota.Config(i)
	share, is := stated(&config)[r]
	if !is {
		return ""
	}
	return fmt.Sprintf(" (%d thousandths of %s)", share, an.state.Amount(r, an.state.Quota.WholeOf(i, r)))
}

// capacityReason asks the search what is missing, where the entry may go.
func (an *Answers) capacityReason(e *record.Entry) berth.Reason {
	s := e.Bucket.Shape
	an.state.Compile(s)
	request, _ := an.search.WithReservedNodes(e, &s.Minimum)
	reason, short := an.shortOf(e, request)
	if len(an.backlog.Reservations) > 0 && short {
		all := an.state.Widen(&s.Spec, request, func(*record.Reservation) bool { return true })
		if other, still := an.shortOf(e, all); !still {
			reason = an.reservedReason(e)
		} else if reason.Code == berth.ReasonNoNodes || reason.Code == berth.ReasonTooLarge {
			reason = other
		}
	}
	if !short && len(an.backlog.Reservations) > 0 {
		reason.Text = "it would fit on nodes that are set aside, where other jobs are tried first"
		reason.Remedy = "a change on those nodes, or the end of the jobs ahead of it"
	}
	an.explainGeometry(e, request, &reason)
	if short && s.Borrows && reason.Code != berth.ReasonHost && reason.Code != berth.ReasonNoNodes && reason.Code != berth.ReasonReserved {
		an.explainLent(e, request, &reason)
	}
	if short {
		an.explainTaints(e, &reason)
		an.explainQuarantine(e, &reason)
	}
	return reason
}

// shortOf says what is missing for a request to fit, and false if nothing is.
func (an *Answers) shortOf(e *record.Entry, request *gang.Request) (berth.Reason, bool) {
	for i := range request.Groups {
		if len(request.Groups[i].Classes) == 0 {
			reason := an.noNodes(e, i)
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
			Text:   fmt.Sprintf("the gang needs a %s of its own, and none with a node that qualifies for %s is idle", level, an.describe(e, short.Group)),
			Remedy: fmt.Sprintf("an idle %s, or a gang that shares its %s", level, level),
		}, true
	}
	reason := an.shortageReason(e, request, &short)
	reason.Remedy += an.wouldMix(request)
	reason.Levels, reason.Products = an.findings(request), an.products(e, request)
	return reason, true
}

// reservedReason is for what would fit if nothing were set aside.
func (an *Answers) reservedReason(e *record.Entry) berth.Reason {
	end := an.state.EndIfPlaced(e.Rep)
	reason := berth.Reason{Code: berth.ReasonReserved}
	first := agenda.Never
	for _, res := range an.backlog.Reservations {
		if !an.backlog.Admits(res, e.Rep, end) {
			reason.Text += life.Separator(reason.Text) + an.describeReservation(res)
			if !res.IsNodeSet() {
				first = min(first, an.state.ClosedFrom(res))
			}
		}
	}
	reason.Text = "enough is free, but set aside: " + reason.Text
	reason.Remedy = an.reservedRemedy(e, end)
	if left := first.Sub(an.state.Now); first > an.state.Now && first != agenda.Never && end != agenda.Never {
		is := ""
		if length := e.Rep.Job.Learned; length != 0 {
			is = fmt.Sprintf(" (it is %v, as others of its kind ran)", length)
		}
		reason.Remedy = fmt.Sprintf("an expected run time of at most %v%s, or %s", left, is, reason.Remedy)
	}
	return reason
}

// describeReservation names a reservation for a reader.
func (an *Answers) describeReservation(res *record.Reservation) string {
	switch {
	case res.IsNodeSet():
		return an.describeNodeSet(res)
	case res.IsAdvance():
		return fmt.Sprintf("reservation %s, ", res.Advance.ID) + an.whenInForce(res)
	case res.IsMove():
		return fmt.Sprintf("%s for job %s, which moves there", count(len(res.Nodes), "node"), res.Rep.Job.Spec.ID)
	case res.IsAwaited():
		return fmt.Sprintf("%s for job %s, which is expected to start in %v", count(len(res.Nodes), "node"), res.Rep.Job.Spec.ID, max(an.state.ClearFrom(res).Sub(an.state.Now), 0))
	}
	return fmt.Sprintf("%s in the exclusive domain of job %s", count(len(res.Nodes), "node"), res.Rep.Job.Spec.ID)
}

// whenInForce says when a reservation that was made in advance is in force.
func (an *Answers) whenInForce(res *record.Reservation) string {
	again := ""
	if every := res.Advance.Every; every > 0 {
		again = fmt.Sprintf(", every %v", every)
	}
	if res.From <= an.state.Now {
		return fmt.Sprintf("for another %v", res.Until.Sub(an.state.Now)) + again
	}
	return fmt.Sprintf("which begins in %v and lasts %v", res.From.Sub(an.state.Now), res.Until.Sub(res.From)) + again
}

func (an *Answers) noNodes(e *record.Entry, group int) berth.Reason {
	labelled := ""
	if labels := e.Rep.Job.Spec.SameLabels; len(labels) > 0 {
		labelled = ", carries " + strings.Join(labels, ", ")
	}
	return berth.Reason{
		Code:   berth.ReasonNoNodes,
		Text:   "no schedulable node qualifies for " + an.describe(e, group),
		Remedy: "a node that is not cordoned, matches the selector" + labelled + " and can hold the claim of one member",
	}
}

func (an *Answers) shortageReason(e *record.Entry, request *gang.Request, short *gang.Shortfall) berth.Reason {
	if short.Part != nil {
		return an.partReason(e, short.Part)
	}
	what := an.describe(e, short.Group)
	free := an.fitting(e, short)
	if product := an.oneProduct(e, request, short); product != "" {
		what, free = what+" on "+product, free+" on "+product
	}
	more := count(short.Needed-short.Members, "more member")
	claim := an.each(e, short.Group, short.Needed-short.Members)
	switch {
	case short.Bottleneck == gang.BottleneckNodes:
		return an.noNodes(e, short.Group)
	case short.IfIdle < short.Needed, noDomain(e, short):
		return an.tooLarge(what, request, short)
	case short.Bottleneck == gang.BottleneckGPUs:
		return berth.Reason{Code: berth.ReasonGPUs, Text: free, Remedy: fmt.Sprintf("free GPUs for %s (%s)", more, claim)}
	case short.Bottleneck == gang.BottleneckShares:
		return berth.Reason{Code: berth.ReasonShares, Text: free, Remedy: "free shares for " + more}
	case short.Bottleneck == gang.BottleneckInstances:
		return berth.Reason{Code: berth.ReasonInstances, Text: free, Remedy: fmt.Sprintf("free instances for %s (%s)", more, claim)}
	}
	if r, ok := short.Bottleneck.Host(); ok {
		return berth.Reason{Code: berth.ReasonHost, Text: free + ": " + r.Words() + " is short", Remedy: fmt.Sprintf("free %s for %s", r.Words(), more)}
	}
	if i, ok := short.Bottleneck.Declared(); ok {
		name := an.state.Config.Resources[i].Name
		return berth.Reason{Code: berth.ReasonHost, Text: free + ": " + name + " is short", Remedy: fmt.Sprintf("free %s for %s", name, more)}
	}
	return an.fragmentReason(request, short, free)
}

// noDomain reports whether no domain of the level that a group requires is large enough for it. Of
// a gang with domains for itself that is not known: those in which others run do not count.
func noDomain(e *record.Entry, short *gang.Shortfall) bool {
	return short.IfIdleInDomain < short.Needed && e.Rep.Job.Spec.Topology.Exclusive == ""
}

// tooLarge is the reason of a gang that no end of a job helps: the nodes that take work are too
// few, on the whole fleet or in each domain of the level that the gang requires.
func (an *Answers) tooLarge(what string, request *gang.Request, short *gang.Shortfall) berth.Reason {
	most, within, where, remedy := short.IfIdle, "", "", ""
	if most >= short.Needed {
		tree := an.state.Fleet.Tree()
		required := request.Around(short.Group)
		most, within = short.IfIdleInDomain, " in one "+tree.LevelName(required)
		switch {
		case required == tree.NodeLevel():
			remedy = "a node for " + count(short.Needed, "member")
		case most > 0:
			where = " in " + tree.DomainString(short.LargestDomain)
		}
	}
	if remedy == "" {
		remedy = "nodes for " + count(short.Needed-most, "more member") + where
	}
	if within != "" {
		remedy += ", a job without a required level"
	}
	fit := "none"
	if most > 0 {
		fit = strconv.Itoa(most)
		remedy += ", or a minimum of " + count(most, "member")
	}
	return berth.Reason{
		Code:   berth.ReasonTooLarge,
		Text:   fmt.Sprintf("%s needs %s%s, and %s would fit%s if the fleet were idle", what, count(short.Needed, "member"), within, fit, where),
		Remedy: remedy,
	}
}

// fitting says how many of the members that a group needs fit now.
func (an *Answers) fitting(e *record.Entry, short *gang.Shortfall) string {
	what := an.describe(e, short.Group)
	switch fit := min(short.Members, short.Needed); {
	case fit == 0 && e.IsOneMember():
		return what + " does not fit now"
	case fit == 0 && short.Needed == 1:
		return fmt.Sprintf("no member of %s fits now", what)
	case fit == 0:
		return fmt.Sprintf("none of %d members of %s fits now", short.Needed, what)
	case fit == 1 && short.Needed > 1:
		return fmt.Sprintf("1 of %d members of %s fits now", short.Needed, what)
	default:
		return fmt.Sprintf("%d of %s of %s fit now", fit, count(short.Needed, "member"), what)
	}
}

// fragmentReason is for what fits in pieces only.
func (an *Answers) fragmentReason(request *gang.Request, short *gang.Shortfall, free string) berth.Reason {
	tree := an.state.Fleet.Tree()
	where := tree.DomainString(short.Domain)
	switch {
	case short.Members < short.Needed:
		all := "GPUs, host CPU and memory free on the same nodes for "
		if request.Groups[short.Group].Claim.Declared != nil {
			all = "all that a member claims free on one node, for "
		}
		return berth.Reason{
			Code: berth.ReasonFragmented, Text: free + ", although enough of each resource is free",
			Remedy: all + count(short.Needed-short.Members, "more member"),
		}
	case short.MembersInDomain < short.Needed:
		required := request.Around(short.Group)
		return berth.Reason{
			Code:   berth.ReasonFragmented,
			Text:   fmt.Sprintf("%s, but only %d of them in one %s that is large enough (%s)", free, short.MembersInDomain, tree.LevelName(required), where),
			Remedy: fmt.Sprintf("a job without a required level, or free capacity for %s in %s", count(short.Needed-short.MembersInDomain, "more member"), where),
		}
	}
	if len(request.Parts) > 0 {
		return an.partsReason(request)
	}
	if len(request.Groups) > 1 {
		return berth.Reason{
			Code: berth.ReasonFragmented, Text: free + ", but not together with the other groups, or not in whole segments",
			Remedy: "free capacity for all groups at the same time",
		}
	}
	return berth.Reason{
		Code: berth.ReasonFragmented, Text: free + " one by one, but not as its topology asks: in whole segments, on aligned rails, or spread",
		Remedy: "free capacity in the domains of the levels above, or weaker topology requirements",
	}
}

// reservedRemedy names the changes that would open the nodes that are set aside to an entry, each
// of which suffices by itself.
func (an *Answers) reservedRemedy(e *record.Entry, end berth.Time) string {
	s := e.Bucket.Shape
	enough := func(open func(*record.Reservation) bool) bool {
		_, short := an.shortOf(e, an.state.Widen(&s.Spec, &s.Minimum, func(res *record.Reservation) bool { return an.backlog.Admits(res, e.Rep, end) || open(res) }))
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
		add("fewer hot spares in the policy")
	}
	if an.upkeep.BurnIn != nil && enough((*record.Reservation).IsBurnIn) {
		add("the end of burn-in")
	}
	if ways == "" || enough(func(res *record.Reservation) bool { return !res.IsNodeSet() }) {
		add("the end of those reservations")
	}
	return ways
}
