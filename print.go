package berth

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/internal/decimal"
	"github.com/berth-sched/berth/internal/errtext"
)

// Answers print for people, a line for each thing that they are about. These texts may change; a
// program reads the fields.

// String is the job, and a line for each of its replicas: where it is, or why it waits and what
// would help.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (queue %s, %v)", e.Job, e.Queue, e.Class)
	if e.Cancelled {
		b.WriteString(", cancelled")
	}
	for i := range e.Replicas {
		fmt.Fprintf(&b, "\n  %v: %v", ReplicaRef{e.Job, e.Replicas[i].Replica}, e.Replicas[i])
	}
	return b.String()
}

// some joins the first of a list, and says how many more there are.
func some[T any](list []T, separator, what string, text func(T) string) string {
	const shown = 4
	var parts []string
	for _, v := range list[:min(shown, len(list))] {
		parts = append(parts, text(v))
	}
	if more := len(list) - shown; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more %s", more, what))
	}
	return strings.Join(parts, separator)
}

// String is where the replica stands, since when, and on what nodes, or why it waits.
func (r ReplicaExplanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v since %v", r.State, r.Since)
	if r.Alike > 0 {
		fmt.Fprintf(&b, ", and so are %d more", r.Alike)
	}
	if r.Incarnation > 0 {
		fmt.Fprintf(&b, ", incarnation %d", r.Incarnation)
	}
	if r.Alternative > 0 {
		fmt.Fprintf(&b, ", as alternative %d", r.Alternative)
	}
	if !r.ExpectedEnd.IsZero() {
		fmt.Fprintf(&b, ", until %v as expected", r.ExpectedEnd)
	}
	if r.Position > 0 {
		fmt.Fprintf(&b, ", at position %d", r.Position)
	}
	if r.Instead.Job != "" {
		fmt.Fprintf(&b, ", before %v leaves", r.Instead)
	}
	if len(r.Members) > 0 {
		b.WriteString(": " + some(r.Members, "; ", "members", MemberPlacement.String))
	}
	if r.Departure != nil {
		fmt.Fprintf(&b, "\n    leaves: %s", r.Departure.Cause.Code)
		if r.Departure.Cause.Detail != "" {
			b.WriteString(", " + r.Departure.Cause.Detail)
		}
		if to := r.Departure.StandIn; to.Job != "" && len(r.Departure.To) > 0 {
			fmt.Fprintf(&b, "; %v starts on %s before it leaves", to, some(r.Departure.To, ", ", "nodes", func(id NodeID) string { return string(id) }))
		}
	}
	if w := r.Reason; w != nil {
		fmt.Fprintf(&b, "\n    waits: %v\n    would help: %s", w, w.Remedy)
		for _, a := range w.Alternatives {
			b.WriteString("; " + as(a.Alternative) + ": " + a.Remedy)
		}
		if !w.ExpectedStart.IsZero() {
			fmt.Fprintf(&b, "\n    is expected to start at %v", w.ExpectedStart)
		}
	}
	return b.String()
}

// as names what a job with alternatives may run as.
func as(alternative int) string {
	if alternative == 0 {
		return "as its own gang"
	}
	return fmt.Sprintf("as alternative %d", alternative)
}

// String is the fleet in a few lines, and one for each queue and each node that drains.
func (r FleetReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "at %v: %d nodes", r.Now, r.Nodes.All)
	for _, n := range []struct {
		many int
		what string
	}{{r.Nodes.Cordoned, "cordoned"}, {r.Nodes.Quarantined, "in quarantine"}, {r.Nodes.InBurnIn, "in burn-in"}, {r.Nodes.HotSpares, "hot spares"}} {
		if n.many > 0 {
			fmt.Fprintf(&b, ", %d %s", n.many, n.what)
		}
	}
	fmt.Fprintf(&b, "\n  GPUs: %v", r.GPUs)
	for _, c := range r.Resources {
		fmt.Fprintf(&b, "\n  %v", c)
	}
	c := r.Replicas
	fmt.Fprintf(&b, "\n  replicas: %d pending, %d binding, %d running, %d repairing, %d releasing", c.Pending, c.Binding, c.Running, c.Repairing, c.Releasing)
	for i := range r.Queues {
		fmt.Fprintf(&b, "\n  queue %s: %v", r.Queues[i].Queue, r.Queues[i])
	}
	for i := range r.Caps {
		fmt.Fprintf(&b, "\n  cap %v", r.Caps[i])
	}
	for _, d := range r.Draining {
		fmt.Fprintf(&b, "\n  node %s drains: %d members left", d.Node, d.MembersLeft)
	}
	return b.String()
}

