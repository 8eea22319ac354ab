package sim_test

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
)

// This file says what happens, in an event or in a pass, to GPUs, to nodes that are set aside, and
// to the trust in nodes.

func (o *observer) followModes(t *turn) error {
	if t.refused != nil {
		return o.refusedMode(t)
	}
	for _, id := range ofBoth(t.before.nodes, t.after.nodes, cmp.Compare) {
		gpus := 0
		for _, n := range []*nodeView{t.before.nodes[id], t.after.nodes[id]} {
			if n != nil {
				gpus = max(gpus, len(n.Node.GPUs))
			}
		}
		for gpu := range gpus {
			at := gpuRef{id, gpu}
			if err := o.modes.follow(at, t.before.mode(id, gpu), t.after.mode(id, gpu), t.toldMode(at)...); err != nil {
				return err
			}
			if want := t.reportedMode(at); want != "" && t.after.mode(id, gpu) != want {
				return fmt.Errorf("GPU %v is %s, and was reported to be %s", at, t.after.mode(id, gpu), want)
			}
		}
	}
	return nil
}

// reportedMode is the mode in which a GPU is after a report about a Repartition of it: as ordered,
// or as it was; "": there is none.
func (t *turn) reportedMode(at gpuRef) string {
	a, e := t.reported()
	if r, ok := a.(berth.Repartition); !ok || at != (gpuRef{r.Node, r.GPU}) {
		return ""
	} else if e.Outcome == berth.OutcomeDone {
		return r.Mode.String()
	}
	for _, g := range t.before.nodes[at.node].GPUs {
		if g.GPU == at.gpu {
			return g.Before.Mode.String()
		}
	}
	return ""
}

// toldMode is what an event or a pass is to a GPU.
func (t *turn) toldMode(at gpuRef) []signal {
	var signals []signal
	on := func(id berth.NodeID, gpu int, event string) {
		if at.node == id && (gpu < 0 || at.gpu == gpu) {
			signals = append(signals, signal{event, must})
		}
	}
	switch e := t.event.(type) {
	case nil:
		for _, due := range t.overdue() {
			on(due.node, due.gpu, "repartition deadline")
		}
		for _, a := range t.actions {
			if r, ok := a.(berth.Repartition); ok {
				on(r.Node, r.GPU, "repartition")
			}
		}
	case berth.NodeJoined:
		if t.before.nodes[e.Node.ID] == nil || t.refused != nil { // else its agent registers again
			on(e.Node.ID, -1, "nodeJoined")
		}
	case berth.NodeUpdated:
		on(e.Node.ID, -1, "nodeUpdated")
	case berth.NodeLost:
		on(e.Node, -1, "nodeLost")
	case berth.GPUPartitioned:
		on(e.Node, e.GPU, "gpuPartitioned")
	case berth.GPUFailed:
		on(e.Node, e.GPU, "gpuFailed")
	case berth.XidReported:
		if t.condemns(e) {
			on(e.Node, e.GPU, "gpuFailed")
		}
	case berth.JobObserved:
		for _, r := range e.Running {
			for _, m := range r.Members {
				if m.GPUs.Has(at.gpu) {
					on(m.Node, at.gpu, "observed")
				}
			}
		}
	case berth.OrderReported:
		if r, ok := t.orders[e.Order].(berth.Repartition); ok {
			on(r.Node, r.GPU, "repartition "+e.Outcome.String())
		}
		if b, ok := t.orders[e.Order].(berth.Bind); ok && t.before.mode(at.node, at.gpu) == "unknown" {
			for _, m := range b.Members {
				if m.GPUs.Has(at.gpu) {
					on(m.Node, at.gpu, "bind reported")
				}
			}
		}
	}
	return signals
}

