package script

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/decimal"
	"github.com/berth-sched/berth/mig"
)

// join makes a list of names as in a script.
func join[T ~string](names []T) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = string(name)
	}
	return strings.Join(texts, "|")
}

// clock prints an instant as the span since the script began.
func clock(t berth.Time) string { return t.Sub(0).String() }

// gpusHeld is an amount of GPUs in words, as in "1 GPU" and "0.4 GPUs".
func gpusHeld(milli int64) string {
	if milli == 1000 {
		return "1 GPU"
	}
	return decimal.Milli(milli) + " GPUs"
}

// plural counts things, as in "1 member" and "2 members".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (s *Session) printOrders(orders []berth.Order) {
	for _, order := range orders {
		s.print("%s", describe(order))
	}
	if len(orders) == 0 {
		s.print("no orders")
	}
}

// describe prints an order on one line.
func describe(order berth.Order) string {
	h := order.Header()
	var b strings.Builder
	fmt.Fprintf(&b, "#%d %s", h.ID, order.Kind())
	if h.Job != "" {
		fmt.Fprintf(&b, " %s/%d", h.Job, h.Replica)
	}
	if h.Incarnation > 0 {
		fmt.Fprintf(&b, " incarnation %d", h.Incarnation)
	}
	if r, ok := order.(berth.Release); ok && r.Attempt > 1 {
		fmt.Fprintf(&b, " attempt %d", r.Attempt)
	}
	fmt.Fprintf(&b, " (%s", h.Cause.Code)
	if h.Cause.Beneficiary.Job != "" {
		fmt.Fprintf(&b, " for %s/%d", h.Cause.Beneficiary.Job, h.Cause.Beneficiary.Replica)
	}
	if h.Cause.Detail != "" {
		fmt.Fprintf(&b, ": %s", h.Cause.Detail)
	}
	b.WriteByte(')')
	switch a := order.(type) {
	case berth.Bind:
		if a.Alternative > 0 {
			fmt.Fprintf(&b, " as alternative %d", a.Alternative)
		}
		if a.Instead.Job != "" {
			fmt.Fprintf(&b, " before %v leaves", a.Instead)
		}
		b.WriteString(": " + cmp.Or(places(a.Members), "all members lost") + after(a.After))
	case berth.Repartition:
		b.WriteString(": " + steps(&a))
	case berth.Release:
		b.WriteString(": " + places(a.Members) + remaining(&a))
	case berth.Withdraw:
		fmt.Fprintf(&b, ": #%d", a.Request)
	case berth.WarnIdle:
		b.WriteString(": " + idleness(&berth.Idleness{Since: a.Since, ActiveMilli: a.ActiveMilli, Until: a.Until}))
	}
	if h.Deadline != 0 {
		b.WriteString(" by " + clock(h.Deadline))
	}
	return b.String()
}

// idleness prints since when a replica leaves idle what it holds, and what comes of that.
func idleness(i *berth.Idleness) string {
	text := fmt.Sprintf("%s%% active since %s", decimal.Milli(100*int64(i.ActiveMilli)), clock(i.Since))
	if i.Warned != 0 {
		text += ", warned at " + clock(i.Warned)
	}
	if i.Until != 0 {
		text += ", due at " + clock(i.Until)
	}
	return text
}

// remaining prints the members that a shrunken gang continues with, and the beneficiaries of its
// surplus if there are several.
func remaining(r *berth.Release) string {
	var sizes []string
	for _, s := range r.Remaining {
		sizes = append(sizes, strings.TrimSpace(fmt.Sprintf("%s %d", s.Group, s.Members)))
	}
	text := ""
	if len(sizes) > 0 {
		text = ", continues with " + strings.Join(sizes, " and ")
	}
	for _, y := range r.SurplusEvictions {
		if len(r.SurplusEvictions) > 1 {
			text += fmt.Sprintf(", %d for %s/%d", len(y.Members), y.Beneficiary.Job, y.Beneficiary.Replica)
		}
	}
	return text
}