// String says how far the cap is used up, as in "research, user ada: 2 of 2 jobs; 5 wait".
func (c CapReport) String() string {
	text := string(c.Queue)
	if c.PerUser {
		text += ", user " + cmp.Or(c.User, "unnamed")
	}
	text += ":"
	if c.MaxJobs > 0 {
		text += fmt.Sprintf(" %d of %d jobs", c.Jobs, c.MaxJobs)
	}
	if c.MaxGPUMilli > 0 {
		text += fmt.Sprintf(" %s of %s GPUs", decimal.Milli(c.GPUMilli), decimal.Milli(c.MaxGPUMilli))
	}
	return text + fmt.Sprintf("; %d wait", c.Waiting)
}

// String says how far the budget is used up, as in "research: 3.5 of 10 GPU-hours, used up at
// 2026-11-30T12:00:00Z, ends at 2026-12-01T00:00:00Z; 2 wait".
func (b BudgetReport) String() string {
	text := fmt.Sprintf("%s: %s of %s GPU-hours", b.Queue, decimal.Milli(b.UsedMilliHours), decimal.Milli(b.GPUMilliHours))
	for _, at := range []struct {
		what string
		at   Time
	}{{"begins", b.From}, {"used up", b.UsedUpAt}, {"ends", b.Until}} {
		if at.at != 0 {
			text += fmt.Sprintf(", %s at %v", at.what, at.at)
		}
	}
	return text + fmt.Sprintf("; %d wait", b.Waiting)
}

// String is the numbers of GPUs, as in "16, of which 8 held, 8 free".
func (c GPUCount) String() string {
	text := fmt.Sprintf("%s, of which %s held, %s free", decimal.Milli(c.AllMilli), decimal.Milli(c.HeldMilli), decimal.Milli(c.FreeMilli))
	if c.OutOfServiceMilli > 0 {
		text += ", " + decimal.Milli(c.OutOfServiceMilli) + " out of service"
	}
	if c.StrandedMilli > 0 {
		text += ", " + decimal.Milli(c.StrandedMilli) + " stranded"
	}
	return text
}

// String is the product with its numbers of GPUs.
func (c ProductCount) String() string { return c.Product + ": " + c.GPUCount.String() }

// String is what the queue uses, and may use.
func (q QueueReport) String() string {
	text := fmt.Sprintf("uses %s GPUs, %s guaranteed", decimal.Milli(q.UsedMilli), decimal.Milli(q.GuaranteedMilli))
	if q.Share != nil {
		text += q.Share.of(q.Share.GuaranteeShare)
	}
	if q.LimitMilli != nil {
		text += ", limit " + decimal.Milli(*q.LimitMilli)
		if q.Share != nil {
			text += q.Share.of(q.Share.LimitShare)
		}
	}
	if q.WaitingReplicas > 0 {
		text += fmt.Sprintf(", %d replicas wait", q.WaitingReplicas)
	}
	return text
}

// of says of what a share is.
func (s *QueueShare) of(share *int64) string {
	if share == nil {
		return ""
	}
	return fmt.Sprintf(" (%d thousandths of %s)", *share, decimal.Milli(s.OfMilli))
}

