package berth

import (
	"fmt"
	"strings"

	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/host"
	"github.com/berth-sched/berth/quota"
)

// A Reason says why a replica waits for a place: for its gang, or for the rest of
// it.
type Reason struct {
	Code ReasonCode `json:"code"`
	// Text is the reason in a sentence, with its numbers.
	Text string `json:"text"`
	// Relax says what would let it start if nothing else changed.
	Relax string `json:"relax"`
	// Until is when the core looks at it again by itself; zero: when something
	// changes that could help.
	Until Time `json:"until,omitempty"`
	// Levels tells what was tried at each level of the topology, the narrowest first,
	// and what the domains there lacked.
	Levels []LevelFinding `json:"levels,omitempty"`
	// ExpectedStart is when it would fit if everything ended as expected and nobody
	// else came; zero: unknown, or never.
	ExpectedStart Time `json:"expectedStart,omitempty"`
	// Reserved is set if the gang has a reservation.
	Reserved *ReservationReport `json:"reserved,omitempty"`
	// Preemption says in a sentence how it stands with those who could make room for it.
	// Yielding are those who do; WouldYield those who would have to, if the policy did not
	// forbid it, it were worth it or the rates allowed it. Weighed is set if it is not worth
	// it.
	Preemption string     `json:"preemption,omitempty"`
	Yielding   []Yielding `json:"yielding,omitempty"`
	WouldYield []Yielding `json:"wouldYield,omitempty"`
	// Moves are those that would make room for it, if there are any: see Policy.Moves.
	Moves   []Move    `json:"moves,omitempty"`
	Weighed *Weighing `json:"weighed,omitempty"`
	// Kept is the GPU that is kept from others for it, until the instant in Until.
	Kept *GPURef `json:"kept,omitempty"`
}

// A GPURef names a GPU.
type GPURef struct {
	Node NodeID `json:"node"`
	GPU  int    `json:"gpu"`
}

// A LevelFinding says what the search found at one level.
type LevelFinding struct {
	Level string `json:"level"`
	// Domains is how many have a node that may serve the gang, Roomy how many of them
	// have GPUs enough for each group by itself.
	Domains int `json:"domains"`
	Roomy   int `json:"roomy"`
	// Lacking counts the domains in which it does not fit by the first thing that they
	// lack, in this order.
	Lacking []Lack `json:"lacking,omitempty"`
	// Best is the domain, by its path, or the node in which the most members fit: Fits of
	// the Needed ones.
	Best   string `json:"best,omitempty"`
	Fits   int    `json:"fits"`
	Needed int    `json:"needed"`
}

// A Lack counts the domains that lack something.
type Lack struct {
	// What: "health" (failed GPUs and cordoned nodes would do), "GPUs", "whole segments",
	// "host CPU", "host memory", "rails", "spread", "room for all groups".
	What    string `json:"what"`
	Domains int    `json:"domains"`
}

// A ReasonCode is a stable word for a reason.
type ReasonCode string

const (
	// ReasonTurn: nothing is known to be in the way; the next pass will try.
	ReasonTurn ReasonCode = "turn"
	// ReasonBackoff: a Bind failed, and the core waits before it tries again.
	ReasonBackoff ReasonCode = "backoff"
	// ReasonQuota: a limit of the queue, or of one above it, is in the way.
	ReasonQuota ReasonCode = "quota"
	// ReasonNoNodes: no node that takes work qualifies.
	ReasonNoNodes ReasonCode = "no-nodes"
	// ReasonTooLarge: it would not fit if the fleet were idle.
	ReasonTooLarge ReasonCode = "too-large"
	// ReasonGPUs: too few GPUs are free.
	ReasonGPUs ReasonCode = "gpus"
	// ReasonShares: too little is left of the GPUs that may be shared.
	ReasonShares ReasonCode = "shares"
	// ReasonInstances: too few instances of the profiles that would do are free.
	ReasonInstances ReasonCode = "instances"
	// ReasonHost: too little host CPU or memory is free where GPUs are.
	ReasonHost ReasonCode = "host"
	// ReasonGeometry: it would fit if GPUs were divided otherwise, and that is under way,
	// or may come to pass.
	ReasonGeometry ReasonCode = "geometry"
	// ReasonReserved: there is room, but it is set aside for others.
	ReasonReserved ReasonCode = "reserved"
	// ReasonFragmented: enough is free, but not together: not on the same nodes, or
	// not in one domain of the required level.
	ReasonFragmented ReasonCode = "fragmented"
)