func (o *observer) refusedMode(t *turn) error {
	kind := refusalOf(t.refused)
	if kind != "conflict" {
		return nil
	}
	switch e := t.event.(type) {
	case berth.NodeUpdated:
		held := false
		for _, g := range t.before.gangs {
			held = held || g.on(e.Node.ID, -1)
		}
		for gpu := range t.before.nodes[e.Node.ID].Node.GPUs {
			if t.before.mode(e.Node.ID, gpu) == "changing" && !held {
				return o.modes.refused(e, "changing", "nodeUpdated", kind)
			}
		}
	case berth.GPUPartitioned:
		return o.modes.refused(e, t.before.mode(e.Node, e.GPU), "gpuPartitioned", kind)
	case berth.OrderReported:
		if r, ok := t.orders[e.Order].(berth.Repartition); ok {
			return o.modes.refused(r.ID, t.before.mode(r.Node, r.GPU), "repartition "+e.Outcome.String(), kind)
		}
	}
	return nil
}

func (o *observer) followHealth(t *turn) error {
	if t.refused != nil {
		return nil
	}
	for _, id := range ofBoth(t.before.nodes, t.after.nodes, cmp.Compare) {
		from, to := t.before.nodes[id].trust(), t.after.nodes[id].trust()
		if err := o.health.follow(id, from, to, t.toldHealth(id)...); err != nil {
			return err
		}
	}
	return nil
}

// toldHealth is what an event or a pass is to the trust in a node.
func (t *turn) toldHealth(id berth.NodeID) []signal {
	before, after := t.before.nodes[id], t.after.nodes[id]
	is := func(node berth.NodeID, event string) []signal {
		if node == id {
			return []signal{{event, must}}
		}
		return nil
	}
	var signals []signal
	switch e := t.event.(type) {
	case nil:
		signals = t.passedHealth(before, after)
	case berth.NodeJoined:
		if t.before.nodes[e.Node.ID] == nil || t.refused != nil {
			return is(e.Node.ID, "nodeJoined")
		}
	case berth.NodeLost:
		return is(e.Node, "nodeLost")
	case berth.NodeUpdated:
		signals = is(e.Node.ID, "nodeUpdated")
	case berth.NodeUncordoned:
		if before != nil && !before.Cordoned {
			signals = is(e.Node, "nodeUncordoned")
		}
	case berth.GPUFailed:
		signals = is(e.Node, "gpuFailed")
	case berth.XidReported:
		if t.condemns(e) {
			signals = is(e.Node, "gpuFailed")
		}
	case berth.GPURepaired:
		if t.before.failed(e.Node, e.GPU) {
			signals = is(e.Node, "gpuRepaired")
		}
	case berth.PolicyChanged:
		signals = is(id, "policyChanged")
	}
	if before != nil && before.SpareInUse && !after.SpareInUse {
		signals = append(signals, signal{"empty", may})
	}
	return signals
}

func (t *turn) passedHealth(before, after *nodeView) []signal {
	var signals []signal
	if until := before.QuarantineUntil; until != 0 && until <= t.now {
		signals = append(signals, signal{"quarantine over", must})
	}
	if until := before.BurnInUntil; until != 0 && until <= t.now {
		signals = append(signals, signal{"burn-in over", must})
	}
	if before.HotSpare {
		if after.SpareInUse {
			signals = append(signals, signal{"used", may})
		} else {
			signals = append(signals, signal{"let go", may})
		}
	}
	if before.SpareInUse {
		signals = append(signals, signal{"empty", may})
	}
	if after.HotSpare {
		signals = append(signals, signal{"chosen", may})
	}
	return signals
}

func (o *observer) followReservations(t *turn) error {
	if e, ok := t.event.(berth.ReservationRemoved); ok && t.refused != nil {
		return o.reservations.refused(e.Reservation, "-", "reservationRemoved", refusalOf(t.refused))
	}
	if t.refused != nil {
		return nil
	}
	for _, ref := range ofBoth(t.before.gangs, t.after.gangs, compareRefs) {
		before, after := t.before.gangs[ref], t.after.gangs[ref]
		from, w := before.aside()
		to, _ := after.aside()
		if err := o.reservations.follow(ref, from, to, t.toldAside(ref, w)...); err != nil {
			return err
		}
		if err := o.reservations.follow(ref, before.alone(), after.alone(), t.toldAlone(ref)...); err != nil {
			return err
		}
	}
	if err := o.followAdvance(t); err != nil {
		return err
	}
	return o.followKept(t)
}