// String is the answer in a sentence, and a line for each move and victim.
func (p StartPlan) String() string {
	lines := []string{p.Text}
	for _, m := range p.Moves {
		lines = append(lines, "  move "+m.String())
	}
	for _, v := range p.Victims {
		lines = append(lines, "  evict "+v.String())
	}
	if p.Choice != nil {
		lines = append(lines, "  "+p.Choice.Text)
	}
	return strings.Join(lines, "\n")
}

// String is the gang, and where it goes.
func (m Move) String() string {
	return fmt.Sprintf("%v (%s GPUs) from %s to %s", ReplicaRef{m.Job, m.Replica}, decimal.Milli(m.GPUMilli), nodes(m.From), nodes(m.To))
}

func nodes(list []NodeID) string {
	return some(list, ", ", "nodes", func(n NodeID) string { return string(n) })
}

// String is the replica, and what it would give up.
func (v Victim) String() string {
	text := fmt.Sprintf("%v of queue %s (%s GPUs", ReplicaRef{v.Job, v.Replica}, v.Queue, decimal.Milli(v.GPUMilli))
	if v.Members > 0 {
		text += fmt.Sprintf(", %d members of it", v.Members)
	}
	if v.Cost > 0 {
		text += fmt.Sprintf(", at the cost of %v of a GPU", Duration(v.Cost))
	}
	return text + ")"
}

// String is the GPU, and a line for each kind of fault with what it takes with it.
func (r BlastRadius) String() string {
	text := fmt.Sprintf("GPU %d of node %s (%v)\n  a fault of the GPU: %s", r.GPU, r.Node, r.Mode, affected(r.Device))
	for _, p := range r.Processes {
		text += fmt.Sprintf("\n  a fault of a process of %v: %s", ReplicaRef{p.Job, p.Replica}, affected(p.Affected))
	}
	return text
}

func affected(list []AffectedReplica) string {
	if len(list) == 0 {
		return "nothing"
	}
	return some(list, "; ", "replicas", func(a AffectedReplica) string {
		text := fmt.Sprintf("%d members of %v", a.Members, ReplicaRef{a.Job, a.Replica})
		if a.Down {
			text += ", which is down then"
		}
		return text
	})
}

// String is the kind of the difference, and what it is.
func (d Difference) String() string { return string(d.Kind) + ": " + d.Text }

// String is what a member asks for, as in "8 GPUs, NVLink, 96 CPU, 1048576 MiB".
func (cl Claim) String() string {
	var parts []string
	switch {
	case cl.GPUs == 1:
		parts = append(parts, "1 GPU")
	case cl.GPUs > 0:
		parts = append(parts, fmt.Sprintf("%d GPUs", cl.GPUs))
	}
	if cl.NVLink {
		parts = append(parts, "NVLink")
	}
	if cl.MIG != "" {
		parts = append(parts, cl.MIG)
	}
	if f := cl.MinInstance; f != nil {
		parts = append(parts, fmt.Sprintf("an instance with %d SMs and %d MiB", f.MinSMs, f.MinMemoryMiB))
	}
	if s := cl.Share; s != nil {
		share := fmt.Sprintf("%s of a GPU (%v)", decimal.Milli(int64(s.GPUMilli)), s.Mode)
		if s.MemoryMiB > 0 {
			share += fmt.Sprintf(" with %d MiB", s.MemoryMiB)
		}
		parts = append(parts, share)
	}
	if b := cl.Borrow; b != nil {
		parts = append(parts, fmt.Sprintf("1 borrowed GPU with %d MiB", b.MemoryMiB))
	}
	for r, amount := range cl.Host() {
		if unit, milli := countable.Resource(r).Unit(); amount != 0 {
			text := strconv.FormatInt(amount, 10)
			if milli {
				text = decimal.Milli(amount)
			}
			parts = append(parts, text+" "+unit)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cl.Resources)) {
		parts = append(parts, fmt.Sprintf("%d %s", cl.Resources[name], errtext.Short(name)))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}