// places prints where members are, group by group: "driver n1 workers n2[0-7]".
func places(members []berth.MemberPlacement) string {
	var b strings.Builder
	group, next := "", 0
	for i := range members {
		p := &members[i]
		if i > 0 {
			b.WriteByte(' ')
		}
		if p.Group != group {
			b.WriteString(p.Group + " ")
			group, next = p.Group, 0
		}
		if p.Index != next {
			fmt.Fprintf(&b, "%d:", p.Index)
		}
		next = p.Index + 1
		b.WriteString(place(p))
	}
	return b.String()
}

func place(p *berth.MemberPlacement) string {
	switch {
	case p.GPUs == 0:
		return string(p.Node)
	case p.Instance != mig.Placement{}:
		return fmt.Sprintf("%s[%s:%s]", p.Node, p.GPUs, p.Instance)
	case p.Borrowed:
		return fmt.Sprintf("%s[%s:borrowed]", p.Node, p.GPUs)
	case p.ShareMilli > 0:
		return fmt.Sprintf("%s[%s:%d]", p.Node, p.GPUs, p.ShareMilli)
	}
	return fmt.Sprintf("%s[%s]", p.Node, p.GPUs)
}

func (s *Session) printExplanation(e *berth.Explanation) {
	for i := range e.Replicas {
		r := &e.Replicas[i]
		line := fmt.Sprintf("%s/%d %s", e.Job, r.Replica, r.State)
		if r.Incarnation > 0 {
			line += fmt.Sprintf(" incarnation %d", r.Incarnation)
		}
		if r.Alternative > 0 {
			line += fmt.Sprintf(" as alternative %d", r.Alternative)
		}
		line += " since " + clock(r.Since)
		if r.ExpectedEnd != 0 {
			line += " until about " + clock(r.ExpectedEnd)
		}
		if r.RunsUntil != 0 {
			line += ", at most until " + clock(r.RunsUntil)
		}
		if r.Alike > 0 {
			line += fmt.Sprintf(", as %d more up to %s/%d", r.Alike, e.Job, r.Replica+r.Alike)
		}
		if r.Order != 0 {
			line += fmt.Sprintf(", order #%d is out", r.Order)
		}
		if len(r.Members) > 0 {
			line += ": " + places(r.Members)
		}
		s.print("%s", line)
		if r.Beneficiary.Job != "" {
			s.print("  is being evicted for %s/%d", r.Beneficiary.Job, r.Beneficiary.Replica)
		}
		if r.LentMilli > 0 || len(r.Borrowers) > 0 {
			s.print("  lends %s gpus, borrowed by %v", decimal.Milli(r.LentMilli), r.Borrowers)
		}
		if r.GiveBackBy != 0 {
			s.print("  gives back by %s", clock(r.GiveBackBy))
		}
		if r.Idleness != nil {
			s.print("  is idle: %s", idleness(r.Idleness))
		}
		for _, c := range r.Requeues {
			s.print("  came back because of %s: %d times", c.Cause, c.Times)
		}
		if r.Departure != nil {
			s.print("  %s", departure(r.Departure))
		}
		if r.Instead.Job != "" {
			s.print("  starts before %v leaves", r.Instead)
		}
		if r.BlastRadius != nil {
			s.print("  %s", shared(r.BlastRadius))
		}
		if r.Reason != nil {
			s.printReason(r.Reason)
		}
	}
	if len(e.Replicas) == 0 {
		s.print("%s has no replicas", e.Job)
	}
}