// alone is exclusive for a gang that has its domains for itself.
func (g *gangView) alone() string {
	if g == nil || len(g.Exclusive) == 0 {
		return "-"
	}
	return "exclusive"
}

// toldAlone is what an event or a pass is to the exclusive domains of a gang.
func (t *turn) toldAlone(ref berth.ReplicaRef) []signal {
	after := t.after.gangs[ref]
	if after.alone() == "-" {
		return []signal{{"release", may}}
	}
	if _, observes := t.event.(berth.JobObserved); observes {
		return []signal{{"enclose", may}}
	}
	var signals []signal
	if before := t.before.gangs[ref]; before != nil && before.Incarnation != after.Incarnation {
		signals = append(signals, signal{"release", may})
	}
	for _, a := range t.about(ref) {
		if a.Kind() == "bind" {
			signals = append(signals, signal{"enclose", must})
		}
	}
	return signals
}

// changedNode is the node that an event is about.
func (t *turn) changedNode() (berth.NodeID, bool) {
	if at, fails := t.failedChange(); fails {
		return at.node, true
	}
	switch e := t.event.(type) {
	case berth.NodeUpdated:
		return e.Node.ID, true
	case berth.NodeCordoned:
		return e.Node, true
	case berth.NodeDraining:
		return e.Node, true
	case berth.NodeLost:
		return e.Node, true
	case berth.GPUFailed:
		return e.Node, true
	case berth.XidReported:
		return e.Node, true
	case berth.GPURepaired:
		return e.Node, true
	case berth.GPUPartitioned:
		return e.Node, true
	}
	return "", false
}

// toldAside is what an event or a pass may be to what is set aside for a gang. No report tells why
// a reservation ended, so that the reason is inferred from what can be seen.
func (t *turn) toldAside(ref berth.ReplicaRef, w *asideView) []signal {
	if t.event == nil {
		return t.passedAside(ref, w)
	}
	if w == nil {
		return nil
	}
	after := t.after.gangs[ref]
	end := "called off"
	node, changed := t.changedNode()
	switch t.event.(type) {
	case berth.ReservationSet, berth.JobObserved:
		end = "overtaken"
	default:
		if after == nil || after.Gone {
			end = "gang ends"
		} else if changed && slices.Contains(w.Nodes, node) {
			end = "node changes"
		}
	}
	waits := "waits"
	if after != nil && after.ReadyAt != 0 {
		waits = "backs off"
	}
	if t.before.gangs[ref].State == berth.ReplicaPending || after.state() != "pending" {
		return []signal{{end, may}}
	}
	if w.Partial && waits == "backs off" {
		return []signal{{waits, must}}
	}
	return []signal{{end, may}, {waits, may}}
}

// passedAside is toldAside for a pass. It looks at what shows why a reservation ended.
func (t *turn) passedAside(ref berth.ReplicaRef, w *asideView) []signal {
	before, after := t.before.gangs[ref], t.after.gangs[ref]
	var signals []signal
	waits := before != nil && before.Moving != nil && before.Moving.Until > t.now && before.ReadyAt <= t.now // else it is over first, or backs off yet
	if waits && (after == nil || after.State == berth.ReplicaPending || after.Incarnation != before.Incarnation) {
		signals = append(signals, signal{"waits", may})
	}
	end := "called off"
	switch {
	case after == nil || after.Gone:
		end = "gang ends"
	case w != nil && slices.ContainsFunc(t.overdue(), func(at gpuRef) bool { return slices.Contains(w.Nodes, at.node) }):
		end = "node changes"
	case w != nil && (len(w.Where) == 0 && !w.Partial || t.overtaken(ref, w)): // nothing else ends one that is pending
		end = "overtaken"
	}
	for _, a := range t.about(ref) {
		if a.Kind() == "bind" {
			end = "bind"
		}
	}
	from, _ := before.aside()
	to, made := after.aside()
	switch {
	case w != nil && w.Until <= t.now:
		signals = append(signals, signal{"until", must})
	case to == "preemption" && from != "preemption", to == "move" && from != "move", to == "backoff" && from != "backoff" && from != "move": // it ends what was before
	default:
		signals = append(signals, signal{end, may})
	}
	if made != nil && made.Until <= t.now {
		return signals // it should be over
	}
	switch to {
	case "pending":
		signals = append(signals, signal{"reserve", may})
	case "preemption":
		signals = append(signals, signal{"plan evictions", may})
	case "move", "backoff":
		signals = append(signals, signal{"keep place", may})
	case "resume":
		if before.ReadyAt != 0 && before.ReadyAt <= t.now { // kept for the end of its backoff, which has come
			signals = append(signals, signal{"keep place", may}, signal{"waits", may})
		}
	case "partialMove":
		signals = append(signals, signal{"keep part", may})
	}
	return signals
}