// reason says why an entry waits.
func (c *Core) reason(e *entry) Reason {
	b := e.bucket
	limits := c.limitsInTheWay(b)
	switch {
	case len(limits) > 0:
		return c.quotaReason(b.queue.index, limits)
	case b.shape.blockedAt >= 0:
		return c.capacityReason(e)
	case b.quotaSlot >= 0 && !c.agenda.mayWake():
		return Reason{
			Code: ReasonQuota, Text: "a limit on one of the products that would do is reached",
			Relax: "a higher limit on that product, or an end of something that uses it",
		}
	}
	return Reason{
		Code: ReasonTurn, Text: "nothing is known to be in the way",
		Relax: "the next pass",
	}
}

// limitsInTheWay lists, from the queue up, the limits that forbid what is waited for.
func (c *Core) limitsInTheWay(b *bucket) []quota.Verdict {
	c.compile(b.shape)
	return c.quota.InTheWay(nil, b.queue.index, b.shape.least)
}

func (c *Core) quotaReason(asks quota.Index, limits []quota.Verdict) Reason {
	reason := Reason{Code: ReasonQuota}
	for i, v := range limits {
		queue, also := c.quota.Name(v.At), ""
		if i > 0 {
			also = ", and "
		}
		switch v.Kind {
		case quota.LimitReached:
		case quota.BorrowingReached:
			reason.Text += fmt.Sprintf("%squeue %s uses %s of the %s that it is guaranteed or may borrow", also, queue, amount(v.Resource, v.Used), amount(v.Resource, v.Limit))
			reason.Relax += fmt.Sprintf("%sa borrowing limit for queue %s that is %s higher", also, queue, amount(v.Resource, v.Used+v.Asked-v.Limit))
			continue
		case quota.CapacityKept:
			of, kept := c.quota.KeptFor(v)
			whose := ""
			if of != quota.None && !c.below(asks, of) { // what is kept for itself it would have used
				whose = fmt.Sprintf(", %s of them for queue %s", amount(v.Resource, kept), c.quota.Name(of))
			}
			reason.Text += fmt.Sprintf("%sof %s, %s are used and %s kept for queues that do not lend them%s",
				also, amount(v.Resource, v.Limit), amount(v.Resource, v.Used), amount(v.Resource, v.Kept), whose)
			reason.Relax += fmt.Sprintf("%slending limits that are %s higher", also, amount(v.Resource, min(v.Kept, v.Used+v.Asked+v.Kept-v.Limit)))
			continue
		}
		reason.Text += fmt.Sprintf("%squeue %s uses %s of its limit of %s", also, queue, amount(v.Resource, v.Used), amount(v.Resource, v.Limit))
		reason.Relax += fmt.Sprintf("%sa limit of %s for queue %s", also, amount(v.Resource, v.Used+v.Asked), queue)
		if v.Asked <= v.Limit {
			reason.Relax += fmt.Sprintf(" (or an end of what uses %s there)", amount(v.Resource, v.Used+v.Asked-v.Limit))
		}
	}
	reason.Text += fmt.Sprintf("; this needs %s more", amount(limits[0].Resource, limits[0].Asked))
	return reason
}

// amount prints an amount of a resource in the unit that people use, as in
// "7.5 GPUs".
func amount(r quota.Resource, v int64) string {
	if product, ok := strings.CutPrefix(string(r), string(quota.GPU)+":"); ok {
		return milli(v) + " " + product
	}
	unit, inMilli := "GPU", true
	if h, ok := r.Host(); ok {
		unit, inMilli = h.Unit()
	}
	switch {
	case !inMilli:
		return fmt.Sprintf("%d %s", v, unit)
	case v == 1000:
		return "1 " + unit
	}
	return milli(v) + " " + unit + "s"
}

// milli prints thousandths as a decimal fraction without trailing zeros.
func milli(v int64) string {
	if v%1000 == 0 {
		return fmt.Sprint(v / 1000)
	}
	return strings.TrimRight(fmt.Sprintf("%d.%03d", v/1000, v%1000), "0")
}