func (s *Session) printReason(r *berth.Reason) {
	if r.Alternative > 0 {
		s.print("  as alternative %d:", r.Alternative)
	}
	s.print("  %s: %s", r.Code, r.Text)
	for i := range r.Levels {
		s.print("  %s", finding(&r.Levels[i]))
	}
	for i := range r.Products {
		s.print("  %s", ofProduct(&r.Products[i]))
	}
	s.print("  would help: %s", r.Remedy)
	for i := range r.Alternatives {
		a := &r.Alternatives[i]
		what := "its own gang"
		if a.Alternative > 0 {
			what = fmt.Sprintf("alternative %d", a.Alternative)
		}
		s.print("  or as %s: %s: %s", what, a.Code, a.Text)
		s.print("    would help: %s", a.Remedy)
		s.expected("    ", a.ExpectedStart)
	}
	s.victims(r)
	s.printMoves(r.Moves)
	if r.GPUHold != nil {
		s.print("  GPU held for it: %s", heldFor(r))
	}
	if r.Until != 0 {
		s.print("  tried again at %s", clock(r.Until))
	}
	s.expected("  ", r.ExpectedStart)
	if r.Reservation != nil {
		s.print("  reservation: %s", reserved(r.Reservation))
	}
}

// expected prints when something is expected to start, if that is known.
func (s *Session) expected(indent string, f berth.Forecast) {
	if f.IsZero() {
		return
	}
	earliest := ""
	if f.Earliest < f.Middle {
		earliest = ", at the earliest at " + clock(f.Earliest)
	}
	s.print("%sexpected to start at %s%s, late at %s", indent, clock(f.Middle), earliest, clock(f.Late))
}

// victims prints the victims of a preemption, actual and potential.
func (s *Session) victims(r *berth.Reason) {
	if r.Preemption != "" && len(r.Victims)+len(r.PotentialVictims)+len(r.Protected) > 0 {
		s.print("  %s", r.Preemption)
	}
	for _, list := range [...]struct {
		what string
		of   []berth.Victim
	}{{"victim", r.Victims}, {"potential victim", r.PotentialVictims}} {
		for i := range list.of {
			y := &list.of[i]
			line := list.what + ": " + victim(y)
			if r.Weighing != nil {
				line += fmt.Sprintf(", would lose %v of GPU time", berth.Duration(y.Cost))
			}
			s.print("    %s", line)
		}
	}
}

// victim prints a victim, and when it stops at the latest.
func victim(y *berth.Victim) string {
	line := fmt.Sprintf("%s/%d of queue %s, %s", y.Job, y.Replica, y.Queue, gpusHeld(y.GPUMilli))
	if y.Members > 0 {
		line += ", " + plural(y.Members, "member")
	}
	if y.Deadline != 0 {
		line += ", by " + clock(y.Deadline)
	}
	return line
}

// bandwidth prints what the placement of a job is expected to give, as in "all-reduce 45
// GB/s of 50 GB/s, tensor 450 GB/s".
func (s *Session) bandwidth(rest string) error {
	id, number, err := parseReplica(rest)
	if err != nil {
		return err
	}
	r, _ := s.replica(id, number)
	switch b := r.Bandwidth; {
	case b == nil:
		s.print("it has no GPUs of its own")
	default:
		s.print("all-reduce %v of %v, tensor %v", b.AllReduce, b.Best, b.Tensor)
	}
	return nil
}

// ofProduct prints what one product could hold.
func ofProduct(f *berth.ProductFinding) string {
	text := "product " + f.Product
	if f.Group != "" {
		text += " for " + f.Group
	}
	for _, key := range slices.Sorted(maps.Keys(f.Labels)) {
		text += fmt.Sprintf(", %s=%s", key, f.Labels[key])
	}
	text += fmt.Sprintf(": %d of %d members fit", f.MembersFit, f.MembersNeeded)
	if f.Short != "" {
		text += ", short of " + f.Short
	}
	return text
}

// finding prints what a search found at one level, as in "level leaf: 1 of 4 have
// enough GPUs; 3 short of GPUs; the best, l2, fits 2 members".
func finding(f *berth.LevelFinding) string {
	line := fmt.Sprintf("level %s: %d of %d have enough GPUs", f.Level, f.DomainsLargeEnough, f.Domains)
	for _, l := range f.Shortfalls {
		line += fmt.Sprintf("; %d short of %s", l.Domains, l.What)
	}
	if f.Best != "" {
		line += fmt.Sprintf("; the best, %s, fits %s", f.Best, plural(f.MembersFit, "member"))
	}
	return line
}