// overtaken reports whether somebody has come to what was set aside for a gang.
func (t *turn) overtaken(ref berth.ReplicaRef, w *asideView) bool {
	for _, a := range t.actions {
		if b, ok := a.(berth.Bind); ok && slices.ContainsFunc(b.Members, func(p berth.MemberPlacement) bool { return slices.Contains(w.Nodes, p.Node) }) {
			return true
		}
	}
	for other, g := range t.after.gangs {
		_, then := t.before.gangs[other].aside()
		_, now := g.aside()
		fresh := other != ref && now != nil && (then == nil || !slices.Equal(now.Nodes, then.Nodes))
		if fresh && slices.ContainsFunc(now.Nodes, func(id berth.NodeID) bool { return slices.Contains(w.Nodes, id) }) ||
			g.GPUHold != nil && slices.Contains(w.Nodes, g.GPUHold.Node) { // a GPU hold
			return true
		}
	}
	return slices.ContainsFunc(w.Nodes, func(id berth.NodeID) bool {
		return t.after.nodes[id] != nil && t.after.nodes[id].HotSpare && !t.before.nodes[id].HotSpare
	})
}

func (o *observer) followAdvance(t *turn) error {
	list := func(v *view) map[berth.ReservationID]berth.Time {
		m := map[berth.ReservationID]berth.Time{}
		for _, r := range v.Reservations {
			m[r.Reservation.ID] = r.Reservation.Until
		}
		return m
	}
	before, after := list(t.before), list(t.after)
	state := func(m map[berth.ReservationID]berth.Time, id berth.ReservationID) string {
		if _, there := m[id]; there {
			return "advance"
		}
		return "-"
	}
	for _, id := range ofBoth(before, after, cmp.Compare) {
		var signals []signal
		switch e := t.event.(type) {
		case nil:
			if before[id] <= t.now {
				signals = append(signals, signal{"until", must})
			}
		case berth.ReservationSet:
			if e.Reservation.ID == id {
				signals = append(signals, signal{"reservationSet", must})
			}
		case berth.ReservationRemoved:
			if e.Reservation == id {
				signals = append(signals, signal{"reservationRemoved", must})
			}
		}
		if err := o.reservations.follow(id, state(before, id), state(after, id), signals...); err != nil {
			return err
		}
	}
	return nil
}

// followKept follows the one burn-in, and the hot spares of each pool.
func (o *observer) followKept(t *turn) error {
	kept := func(v *view) map[string]string {
		m := map[string]string{}
		for _, n := range v.Nodes {
			if n.BurnInUntil != 0 {
				m["burn-in"] = "burn-in"
			}
			if n.HotSpare {
				m["spares/"+n.Node.Pool] = "spares"
			}
		}
		return m
	}
	before, after := kept(t.before), kept(t.after)
	for _, name := range ofBoth(before, after, cmp.Compare) {
		from, to := cmp.Or(before[name], "-"), cmp.Or(after[name], "-")
		var signals []signal
		switch {
		case from == "-":
			signals = append(signals, signal{"node comes", must})
		case to == "-":
			signals = append(signals, signal{"last node goes", must})
		}
		if err := o.reservations.follow(name, from, to, signals...); err != nil {
			return err
		}
	}
	return nil
}