// capacityReason asks the search what is missing, where the entry may go.
func (c *Core) capacityReason(e *entry) Reason {
	s := e.bucket.shape
	c.compile(s)
	request, _ := c.lift(e, &s.minimum)
	reason, short := c.shortOf(e, request)
	if len(c.windows) > 0 && short {
		all := c.widen(s.spec.Groups, request, func(*window) bool { return true })
		if other, still := c.shortOf(e, all); !still {
			reason = c.reservedReason(e)
		} else if reason.Code == ReasonNoNodes || reason.Code == ReasonTooLarge {
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
	if e.rep.reserved == nil && short && reason.Code != ReasonNoNodes && reason.Code != ReasonTooLarge {
		reason.ExpectedStart = c.expectedStart(e, request)
	}
	return reason
}

// expectedStart is when a request is expected to fit: when enough of what runs has ended,
// or a reservation made in advance that is in the way; zero: unknown, or never.
func (c *Core) expectedStart(e *entry, request *gang.Request) Time {
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
func (c *Core) shortOf(e *entry, request *gang.Request) (Reason, bool) {
	for i := range request.Groups {
		if len(request.Groups[i].Classes) == 0 {
			reason := e.noNodes(i)
			reason.Levels = c.noFindings(request)
			return reason, true
		}
	}
	short, ok := c.fleet.Diagnose(request)
	if !ok {
		return Reason{Code: ReasonTurn, Text: "it fits now", Relax: "the next pass"}, false
	}
	if level := e.rep.job.spec.Topology.Exclusive; level != "" && short.Tightest == gang.Nodes {
		return Reason{
			Code:  ReasonFragmented,
			Text:  fmt.Sprintf("no %s with a node that qualifies for %s is idle, and the gang wants it for itself", level, e.describe(short.Group)),
			Relax: fmt.Sprintf("a %s that nobody else uses, or a gang that shares", level),
		}, true
	}
	reason := c.shortageReason(e, request, &short)
	reason.Levels = c.findings(request)
	return reason, true
}

// reservedReason is for what would fit if nothing were set aside.
func (c *Core) reservedReason(e *entry) Reason {
	end := c.endIfPlaced(e.rep)
	reason := Reason{Code: ReasonReserved}
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

func (e *entry) noNodes(group int) Reason {
	return Reason{
		Code:  ReasonNoNodes,
		Text:  "no node that takes work qualifies for " + e.describe(group),
		Relax: "a node, not cordoned, that matches the selector and carries what one member claims",
	}
}

func (c *Core) shortageReason(e *entry, request *gang.Request, short *gang.Shortage) Reason {
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
		return Reason{
			Code:  ReasonTooLarge,
			Text:  fmt.Sprintf("%d members of %s are needed, and %d would fit if the fleet were idle", short.Needed, what, short.IfIdle),
			Relax: relax,
		}
	case short.Tightest == gang.GPUs:
		return Reason{Code: ReasonGPUs, Text: free, Relax: fmt.Sprintf("free GPUs for %d more members, %s", more, e.each(short.Group))}
	case short.Tightest == gang.Shares:
		return Reason{Code: ReasonShares, Text: free, Relax: fmt.Sprintf("room for %d more shares", more)}
	case short.Tightest == gang.Instances:
		return Reason{Code: ReasonInstances, Text: free, Relax: fmt.Sprintf("instances for %d more members, %s", more, e.each(short.Group))}
	case short.Tightest.OfHost():
		return Reason{Code: ReasonHost, Text: free + ": " + short.Tightest.String() + " is short", Relax: fmt.Sprintf("%s for %d more members", short.Tightest, more)}
	}
	return c.fragmentReason(request, short, free)
}

// fragmentReason is for what fits in pieces only.
func (c *Core) fragmentReason(request *gang.Request, short *gang.Shortage, free string) Reason {
	tree := c.fleet.Tree()
	where := tree.DomainString(short.Domain)
	switch {
	case short.Members < short.Needed:
		return Reason{
			Code: ReasonFragmented, Text: free + ", although there is enough of each resource",
			Relax: fmt.Sprintf("GPUs, host CPU and memory free on the same nodes for %d more members", short.Needed-short.Members),
		}
	case short.MembersInDomain < short.Needed:
		required := max(request.Required, request.Groups[short.Group].Required)
		return Reason{
			Code:  ReasonFragmented,
			Text:  fmt.Sprintf("%s, but only %d of them in one %s (%s)", free, short.MembersInDomain, tree.LevelName(required), where),
			Relax: fmt.Sprintf("no required level, or room for %d more members in %s", short.Needed-short.MembersInDomain, where),
		}
	}
	if len(request.Groups) > 1 {
		return Reason{
			Code: ReasonFragmented, Text: free + ", but not together with the other groups, or not in whole segments",
			Relax: "more room for the groups side by side",
		}
	}
	return Reason{
		Code: ReasonFragmented, Text: free + " one by one, but not as its topology asks: in whole segments, on aligned rails, or spread",
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
		parts = append(parts, amount(quota.GPU, int64(cl.GPUs)*1000))
	}
	if cl.MIG != "" {
		parts = append(parts, "one "+cl.MIG+" instance")
	}
	if f := cl.Fraction; f != nil {
		parts = append(parts, f.describe())
	}
	if cl.Share != nil {
		parts = append(parts, milli(int64(cl.Share.Milli))+" of a GPU")
	}
	for r, v := range cl.Host() {
		if v > 0 {
			parts = append(parts, amount(quota.HostOf(host.Resource(r)), v))
		}
	}
	return strings.Join(parts, ", ") + " each"
}