func (s *Session) fleet() error {
	r := s.core.Report()
	s.print("nodes %d, cordoned %d", r.Nodes.All, r.Nodes.Cordoned)
	s.print("gpus %s", count(&r.GPUs))
	for _, c := range r.Resources {
		s.print("%v", c)
	}
	if len(r.Products) > 1 {
		for i := range r.Products {
			s.print("%s %s", r.Products[i].Product, count(&r.Products[i].GPUCount))
		}
	}
	s.partitioned(r.Partitioned)
	var free []string
	for k, n := range r.NodesByFreeGPUs {
		if k > 0 && n > 0 {
			free = append(free, fmt.Sprintf("%d with %d", n, k))
		}
	}
	if len(free) > 0 {
		s.print("nodes with free gpus: %s", strings.Join(free, ", "))
	}
	s.printCounts("replicas", []counted{
		{"pending", r.Replicas.Pending},
		{"binding", r.Replicas.Binding},
		{"running", r.Replicas.Running},
		{"repairing", r.Replicas.Repairing},
		{"releasing", r.Replicas.Releasing},
	})
	s.printCounts("waiting", []counted{
		{"ready", r.Waiting.Ready},
		{"capacity", r.Waiting.Capacity},
		{"quota", r.Waiting.Quota},
		{"backoff", r.Waiting.Backoff},
		{"gated", r.Waiting.Gated},
		{"budget", r.Waiting.Budget},
	})
	for i := range r.Queues {
		s.printQueue(&r.Queues[i])
	}
	for i := range r.Caps {
		s.print("cap %v", r.Caps[i])
	}
	for i := range r.Budgets {
		s.printBudget(&r.Budgets[i])
	}
	s.printActivity(&r)
	return nil
}

// printActivity prints what is held and what is in use, once some activity was told.
func (s *Session) printActivity(r *berth.FleetReport) {
	if r.Activity.ToldMilli == 0 {
		return
	}
	show := func(what string, a *berth.ActivityCount) {
		line := fmt.Sprintf("%s: %s of %s told gpus active", what, decimal.Milli(a.ActiveMilli), decimal.Milli(a.ToldMilli))
		if a.IdleMilli > 0 {
			line += ", idle " + decimal.Milli(a.IdleMilli)
		}
		s.print("%s, of %s held", line, decimal.Milli(a.HeldMilli))
	}
	for i := range r.Queues {
		show("use by queue "+string(r.Queues[i].Queue), &r.Queues[i].Activity)
	}
	for i := range r.Tenants {
		show("use by tenant "+cmp.Or(string(r.Tenants[i].Tenant), "none"), &r.Tenants[i].ActivityCount)
	}
	for i := range r.Pools {
		show("use in pool "+cmp.Or(r.Pools[i].Pool, "none"), &r.Pools[i].ActivityCount)
	}
	for i := range r.Idle {
		o := &r.Idle[i]
		s.print("idle: %s/%d of queue %s, %s, %s", o.Job, o.Replica, o.Queue, gpusHeld(o.GPUMilli), idleness(&o.Idleness))
	}
}

func count(c *berth.GPUCount) string {
	text := fmt.Sprintf("%s: held %s, free %s, out of service %s, stranded %s",
		decimal.Milli(c.AllMilli), decimal.Milli(c.HeldMilli), decimal.Milli(c.FreeMilli), decimal.Milli(c.OutOfServiceMilli), decimal.Milli(c.StrandedMilli))
	if c.LendableMilli > 0 || c.BorrowedMilli > 0 {
		text += fmt.Sprintf(", lendable %s, borrowed %s", decimal.Milli(c.LendableMilli), decimal.Milli(c.BorrowedMilli))
	}
	return text
}

type counted struct {
	what string
	n    int
}

// printCounts prints those that are not zero, if any is not.
func (s *Session) printCounts(title string, list []counted) {
	var parts []string
	for _, c := range list {
		if c.n != 0 {
			parts = append(parts, fmt.Sprintf("%s %d", c.what, c.n))
		}
	}
	if len(parts) > 0 {
		s.print("%s: %s", title, strings.Join(parts, ", "))
	}
}

// shareOf says of what a guarantee or a limit is a share; "": it is none.
func shareOf(share *int64, ofMilli int64) string {
	if share == nil {
		return ""
	}
	return fmt.Sprintf(" (%d thousandths of %s)", *share, decimal.Milli(ofMilli))
}

func (s *Session) printQueue(q *berth.QueueReport) {
	line := fmt.Sprintf("queue %s: uses %s gpus", q.Queue, decimal.Milli(q.UsedMilli))
	if q.LimitMilli != nil {
		line += " of " + decimal.Milli(*q.LimitMilli)
	}
	share := cmp.Or(q.Share, &berth.QueueShare{})
	line += shareOf(share.LimitShare, share.OfMilli)
	if q.GuaranteedMilli > 0 || share.GuaranteeShare != nil {
		line += ", guaranteed " + decimal.Milli(q.GuaranteedMilli) + shareOf(share.GuaranteeShare, share.OfMilli)
	}
	if q.WaitingReplicas > 0 {
		line += fmt.Sprintf(", %d waiting", q.WaitingReplicas)
	}
	if q.OverLimitSince != 0 {
		line += fmt.Sprintf(", over a limit since %v", berth.Duration(q.OverLimitSince))
	}
	s.print("%s", line)
}

// printBudget prints how far a budget is used up.
func (s *Session) printBudget(b *berth.BudgetReport) {
	line := fmt.Sprintf("budget %s: %s of %s gpu-hours, uses %s gpus", b.Queue, decimal.Milli(b.UsedMilliHours), decimal.Milli(b.GPUMilliHours), decimal.Milli(b.UsedMilli))
	if b.From != 0 {
		line += ", begins at " + clock(b.From)
	}
	if b.UsedUpAt != 0 {
		line += ", used up at " + clock(b.UsedUpAt)
	}
	if b.Until != 0 {
		line += ", ends at " + clock(b.Until)
	}
	if b.Waiting > 0 {
		line += fmt.Sprintf("; %d wait", b.Waiting)
	}
	s.print("%s", line)
}

func (s *Session) totals() error {
	t := s.core.Report().Totals
	s.printCounts("jobs", []counted{
		{"submitted", int(t.JobsAdmitted)},
		{"started", int(t.ReplicasStarted)},
		{"finished", int(t.JobsFinished)},
		{"cancelled", int(t.JobsCancelled)},
		{"dropped", int(t.JobsDropped)},
		{"overrun", int(t.JobsOverrun)},
		{"idle", int(t.JobsIdle)},
	})
	s.printCounts("orders", []counted{
		{"binds", int(t.Binds)},
		{"binds failed", int(t.BindsFailed)},
		{"releases", int(t.Releases)},
		{"checkpoints requested", int(t.CheckpointsRequested)},
		{"withdrawn", int(t.RequestsWithdrawn)},
		{"evicted", int(t.ReplicasEvicted)},
		{"shrunk", int(t.ReplicasShrunk)},
		{"over a limit", int(t.ReplicasOverLimit)},
		{"out of budget", int(t.ReplicasOutOfBudget)},
		{"moves", int(t.Moves)},
		{"repartitions", int(t.Repartitions)},
		{"repartitions for members", int(t.RepartitionsForMembers)},
		{"GPU holds", int(t.GPUHolds)},
		{"expired", int(t.OrdersExpired)},
		{"presumed dead", int(t.ReplicasPresumedDead)},
		{"reservations", int(t.Reservations)},
		{"reservations expired", int(t.ReservationsExpired)},
		{"backfilled", int(t.ReplicasBackfilled)},
		{"placement attempts", int(t.PlacementAttempts)},
	})
	return nil
}
